/* A kernel's own account of its time on each thread: the known answer for the parts of the very same run.
 *
 * What another program or another guest of the processor takes from a run is in this account as it is in the one that is
 * tested, so the two agree on a busy machine, too. */
#ifndef OWN_ACCOUNT_H
#define OWN_ACCOUNT_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { most_threads = 64 };

struct own_account {
    uint64_t use_ns, lock_ns, last_ns; /* last_ns: the end of the thread's last piece of work */
    char padding[128 - 3 * sizeof(uint64_t)];
};

static struct own_account own_accounts[most_threads];
static uint64_t own_begin_ns;

static inline uint64_t own_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline void own_begin(void) {
    memset(own_accounts, 0, sizeof own_accounts);
    own_begin_ns = own_now();
}

/* After a piece of work that waited for a lock from asked_ns to begun_ns; the same two times where there is no lock. */
static inline void own_charge(int thread, uint64_t asked_ns, uint64_t begun_ns) {
    struct own_account* own = &own_accounts[thread];
    own->last_ns = own_now();
    own->lock_ns += begun_ns - asked_ns;
    own->use_ns += own->last_ns - begun_ns;
}

/* Nanoseconds: the time of the region, and over all threads in use, waiting for the lock, and done before the last. */
static inline void own_print(const char* name, unsigned result, int threads) {
    const uint64_t time_ns = own_now() - own_begin_ns;
    uint64_t use_ns = 0, lock_ns = 0, imbalance_ns = 0, latest_ns = own_begin_ns;
    for (int i = 0; i < threads; i++)
        if (own_accounts[i].last_ns > latest_ns) latest_ns = own_accounts[i].last_ns;
    for (int i = 0; i < threads; i++) {
        const uint64_t last_ns = own_accounts[i].last_ns;
        use_ns += own_accounts[i].use_ns;
        lock_ns += own_accounts[i].lock_ns;
        imbalance_ns += latest_ns - (last_ns > 0 ? last_ns : own_begin_ns);
    }
    printf("%s %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, result, time_ns, use_ns, lock_ns, imbalance_ns);
}

#endif
