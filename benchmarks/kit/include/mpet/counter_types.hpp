// Names, readings and statuses of hardware counters, independent of the interface through which they are read.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mpet {

// Ordered from good to bad, so that the status of a sum over threads is the maximum of their statuses.
enum class CounterStatus { ok, multiplexed, not_scheduled, no_permission, unsupported };

inline const char* name_of(CounterStatus status) {
    static const char* const names[] = {"ok", "multiplexed", "not-scheduled", "no-permission", "unsupported"};
    return names[static_cast<int>(status)];
}

struct CounterEvent {
    const char* name;
    std::uint32_t type;
    std::uint64_t config;
};

struct CounterReading {
    std::uint64_t value = 0;
    CounterStatus status = CounterStatus::ok;

    void add(const CounterReading& other) {
        value += other.value;
        status = std::max(status, other.status);
    }
};

}  // namespace mpet
