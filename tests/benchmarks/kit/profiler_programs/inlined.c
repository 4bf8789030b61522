/* One parallel region, in a function that the compiler puts into three others. */
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) double kernel(const double *x, long n) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < n; i++) sum += x[i] * 2;
    return sum;
}

__attribute__((noinline)) static double first(const double *x, long n) { return kernel(x, n); }
__attribute__((noinline)) static double second(const double *x, long n) { return kernel(x, n / 2) + 1; }

int main(void) {
    const long n = 1L << 20;
    double *x = calloc((size_t)n, sizeof *x), sum = 0;
    for (int k = 0; k < 20; k++) sum += first(x, n) + second(x, n) + kernel(x, n / 4);
    printf("%f\n", sum);
    free(x);
    return 0;
}
