#include <omp.h>
#include <stdio.h>
/* As OpenBLAS does: on one thread it opens no region. With an argument, there is a second region on every n. */
static double sum(long n) {
    double s = 0;
    if (omp_get_max_threads() == 1) {
        for (long i = 0; i < n; i++) s += i % 7;
        return s;
    }
#pragma omp parallel for reduction(+ : s)
    for (long i = 0; i < n; i++) s += i % 7;
    return s;
}
int main(int argc, char **argv) {
    double s = 0;
    for (int k = 0; k < 20; k++) s += sum(2000000);
    if (argc > 1) {
#pragma omp parallel for reduction(+ : s)
        for (long i = 0; i < 20000000; i++) s += i % 5;
    }
    printf("%g\n", s);
    return 0;
}
