/* Kernels that say themselves where their time goes (own_account.h). Each executes one parallel region. */
#include <omp.h>
#include <stdlib.h>

#include "own_account.h"

/* A chain of dependent steps: its time is proportional to the number of steps, whatever the memory does. */
__attribute__((noinline)) static unsigned work(long steps, unsigned x) {
    for (long k = 0; k < steps; k++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x)); /* or the compiler takes several steps at once */
    }
    return x;
}

static unsigned row(long steps, long i) {
    const uint64_t begun_ns = own_now();
    const unsigned result = work(steps, (unsigned)i);
    own_charge(omp_get_thread_num(), begun_ns, begun_ns);
    return result;
}

/* Row i has work in proportion to i: the first half of the rows has 1/4 of the work, so w = (3/4 - 1/4) / (2 * 3/4) = 1/3. */
static unsigned triangle(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 0; i < rows / 10; i++) sum += row(100 * i, i);
    return sum;
}

/* A triangle and, with the same work in all, a pyramid: the first half of the rows has (1/4 + 1/8) / 2 = 3/16 of the work,
   so w = (13/16 - 3/16) / (2 * 13/16) = 5/13 = 0.385. */
static unsigned pyramid(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 0; i < rows / 10; i++) sum += row(100 * i + 1500 * i * i / rows, i);
    return sum;
}

/* Every row has the same work and nothing in common: R = U = 1. */
static unsigned equal(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (long i = 0; i < rows / 10; i++) sum += row(5 * rows, i);
    return sum;
}

/* All work holds one lock, so l = (n - 1) / n. Dynamic, because the lock is not fair: no thread runs out of rows. A row
   is long, because libomp takes 3 us to fetch one while the other thread waits. */
static unsigned locked(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(dynamic, 1)
    for (long i = 0; i < rows / 40; i++) {
        const uint64_t asked_ns = own_now();
        uint64_t begun_ns;
#pragma omp critical
        {
            begun_ns = own_now();
            sum += work(20 * rows, (unsigned)i);
        }
        own_charge(omp_get_thread_num(), asked_ns, begun_ns); /* who wakes the other up may lose the processor to it */
    }
    return sum;
}

/* Chunks of one short iteration: fetching them takes long in comparison, and that is distribution, not redundancy. */
static unsigned chunks(long rows) {
    unsigned sum = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : sum)
    for (long i = 0; i < 5 * rows / 2; i++) sum += row(800, i);
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
            const unsigned part = row(5 * rows / 2, i);
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
            own_begin();
            const unsigned sum = kernels[k].run(rows);
            own_print(kernels[k].name, sum, omp_get_max_threads());
        }
    }
    return 0;
}
