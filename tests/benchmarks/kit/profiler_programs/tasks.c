/* Tasks of kinds that a runtime reports in its own way. Each kernel executes one parallel region on two threads. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void spin(double seconds) {
    const double end_s = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end_s) {
    }
}

/* One thread computes for 0.3 s. The other creates an untied task that creates a task and waits for it, executes both at
   a barrier, which takes no time, and waits there: half of the thread time is use. */
static void untied(void) {
    int done = 0;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0 && omp_get_num_threads() > 1) {
            spin(0.3);
        } else {
#pragma omp task untied shared(done)
            {
#pragma omp task shared(done)
                done = 1;
#pragma omp taskwait
                done++;
            }
        }
#pragma omp barrier
    }
    if (done != 2) abort();
}

/* Tasks that are executed where they are created: nothing is shared, and nothing has to cost anything at n = 2. */
static void undeferred(void) {
    static volatile unsigned sums[64 * 16];
#pragma omp parallel
    for (int i = 0; i < 2000000; i++) {
#pragma omp task if (0)
        sums[16 * omp_get_thread_num()] += 1;
    }
}

/* One thread creates a task, executed by it or by the other thread. In the middle it executes one that is not deferred,
   and computes for 0.3 s afterwards, as use of the task that goes on. */
static void mixed(void) {
#pragma omp parallel
#pragma omp single
    {
#pragma omp task
        {
            spin(0.05);
#pragma omp task if (0)
            spin(0.05);
            spin(0.3);
        }
    }
}

int main(int count, char **arguments) {
    const char *kernel = count > 1 ? arguments[1] : "";
    omp_get_max_threads();
    if (strcmp(kernel, "untied") == 0) untied();
    if (strcmp(kernel, "undeferred") == 0) undeferred();
    if (strcmp(kernel, "mixed") == 0) mixed();
    return 0;
}
