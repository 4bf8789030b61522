// Hardware counters of one thread, read through perf_event_open in groups that the processor counts simultaneously. If
// perf_event_open provides no counters, or if MPET_COUNTERS=papi is set, they are read through PAPI, provided that the
// kit was built with it.
//
// A machine without counters is a normal case: every counter has a status, and only counters with status `ok` or
// `multiplexed` have a value. Only user mode is counted, which needs no root privileges if perf_event_paranoid <= 2.
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "counter_types.hpp"

// 1 if PAPI's header and library are available.
#ifndef MPET_PAPI
#define MPET_PAPI 0
#endif
#if MPET_PAPI
#include "papi.hpp"
#endif

namespace mpet {

namespace counter_events {

constexpr std::uint64_t cache(std::uint64_t level, std::uint64_t access, std::uint64_t result) {
    return level | (access << 8) | (result << 16);
}

constexpr std::uint64_t l1d = PERF_COUNT_HW_CACHE_L1D, llc = PERF_COUNT_HW_CACHE_LL;
constexpr std::uint64_t load = PERF_COUNT_HW_CACHE_OP_READ, store = PERF_COUNT_HW_CACHE_OP_WRITE;
constexpr std::uint64_t access = PERF_COUNT_HW_CACHE_RESULT_ACCESS, miss = PERF_COUNT_HW_CACHE_RESULT_MISS;

}  // namespace counter_events

// A group has at most four counters, always including instructions, and both counters of a ratio are in the same group.
// A processor with four counters therefore needs no multiplexing. The names are those of Table 2 of the paper.
inline const std::vector<std::vector<CounterEvent>>& counter_groups() {
    using namespace counter_events;
    static const CounterEvent instructions{"INSTR", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS};
    static const std::vector<std::vector<CounterEvent>> groups{
        {instructions,
         {"CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
         {"BR", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
         {"BR-M", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
        {instructions,
         {"L1-LD", PERF_TYPE_HW_CACHE, cache(l1d, load, access)},
         {"L1-LDM", PERF_TYPE_HW_CACHE, cache(l1d, load, miss)},
         {"LLC-LDM", PERF_TYPE_HW_CACHE, cache(llc, load, miss)}},
        {instructions,
         {"L1-ST", PERF_TYPE_HW_CACHE, cache(l1d, store, access)},
         {"L1-STM", PERF_TYPE_HW_CACHE, cache(l1d, store, miss)}},
        {instructions,
         {"LLC-LD", PERF_TYPE_HW_CACHE, cache(llc, load, access)},
         {"LLC-ST", PERF_TYPE_HW_CACHE, cache(llc, store, access)},
         {"LLC-STM", PERF_TYPE_HW_CACHE, cache(llc, store, miss)}},
    };
    return groups;
}

// The counters of the thread that calls open(). The same thread must call start() and stop().
class PerfCounters {
public:
    PerfCounters() = default;
    PerfCounters(const PerfCounters&) = delete;
    PerfCounters& operator=(const PerfCounters&) = delete;
    ~PerfCounters() { close_all(); }

    void open(const std::vector<CounterEvent>& events) {
        close_all();
        for (const CounterEvent& event : events) opened_.push_back(open_one(event));
    }

    void start() {
        if (leader_ < 0) return;
        ioctl(leader_, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
        ioctl(leader_, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
    }

    // Returns one reading per event, in the order passed to open().
    std::vector<CounterReading> stop() {
        if (leader_ >= 0) ioctl(leader_, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
        std::vector<CounterReading> readings(opened_.size());
        for (std::size_t i = 0; i < opened_.size(); i++) readings[i] = read_one(opened_[i]);
        return readings;
    }

private:
    struct Opened {
        int descriptor = -1;
        CounterStatus status = CounterStatus::ok;
        std::uint64_t enabled_before = 0;  // the kernel's RESET clears the count but not the times
        std::uint64_t running_before = 0;
    };

    struct Raw {
        std::uint64_t value;
        std::uint64_t enabled;
        std::uint64_t running;
    };

    Opened open_one(const CounterEvent& event) {
        perf_event_attr attributes;
        std::memset(&attributes, 0, sizeof attributes);
        attributes.size = sizeof attributes;
        attributes.type = event.type;
        attributes.config = event.config;
        attributes.disabled = leader_ < 0;
        attributes.exclude_kernel = 1;
        attributes.exclude_hv = event.type != PERF_TYPE_SOFTWARE;
        attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        Opened opened;
        opened.descriptor = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, leader_, 0UL));
        if (opened.descriptor < 0) {
            opened.status =
                errno == EACCES || errno == EPERM ? CounterStatus::no_permission : CounterStatus::unsupported;
        } else if (leader_ < 0) {
            leader_ = opened.descriptor;
        }
        return opened;
    }

    static CounterReading read_one(Opened& opened) {
        if (opened.descriptor < 0) return {0, opened.status};
        Raw raw{};
        if (read(opened.descriptor, &raw, sizeof raw) != static_cast<ssize_t>(sizeof raw)) {
            return {0, CounterStatus::not_scheduled};
        }
        const std::uint64_t enabled = raw.enabled - std::exchange(opened.enabled_before, raw.enabled);
        const std::uint64_t running = raw.running - std::exchange(opened.running_before, raw.running);
        if (running == 0) return {0, CounterStatus::not_scheduled};
        if (running >= enabled) return {raw.value, CounterStatus::ok};
        const double scale = static_cast<double>(enabled) / static_cast<double>(running);
        return {static_cast<std::uint64_t>(static_cast<double>(raw.value) * scale), CounterStatus::multiplexed};
    }

    void close_all() {
        for (const Opened& opened : opened_) {
            if (opened.descriptor >= 0) ::close(opened.descriptor);
        }
        opened_.clear();
        leader_ = -1;
    }

    std::vector<Opened> opened_;
    int leader_ = -1;
};

#if MPET_PAPI

enum class CounterSource { perf_event, papi };

// Throws std::invalid_argument if MPET_COUNTERS names a source that is not available.
inline CounterSource choose_counter_source() {
    const char* const asked = std::getenv("MPET_COUNTERS");
    const std::string name = asked == nullptr ? "" : asked;
    if (name == "perf_event") return CounterSource::perf_event;
    if (name != "papi" && !name.empty()) throw std::invalid_argument("MPET_COUNTERS must be perf_event or papi, not " + name);
    if (name == "papi" && !papi_works()) throw std::invalid_argument("MPET_COUNTERS=papi: PAPI does not work here");
    if (name == "papi") return CounterSource::papi;
    PerfCounters tried;
    tried.open({counter_groups()[0][0]});
    tried.start();
    const CounterStatus status = tried.stop()[0].status;
    const bool none = status == CounterStatus::unsupported || status == CounterStatus::no_permission;
    const bool papi_counts = none && papi_works() && PAPI_query_event(PAPI_TOT_INS) == PAPI_OK;
    return papi_counts ? CounterSource::papi : CounterSource::perf_event;
}

inline CounterSource counter_source() {
    static const CounterSource chosen = choose_counter_source();
    return chosen;
}

inline const char* counter_source_name() {
    return counter_source() == CounterSource::papi ? "papi" : "perf_event";
}

class ThreadCounters {
public:
    void open(const std::vector<CounterEvent>& events) {
        if (by_papi()) papi_.open(events);
        else perf_.open(events);
    }
    void start() {
        if (by_papi()) papi_.start();
        else perf_.start();
    }
    std::vector<CounterReading> stop() { return by_papi() ? papi_.stop() : perf_.stop(); }

private:
    static bool by_papi() { return counter_source() == CounterSource::papi; }

    PerfCounters perf_;
    PapiCounters papi_;
};

#else

using ThreadCounters = PerfCounters;

inline const char* counter_source_name() {
    const char* const asked = std::getenv("MPET_COUNTERS");
    if (asked != nullptr && std::string(asked) != "perf_event")
        throw std::invalid_argument(std::string("MPET_COUNTERS=") + asked + ": this kit was built without papi.h");
    return "perf_event";
}

#endif

}  // namespace mpet
