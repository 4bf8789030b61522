// The jobs of a sweep: every chosen application, at every thread count, in every pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpet {

// One line of `mpet-bench-clean --list`.
struct Workload {
    std::string name, application, section, strategy, bound, version, description;
    std::string size_unit;            // "" = the input has only one size
    std::vector<std::int64_t> sizes;  // the nominal size comes first

    std::int64_t nominal_size() const { return sizes.empty() ? 0 : sizes.front(); }
};

enum class Pass { clean, profile, counters };

const char* name_of(Pass pass);

struct Job {
    std::string application;
    int threads;
    Pass pass;
    std::int64_t size = 0;  // 0 = the nominal size

    std::string input() const;      // the application, and the size unless it is the nominal one
    std::string file_name() const;  // file for the job's output; it exists once the job is done
};

std::vector<std::string> split(const std::string& line, char separator);
std::vector<Workload> parse_workloads(const std::string& listing);

// Returns the workloads of the applications that `wanted` names, by application or by workload; all if it is empty.
// Throws std::invalid_argument for an unknown name.
std::vector<Workload> chosen(const std::vector<Workload>& all, const std::vector<std::string>& wanted);

// Returns the jobs for the nominal sizes. Sequential applications run only on one thread.
std::vector<Job> plan(const std::vector<Workload>& workloads, const std::vector<int>& threads, bool with_counters);

// Returns the jobs for all sizes of the workloads. Throws std::invalid_argument for a workload that has only one size.
std::vector<Job> plan_sizes(const std::vector<Workload>& workloads, const std::vector<int>& threads);
std::vector<Workload> with_sizes(const std::vector<Workload>& workloads);

}  // namespace mpet
