/* A histogram whose bins are behind locks. */
#include <omp.h>
#include <stdio.h>

enum { bins = 8, samples = 30000 };

int main(void) {
    omp_lock_t lock[bins];
    long histogram[bins] = {0}, total = 0;
    for (int i = 0; i < bins; i++) omp_init_lock(&lock[i]);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < samples; i++) {
            unsigned x = (unsigned)i;
            for (int k = 0; k < 300; k++) x = x * 1664525u + 1013904223u;
            const unsigned bin = x >> 29;
            omp_set_lock(&lock[bin]);
            histogram[bin]++;
            omp_unset_lock(&lock[bin]);
        }
#pragma omp critical
        total++;
    }
    for (int i = 0; i < bins; i++) printf("%ld ", histogram[i]);
    printf("%d\n", total > 0);
    return 0;
}
