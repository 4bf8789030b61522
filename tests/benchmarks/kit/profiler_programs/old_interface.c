/* Calls libgomp as GCC before 4.9 did: start the region, execute its body, end the region. */
#include <stdio.h>

void GOMP_parallel_start(void (*body)(void *), void *data, unsigned threads);
void GOMP_parallel_end(void);
void GOMP_barrier(void);
int omp_get_thread_num(void);
int omp_get_num_threads(void);

static unsigned parts[64];

static void body(void *data) {
    unsigned x = 0;
    const int share = *(int *)data / omp_get_num_threads();
    for (int i = 0; i < share; i++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x));
    }
    GOMP_barrier();
    parts[omp_get_thread_num()] = 1;
}

int main(void) {
    int steps = 4000000;
    unsigned all = 0;
    GOMP_parallel_start(body, &steps, 0);
    body(&steps);
    GOMP_parallel_end();
    for (int i = 0; i < 64; i++) all += parts[i];
    printf("%d\n", all > 0);
    return 0;
}
