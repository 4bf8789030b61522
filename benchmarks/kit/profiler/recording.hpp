// What the preloaded library has written about one run of the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <mpet/accounting.h>

namespace mpet::profiler {

// Where a region is, in the addresses of the file that holds it.
struct CallSite {
    std::string object;      // "" = the program itself
    std::uint64_t call = 0;  // the instruction after the call that starts the region
    std::uint64_t body = 0;  // the region's code, 0 where it is not known

    bool operator<(const CallSite& other) const {
        return std::tie(object, body, call) < std::tie(other.object, other.body, other.call);
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
    std::uint64_t program_ns = 0;  // from the program's begin to its end
    std::uint64_t covered_ns = 0;  // of these, in any of the regions
    bool started = true;       // false: no OpenMP runtime has reported anything, not even that it is there
    std::vector<RegionRecord> regions;
    std::vector<std::string> blas_libraries;  // paths of what was loaded and is called so
};

// Nothing where the file is not there or was not finished.
std::optional<Recording> read_recording(const std::string& path);

}  // namespace mpet::profiler
