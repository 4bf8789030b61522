/* Kernels with known answers for the parts of their time on two threads. Each executes one parallel region. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chain of dependent steps: its time is proportional to the number of steps, whatever the memory does. */
__attribute__((noinline)) static unsigned work(long steps, unsigned x) {
    for (long k = 0; k < steps; k++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x)); /* or the compiler takes several steps at once */
    }
    return x;
}

/* Row i has i steps: the first half of the rows has 1/4 of the work, so w = (3/4 - 1/4) / (2 * 3/4) = 1/3. */
static unsigned triangle(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 0; i < rows; i++) sum += work(i, (unsigned)i);
    return sum;
}

/* A triangle and, with the same work in all, a pyramid: the first half of the rows has (1/4 + 1/8) / 2 = 3/16 of the work,
   so w = (13/16 - 3/16) / (2 * 13/16) = 5/13 = 0.385. */
static unsigned pyramid(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 0; i < rows; i++) sum += work(i, (unsigned)i) + work(3 * i * i / (2 * rows), (unsigned)i);
    return sum;
}

/* Every row has the same work and nothing in common: R = U = 1. */
static unsigned equal(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 0; i < rows; i++) sum += work(rows / 2, (unsigned)i);
    return sum;
}

/* All work holds one lock, so l = (n - 1) / n. Dynamic, because the lock is not fair: no thread runs out of rows. A row
   is long, because libomp takes 3 us to fetch one while the other thread waits. */
static unsigned locked(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(dynamic, 1)
    for (long i = 0; i < rows / 40; i++) {
#pragma omp critical
        sum += work(20 * rows, (unsigned)i);
    }
    return sum;
}

/* Chunks of one short iteration: fetching them takes long in comparison, and that is distribution, not redundancy. */
static unsigned chunks(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
    for (long i = 0; i < 5 * rows / 2; i++) sum += work(800, (unsigned)i);
    return sum;
}

/* One thread creates all tasks; they are of the same size. */
static unsigned tasks(long rows) {
    unsigned sum = 0;
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < rows / 5; i++) {
#pragma omp task firstprivate(i) shared(sum)
        {
            unsigned part = work(5 * rows / 2, (unsigned)i);
#pragma omp atomic
            sum += part;
        }
    }
    return sum;
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        unsigned (*run)(long rows);
    } kernels[] = {{"triangle", triangle}, {"pyramid", pyramid}, {"equal", equal},
                   {"locked", locked},     {"chunks", chunks},   {"tasks", tasks}};
    omp_get_max_threads(); /* starts the runtime before any time is taken */
    const long rows = count > 2 ? atol(arguments[2]) : 4000;
    for (unsigned k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        if (count < 2 || strcmp(arguments[1], kernels[k].name) == 0 || strcmp(arguments[1], "all") == 0) {
            const double begin_s = omp_get_wtime();
            const unsigned sum = kernels[k].run(rows);
            printf("%s %u %.6f\n", kernels[k].name, sum, omp_get_wtime() - begin_s);
        }
    }
    return 0;
}
