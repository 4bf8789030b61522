// From the recordings of all runs to the workloads and rows of a results tarball.
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
    int asked = 1;  // threads
    bool profile = false;
    int repeat = 1;
    Recording recording;
    std::optional<bool> disturbed;  // unknown where the run was too short to judge
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

// What a program's time outside its regions is called: readers of the tarball know it by this name.
constexpr const char* serial_rest = "serial rest";

// A parallel region of the program, or what is left of its time: one workload.
struct Section {
    std::string name, source;
    std::uint64_t constructs = 0;
    std::map<RowKey, RegionRecord> rows;
    std::map<RowKey, bool> disturbed;  // of the rows where that is known

    std::uint64_t median_ns(int threads, bool profile) const;  // 0 where it was not measured
    int first_n() const;  // the least number of threads on which it is executed; 0 where there is none
    const char* strategy() const;
};

struct Results {
    std::vector<Section> sections;       // the regions that go into the tarball
    Section rest;                        // the program's time in none of them; clean rows only
    std::uint64_t program_ns = 0;        // of the whole program on one thread
    std::vector<std::string> messages;   // what was left out, and what to know about the sections

    std::vector<Section> workloads() const;
};

Results results_of(const std::vector<Run>& runs, const Program& program, double least_share);

std::vector<std::string> summary(const Results& results);  // lines for the terminal

std::string runs_csv(const Results& results, const Program& program);
std::string workloads_json(const Results& results, const Program& program, const std::string& input);

}  // namespace mpet::profiler
