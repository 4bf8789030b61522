/* Accounts of a thread's time, in integer nanoseconds, for C and C++.
 *
 * Every nanosecond of every thread between the start and the end of a section, as measured by the master, is charged to
 * exactly one of seven parts. An account stores the time of its last event, and each event charges the time since then.
 * The parts of n threads therefore add up to n * (end - begin), to the nanosecond, for any sequence of events.
 *
 *   mpet_account_open   opens the account at the start of a section
 *   mpet_charge_at      charges the time since the last event to `part`, when the part is known only afterwards (a
 *                       successful steal)
 *   mpet_enter_at       charges the time since the last event to the previous part, and the following time to `part`
 *   mpet_charge_wait    charges a wait for other threads: imbalance until the last of them arrived, join after that
 *   mpet_account_absent accounts for a thread that never took part: it waited for work all the time
 */
#ifndef MPET_ACCOUNTING_H
#define MPET_ACCOUNTING_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order is that of the columns in runs.csv. */
enum mpet_part { MPET_USE, MPET_LOCK, MPET_IMBALANCE, MPET_CREATION, MPET_DISTRIBUTION, MPET_SWITCHING, MPET_JOIN };
#define MPET_PARTS 7

struct mpet_account {
    uint64_t last_ns;
    uint64_t ns[MPET_PARTS];
    enum mpet_part part; /* the part that the next mpet_enter_at charges */
};

static inline void mpet_account_open(struct mpet_account* account, uint64_t begin_ns, enum mpet_part part) {
    for (int i = 0; i < MPET_PARTS; i++) account->ns[i] = 0;
    account->last_ns = begin_ns;
    account->part = part;
}

/* Charges nothing if `now_ns` is before the last event, which can happen when the clocks of two cores differ. */
static inline void mpet_charge_at(struct mpet_account* account, enum mpet_part part, uint64_t now_ns) {
    if (now_ns <= account->last_ns) return;
    account->ns[part] += now_ns - account->last_ns;
    account->last_ns = now_ns;
}

/* Returns the part that was entered before, so that the caller can return to it. */
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
