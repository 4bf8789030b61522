/* Sleeps 0.1 s before and 0.1 s after its regions: one of 0.2 s, with a region inside, and a short one of 0.05 s.
   "together": the region of 0.2 s is executed by two threads of the program at the same time. */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static void* region(void* unused) {
#pragma omp parallel
    {
        usleep(100000);
#pragma omp parallel
        usleep(100000);
    }
    return unused;
}

static void short_region(void) {
#pragma omp parallel
    usleep(50000);
}

static void twice_at_a_time(void) {
    pthread_t other;
    if (pthread_create(&other, NULL, region, NULL) != 0) _exit(1);
    region(NULL);
    pthread_join(other, NULL);
}

int main(int count, char** arguments) {
    usleep(100000);
    if (count > 1 && strcmp(arguments[1], "together") == 0) twice_at_a_time();
    else region(NULL);
    short_region();
    usleep(100000);
    return 0;
}
