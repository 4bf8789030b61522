// The same counters through PAPI, for machines where perf_event_open does not provide them. Compiled only if the
// Makefile has found papi.h and the library.
#pragma once

#include <papi.h>
#include <pthread.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "counter_types.hpp"

namespace mpet {

// Returns whether the library can be used, from any thread.
inline bool papi_works() {
    static const bool works = [] {
        if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return false;
        return PAPI_thread_init([] { return static_cast<unsigned long>(pthread_self()); }) == PAPI_OK;
    }();
    return works;
}

struct PapiName {
    const char* name;
    // The first preset that the machine has is used. Without a third cache level, the second level is the last.
    int presets[2];
};

inline const std::vector<PapiName>& papi_names() {
    static const std::vector<PapiName> names{
        {"INSTR", {PAPI_TOT_INS, PAPI_TOT_INS}},  {"CYCLES", {PAPI_TOT_CYC, PAPI_TOT_CYC}},
        {"BR", {PAPI_BR_INS, PAPI_BR_CN}},        {"BR-M", {PAPI_BR_MSP, PAPI_BR_MSP}},
        {"L1-LD", {PAPI_L1_DCR, PAPI_LD_INS}},    {"L1-LDM", {PAPI_L1_LDM, PAPI_L1_LDM}},
        {"L1-ST", {PAPI_L1_DCW, PAPI_SR_INS}},    {"L1-STM", {PAPI_L1_STM, PAPI_L1_STM}},
        {"LLC-LD", {PAPI_L3_DCR, PAPI_L2_DCR}},   {"LLC-LDM", {PAPI_L3_LDM, PAPI_L2_LDM}},
        {"LLC-ST", {PAPI_L3_DCW, PAPI_L2_DCW}},   {"LLC-STM", {PAPI_L3_STM, PAPI_L2_STM}},
    };
    return names;
}

// The counters of the thread that calls open(), like PerfCounters.
class PapiCounters {
public:
    PapiCounters() = default;
    PapiCounters(const PapiCounters&) = delete;
    PapiCounters& operator=(const PapiCounters&) = delete;
    ~PapiCounters() { close_all(); }

    void open(const std::vector<CounterEvent>& events) {
        close_all();
        if (!events.empty() && (!papi_works() || PAPI_create_eventset(&set_) != PAPI_OK)) set_ = PAPI_NULL;
        for (const CounterEvent& event : events) statuses_.push_back(add(event));
    }

    void start() {
        if (counted_ == 0) return;
        const int answer = PAPI_start(set_);
        started_ = answer == PAPI_OK;
        if (!started_) failure_ = status_of(answer);
    }

    std::vector<CounterReading> stop() {
        std::vector<long long> values(statuses_.size());
        const bool read = started_ && PAPI_stop(set_, values.data()) == PAPI_OK;
        started_ = false;
        std::vector<CounterReading> readings;
        std::size_t next = 0;
        for (const CounterStatus status : statuses_) {
            if (status != CounterStatus::ok) readings.push_back({0, status});
            else if (!read) readings.push_back({0, failure_});
            else readings.push_back({static_cast<std::uint64_t>(values[next++]), CounterStatus::ok});
        }
        return readings;
    }

private:
    static CounterStatus status_of(int answer) {
        return answer == PAPI_EPERM     ? CounterStatus::no_permission
               : answer == PAPI_ECNFLCT ? CounterStatus::not_scheduled
                                        : CounterStatus::unsupported;
    }

    CounterStatus add(const CounterEvent& event) {
        if (set_ == PAPI_NULL) return CounterStatus::unsupported;
        for (const PapiName& known : papi_names()) {
            if (std::strcmp(known.name, event.name) != 0) continue;
            const int preset = PAPI_query_event(known.presets[0]) == PAPI_OK ? known.presets[0] : known.presets[1];
            const int answer = PAPI_add_event(set_, preset);
            if (answer != PAPI_OK) return status_of(answer);
            counted_++;
            return CounterStatus::ok;
        }
        return CounterStatus::unsupported;
    }

    void close_all() {
        if (started_) stop();
        if (set_ != PAPI_NULL) {
            PAPI_cleanup_eventset(set_);
            PAPI_destroy_eventset(&set_);
        }
        set_ = PAPI_NULL;
        statuses_.clear();
        counted_ = 0;
        failure_ = CounterStatus::not_scheduled;
    }

    int set_ = PAPI_NULL, counted_ = 0;
    bool started_ = false;
    std::vector<CounterStatus> statuses_;
    CounterStatus failure_ = CounterStatus::not_scheduled;
};

}  // namespace mpet
