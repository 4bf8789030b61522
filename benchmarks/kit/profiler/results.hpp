// Converts the recordings of all runs to the workloads and rows of a results tarball.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program.hpp"
#include "recording.hpp"

namespace mpet::profiler {

// One run of the program.
struct Run {
    int asked = 1;  // number of threads requested
    bool profile = false;
    int repeat = 1;
    Recording recording;
    std::optional<bool> disturbed;  // empty if the run was too short to decide
};

struct RowKey {
    int threads;
    bool profile;
    int repeat;

    bool operator<(const RowKey& other) const {
        if (threads != other.threads) return threads < other.threads;
        return profile != other.profile ? profile < other.profile : repeat < other.repeat;
    }
};

// The name for a program's time outside its regions. Readers of the tarball rely on this name.
constexpr const char* serial_rest = "serial rest";

// One workload: a parallel region of the program, or the remaining time of the program.
struct Section {
    std::string name, source;
    std::uint64_t constructs = 0;
    std::map<RowKey, RegionRecord> rows;
    std::map<RowKey, bool> disturbed;  // only for the rows where it is known

    std::uint64_t median_ns(int threads, bool profile) const;  // 0 if it was not measured
    int first_n() const;  // the smallest thread count at which it is executed; 0 if there is none
    const char* strategy() const;
};

struct Results {
    std::vector<Section> sections;       // the regions that go into the tarball
    Section rest;                        // the program's time outside these regions; clean rows only
    std::uint64_t program_ns = 0;        // time of the whole program on one thread
    std::vector<std::string> messages;   // what was left out, and notes about the sections

    std::vector<Section> workloads() const;
};

Results results_of(const std::vector<Run>& runs, const Program& program, double least_share);

std::vector<std::string> summary(const Results& results);  // lines for the terminal

std::string runs_csv(const Results& results, const Program& program);
std::string workloads_json(const Results& results, const Program& program, const std::string& input);

}  // namespace mpet::profiler
