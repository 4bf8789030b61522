// What the preloaded library has written about one run of the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mpet/accounting.h>

namespace mpet::profiler {

// A call site in the addresses of the file that holds it.
struct CallSite {
    std::string object;  // "" = the program itself
    std::uint64_t address = 0;  // of the instruction after the call

    bool operator<(const CallSite& other) const {
        return object != other.object ? object < other.object : address < other.address;
    }
};

struct RegionRecord {
    CallSite site;
    std::int64_t threads = 0;
    std::uint64_t executions = 0, time_ns = 0, constructs = 0;
    std::array<std::uint64_t, MPET_PARTS> part_ns{};

    void add(const RegionRecord& other);  // of the same section and run
};

struct Recording {
    std::string clock, missing_event;
    std::vector<RegionRecord> regions;
};

// Nothing where the file is not there or was not finished.
std::optional<Recording> read_recording(const std::string& path);

}  // namespace mpet::profiler
