/* C as Cython makes it: functions of packages, modules and classes, and one that only looks like Fortran. */
#include <stdio.h>

static double values[100000];

#define FUNCTION(name)                                          \
    __attribute__((noinline)) static double name(int n) {       \
        double sum = 0;                                         \
        _Pragma("omp parallel for reduction(+ : sum)")          \
        for (int i = 0; i < n; i++) sum += values[i];           \
        return sum;                                             \
    }

FUNCTION(__pyx_f_7sklearn_7cluster_14_k_means_lloyd_update_chunk)
FUNCTION(__pyx_pw_7sklearn_7cluster_15_k_means_common_29__pyx_fuse_1_inertia_dense)
FUNCTION(__pyx_fuse_1__pyx_pw_7sklearn_7cluster_14_k_means_lloyd_7lloyd_iter)
FUNCTION(__pyx_pf_4mine_4Tree_2grow)
FUNCTION(__pyx_pf_4mine_4grow_tree)
FUNCTION(__pyx_pw_4mine_11sum_of)
FUNCTION(smooth_)

int main(void) {
    double sum = __pyx_f_7sklearn_7cluster_14_k_means_lloyd_update_chunk(100000);
    sum += __pyx_pw_7sklearn_7cluster_15_k_means_common_29__pyx_fuse_1_inertia_dense(100000);
    sum += __pyx_fuse_1__pyx_pw_7sklearn_7cluster_14_k_means_lloyd_7lloyd_iter(100000);
    sum += __pyx_pf_4mine_4Tree_2grow(100000) + __pyx_pf_4mine_4grow_tree(100000) + __pyx_pw_4mine_11sum_of(100000);
    printf("%g\n", sum + smooth_(100000));
    return 0;
}
