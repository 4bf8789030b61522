/* Fixes its number of threads. */
#include <stdio.h>

int main(void) {
    unsigned sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 20000000; i++) sum += (unsigned)i * 3u;
    printf("%u\n", sum);
    return 0;
}
