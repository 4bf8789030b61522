// A machine without a third level of cache, whose stores cannot be counted, whose branch misses nobody may count, and
// whose first-level misses do not fit beside what is counted already.
#include "papi.h"

#include <array>
#include <atomic>

namespace {

struct Set {
    std::atomic<bool> used{false};
    bool running = false;
    int events = 0;
};

std::array<Set, 64> sets;
std::atomic<bool> initialised{false};

bool is_set(int number) {
    return number >= 0 && number < static_cast<int>(sets.size()) && sets[static_cast<unsigned>(number)].used;
}

Set& set_of(int number) { return sets[static_cast<unsigned>(number)]; }

bool has(int event) {
    return event != PAPI_L3_DCR && event != PAPI_L3_LDM && event != PAPI_L3_DCW && event != PAPI_L3_STM &&
           event != PAPI_L1_DCW && event != PAPI_SR_INS;
}

}  // namespace

int PAPI_library_init(int version) {
    initialised = true;
    return version;
}
int PAPI_thread_init(unsigned long (*thread_number)(void)) {
    return initialised && thread_number() != 0 ? PAPI_OK : PAPI_EINVAL;
}
int PAPI_is_initialized(void) { return initialised; }
int PAPI_query_event(int event) { return has(event) ? PAPI_OK : PAPI_ENOEVNT; }

int PAPI_create_eventset(int* set) {
    for (int number = 0; number < static_cast<int>(sets.size()); number++) {
        if (set_of(number).used.exchange(true)) continue;
        *set = number;
        return PAPI_OK;
    }
    return PAPI_EINVAL;
}

int PAPI_add_event(int set, int event) {
    if (!is_set(set)) return PAPI_EINVAL;
    if (!has(event)) return PAPI_ENOEVNT;
    if (event == PAPI_BR_MSP) return PAPI_EPERM;
    if (event == PAPI_L1_LDM && set_of(set).events > 1) return PAPI_ECNFLCT;
    set_of(set).events++;
    return PAPI_OK;
}

int PAPI_start(int set) {
    if (!is_set(set) || set_of(set).running) return PAPI_EINVAL;
    set_of(set).running = true;
    return PAPI_OK;
}

int PAPI_stop(int set, long long* values) {
    if (!is_set(set) || !set_of(set).running) return PAPI_EINVAL;
    set_of(set).running = false;
    for (int i = 0; i < set_of(set).events; i++) values[i] = 1000;
    return PAPI_OK;
}

int PAPI_cleanup_eventset(int set) {
    if (!is_set(set) || set_of(set).running) return PAPI_EINVAL;
    set_of(set).events = 0;
    return PAPI_OK;
}

int PAPI_destroy_eventset(int* set) {
    if (!is_set(*set) || set_of(*set).events != 0) return PAPI_EINVAL;
    set_of(*set).used = false;
    *set = PAPI_NULL;
    return PAPI_OK;
}
