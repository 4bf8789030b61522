// The recording of one run of the program, as written by the preloaded library.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <mpet/accounting.h>

namespace mpet::profiler {

// The location of a region, as addresses within the file that contains it.
struct CallSite {
    std::string object;      // "" = the program itself
    std::uint64_t call = 0;  // the instruction after the call that starts the region
    std::uint64_t body = 0;  // the region's code, 0 if unknown

    bool operator<(const CallSite& other) const {
        return std::tie(object, body, call) < std::tie(other.object, other.body, other.call);
    }
};

struct RegionRecord {
    CallSite site;
    std::int64_t threads = 0;
    std::uint64_t executions = 0, time_ns = 0, constructs = 0;
    std::array<std::uint64_t, MPET_PARTS> part_ns{};

    void add(const RegionRecord& other);  // a record of the same section and run
};

struct Recording {
    std::string clock, missing_event;
    std::uint64_t program_ns = 0;  // from the start of the program to its end
    std::uint64_t covered_ns = 0;  // the time of these in which any region was executed
    bool started = true;       // false: no OpenMP runtime has reported anything, not even its start
    std::vector<RegionRecord> regions;
    std::vector<std::string> blas_libraries;  // paths of loaded files with "blas" in their name
};

// Reads a recording. Returns nothing if the file does not exist or is incomplete.
std::optional<Recording> read_recording(const std::string& path);

}  // namespace mpet::profiler
