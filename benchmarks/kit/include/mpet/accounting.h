/* Where a thread's time goes, in integer nanoseconds, for C and C++.
 *
 * Between a section's begin and its end as the master sees them, every nanosecond of every thread is charged to exactly
 * one of seven parts. An account remembers the time of its last event; each event charges what has passed since then.
 * So the parts of n threads add up to n * (end - begin), to the nanosecond, whatever the events are.
 *
 *   mpet_account_open   the section begins
 *   mpet_charge_at      what has passed was spent on `part` (known once it is over: a steal that succeeded)
 *   mpet_enter_at       from now on time is spent on `part` (known beforehand); what has passed goes to the part before
 *   mpet_charge_wait    a wait for others is over: imbalance until the last of them arrived, join from then on
 *   mpet_account_absent a thread that never took part: it waited for work all the time
 */
#ifndef MPET_ACCOUNTING_H
#define MPET_ACCOUNTING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of the columns of runs.csv. */
enum mpet_part { MPET_USE, MPET_LOCK, MPET_IMBALANCE, MPET_CREATION, MPET_DISTRIBUTION, MPET_SWITCHING, MPET_JOIN };
#define MPET_PARTS 7

struct mpet_account {
    uint64_t last_ns;
    uint64_t ns[MPET_PARTS];
    enum mpet_part part; /* what mpet_enter_at charges next */
};

static inline void mpet_account_open(struct mpet_account* account, uint64_t begin_ns, enum mpet_part part) {
    for (int i = 0; i < MPET_PARTS; i++) account->ns[i] = 0;
    account->last_ns = begin_ns;
    account->part = part;
}

/* A reading that lies before the last one (clocks of two cores) charges nothing. */
static inline void mpet_charge_at(struct mpet_account* account, enum mpet_part part, uint64_t now_ns) {
    if (now_ns <= account->last_ns) return;
    account->ns[part] += now_ns - account->last_ns;
    account->last_ns = now_ns;
}

/* Returns the part that was entered before, so that a caller can go back to it. */
static inline enum mpet_part mpet_enter_at(struct mpet_account* account, enum mpet_part part, uint64_t now_ns) {
    const enum mpet_part before = account->part;
    mpet_charge_at(account, before, now_ns);
    account->part = part;
    return before;
}

static inline void mpet_charge_wait(struct mpet_account* account, uint64_t last_arrival_ns, uint64_t now_ns) {
    mpet_charge_at(account, MPET_IMBALANCE, last_arrival_ns < now_ns ? last_arrival_ns : now_ns);
    mpet_charge_at(account, MPET_JOIN, now_ns);
}

static inline void mpet_account_absent(struct mpet_account* account, uint64_t begin_ns, uint64_t end_ns) {
    mpet_account_open(account, begin_ns, MPET_DISTRIBUTION);
    mpet_charge_at(account, MPET_DISTRIBUTION, end_ns);
}

static inline uint64_t mpet_account_total(const struct mpet_account* account) {
    uint64_t total = 0;
    for (int i = 0; i < MPET_PARTS; i++) total += account->ns[i];
    return total;
}

#ifdef __cplusplus
}
#endif

#endif
