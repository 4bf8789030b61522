/* The kit's clock: monotonic nanoseconds, for C and C++.
 *
 * mpet_now() reads the processor's time stamp counter (x86-64) or generic timer (AArch64) if the kernel itself uses
 * that counter as its clock source, because the counter is then invariant and the same on every core. Otherwise it
 * reads CLOCK_MONOTONIC. Every reading is converted from ticks to nanoseconds, so differences of readings add up
 * exactly.
 *
 * Call mpet_clock_start() once before the first reading. MPET_CLOCK=monotonic forces CLOCK_MONOTONIC. A test may define
 * MPET_CLOCK_HOOK as the name of a function that replaces the clock.
 */
#ifndef MPET_CLOCK_H
#define MPET_CLOCK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define MPET_HAS_COUNTER 1
#define MPET_COUNTER_CLOCKSOURCE "tsc"
static inline uint64_t mpet_counter_ticks(void) { return __rdtsc(); }
#elif defined(__aarch64__)
#define MPET_HAS_COUNTER 1
#define MPET_COUNTER_CLOCKSOURCE "arch_sys_counter"
static inline uint64_t mpet_counter_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#define MPET_HAS_COUNTER 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

static inline uint64_t mpet_monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

struct mpet_clock_state {
    int counts_ticks; /* 0 = use CLOCK_MONOTONIC */
    uint64_t base_ticks;
    uint64_t base_ns;
    uint64_t ns_per_tick_shifted; /* nanoseconds per tick, times 2^32 */
};

/* Weak, so that all files of a program share one definition. Hidden, so that every program and shared object has its
 * own.
 */
__attribute__((weak, visibility("hidden"))) struct mpet_clock_state mpet_clock_of_program;

#if MPET_HAS_COUNTER
__extension__ typedef unsigned __int128 mpet_uint128;

static inline int mpet_counter_is_trusted(void) {
    char name[64] = "";
    const char* choice = getenv("MPET_CLOCK");
    FILE* file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file != NULL) {
        if (fgets(name, sizeof name, file) == NULL) name[0] = '\0';
        fclose(file);
    }
    name[strcspn(name, "\n")] = '\0';
    return strcmp(name, MPET_COUNTER_CLOCKSOURCE) == 0 && (choice == NULL || strcmp(choice, "monotonic") != 0);
}

/* Reads both clocks at the same moment. Of eight attempts, the one with the shortest interval between the readings
 * counts.
 */
static inline void mpet_clock_pair(uint64_t* ticks, uint64_t* ns) {
    uint64_t best = UINT64_MAX;
    for (int attempt = 0; attempt < 8; attempt++) {
        const uint64_t before = mpet_counter_ticks();
        const uint64_t reading = mpet_monotonic_ns();
        const uint64_t after = mpet_counter_ticks();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = reading;
        }
    }
}

static inline void mpet_clock_calibrate(struct mpet_clock_state* clock) {
    const uint64_t calibration_ns = UINT64_C(20000000);
    uint64_t ticks = 0, ns = 0;
    mpet_clock_pair(&clock->base_ticks, &clock->base_ns);
    while (mpet_monotonic_ns() - clock->base_ns < calibration_ns) {
    }
    mpet_clock_pair(&ticks, &ns);
    if (ticks == clock->base_ticks) return;
    clock->ns_per_tick_shifted = (uint64_t)(((mpet_uint128)(ns - clock->base_ns) << 32) / (ticks - clock->base_ticks));
    clock->counts_ticks = 1;
}
#endif

static inline void mpet_clock_start(void) {
#if MPET_HAS_COUNTER
    if (!mpet_clock_of_program.counts_ticks && mpet_counter_is_trusted()) mpet_clock_calibrate(&mpet_clock_of_program);
#endif
}

static inline const char* mpet_clock_name(void) {
#if MPET_HAS_COUNTER
    if (mpet_clock_of_program.counts_ticks) return MPET_COUNTER_CLOCKSOURCE;
#endif
    return "CLOCK_MONOTONIC";
}

#ifdef MPET_CLOCK_HOOK
uint64_t MPET_CLOCK_HOOK(void);
static inline uint64_t mpet_now(void) { return MPET_CLOCK_HOOK(); }
#else
static inline uint64_t mpet_now(void) {
#if MPET_HAS_COUNTER
    const struct mpet_clock_state* clock = &mpet_clock_of_program;
    if (__builtin_expect(clock->counts_ticks, 1)) {
        const uint64_t ticks = mpet_counter_ticks() - clock->base_ticks;
        return clock->base_ns + (uint64_t)(((mpet_uint128)ticks * clock->ns_per_tick_shifted) >> 32);
    }
#endif
    return mpet_monotonic_ns();
}
#endif

#ifdef __cplusplus
}
#endif

#endif
