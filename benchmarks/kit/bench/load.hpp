// Detects whether other programs used the processors during a repeat.
#pragma once

#include <sys/resource.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "../include/mpet/team.hpp"

namespace mpet {

// Processor time that a virtual machine's host gave to other guests, and total processor time, in clock ticks.
struct MachineTicks {
    std::uint64_t stolen = 0;
    std::uint64_t all = 0;

    static MachineTicks now() {
        MachineTicks ticks;
        std::FILE* const file = std::fopen("/proc/stat", "r");
        if (file == nullptr) return ticks;
        std::uint64_t value[8] = {};  // user nice system idle iowait irq softirq steal
        if (std::fscanf(file,
                        "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                        " %" SCNu64,
                        &value[0], &value[1], &value[2], &value[3], &value[4], &value[5], &value[6], &value[7]) == 8) {
            ticks.stolen = value[7];
            for (const std::uint64_t part : value) ticks.all += part;
        }
        std::fclose(file);
        return ticks;
    }
};

// The disturbance of one repeat. The kit's threads never sleep inside a section, so the wall time in which one of them
// had no processor is time in which another program had it.
struct Load {
    std::uint64_t time_ns = 0;    // n times the time of the sections
    std::uint64_t waited_ns = 0;  // the part of time_ns in which a thread was ready to run but had no processor
    std::int64_t stolen_permille = 0;
    std::int64_t involuntary_switches = 0;

    std::int64_t waited_permille() const {
        return time_ns == 0 ? 0
                            : static_cast<std::int64_t>(static_cast<long double>(waited_ns) * 1000 /
                                                        static_cast<long double>(time_ns));
    }
    bool disturbed() const { return (waited_permille() >= 30 && waited_ns > least_ns) || stolen_permille > 20; }

    // Waking up from a sleep between sections takes some time.
    static constexpr std::uint64_t least_ns = 500000;
};

class LoadMeter {
public:
    explicit LoadMeter(Team& team)
        : team_(team), waited_ns_(waited_by_all()), ticks_(MachineTicks::now()), switches_(involuntary_switches()) {}

    Load read(const std::vector<Section>& sections) {
        Load load;
        load.waited_ns = waited_by_all() - waited_ns_;
        for (const Section& section : sections)
            load.time_ns += section.time_ns * static_cast<std::uint64_t>(team_.size());
        const MachineTicks now = MachineTicks::now();
        if (now.all > ticks_.all)
            load.stolen_permille =
                static_cast<std::int64_t>((now.stolen - ticks_.stolen) * 1000 / (now.all - ticks_.all));
        load.involuntary_switches = involuntary_switches() - switches_;
        return load;
    }

private:
    // The kernel accounts the CPU time of running threads only at its tick; their waiting time is exact.
    static std::uint64_t waited_by_this_thread() {
        std::uint64_t ran = 0, waited = 0;
        std::FILE* const file = std::fopen("/proc/thread-self/schedstat", "r");
        if (file == nullptr) return 0;
        if (std::fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2) waited = 0;
        std::fclose(file);
        return waited;
    }

    std::uint64_t waited_by_all() const {
        std::atomic<std::uint64_t> sum{0};
        team_.run_unmeasured([&](Worker&) { sum.fetch_add(waited_by_this_thread()); });
        return sum.load();
    }

    static std::int64_t involuntary_switches() {
        rusage usage{};
        return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
    }

    Team& team_;
    const std::uint64_t waited_ns_;
    const MachineTicks ticks_;
    const std::int64_t switches_;
};

}  // namespace mpet
