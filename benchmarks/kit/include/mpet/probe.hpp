// A thread's probe: its account in the profile build, and empty in the clean build.
#pragma once

#include <array>
#include <cstdint>

#include "accounting.h"
#include "clock.h"

// 1: profile build, which times every part. 0: clean build, which times only the start and the end of a section.
#ifndef MPET_PROBES
#define MPET_PROBES 1
#endif

namespace mpet {

inline constexpr bool probing = MPET_PROBES != 0;

using Parts = std::array<std::uint64_t, MPET_PARTS>;

// How many tasks a section spawned, and how often it waited for a group of tasks.
struct TaskCounts {
    std::uint64_t tasks = 0;
    std::uint64_t waits = 0;

    void add(const TaskCounts& other) {
        tasks += other.tasks;
        waits += other.waits;
    }
};

template <bool Enabled>
class BasicProbe;

template <>
class BasicProbe<true> {
public:
    void open(std::uint64_t begin_ns) {
        mpet_account_open(&account_, begin_ns, MPET_USE);
        counts_ = {};
    }
    void charge(mpet_part part) { mpet_charge_at(&account_, part, mpet_now()); }
    void charge_wait(std::uint64_t last_arrival_ns, std::uint64_t end_ns) {
        mpet_charge_wait(&account_, last_arrival_ns, end_ns);
    }
    std::uint64_t last_ns() const { return account_.last_ns; }
    void count_task() { counts_.tasks++; }
    void count_wait() { counts_.waits++; }
    const TaskCounts& counts() const { return counts_; }

    void add_to(Parts& parts) const {
        for (std::size_t i = 0; i < parts.size(); i++) parts[i] += account_.ns[i];
    }

private:
    mpet_account account_{};
    TaskCounts counts_;
};

template <>
class BasicProbe<false> {
public:
    void open(std::uint64_t) {}
    void charge(mpet_part) {}
    void charge_wait(std::uint64_t, std::uint64_t) {}
    std::uint64_t last_ns() const { return 0; }
    void count_task() {}
    void count_wait() {}
    TaskCounts counts() const { return {}; }
    void add_to(Parts&) const {}
};

using Probe = BasicProbe<probing>;

}  // namespace mpet
