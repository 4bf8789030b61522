/* Regions that are called from code that clang has put into functions of its own: of a task, and of a target region. */
#include <stdio.h>

static double values[100000];

__attribute__((noinline)) static double in_a_task(int n) {
    double sum = 0;
#pragma omp task shared(sum)
    {
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < n; i++) sum += values[i];
    }
#pragma omp taskwait
    return sum;
}

__attribute__((noinline)) static double on_the_host(int n) {
    double sum = 0;
#pragma omp target map(tofrom : sum)
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) sum += values[i];
    return sum;
}

int main(void) {
    printf("%g\n", in_a_task(100000) + on_the_host(100000));
    return 0;
}
