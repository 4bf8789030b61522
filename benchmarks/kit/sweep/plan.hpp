// What a sweep has to run: every chosen application, at every thread count, in every pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mpet {

// One line of `mpet-bench-clean --list`.
struct Workload {
    std::string name, application, section, strategy, bound, version, description;
    std::string size_unit;            // "" = its input has one size only
    std::vector<std::int64_t> sizes;  // the nominal one first

    std::int64_t nominal_size() const { return sizes.empty() ? 0 : sizes.front(); }
};

enum class Pass { clean, profile, counters };

const char* name_of(Pass pass);

struct Job {
    std::string application;
    int threads;
    Pass pass;
    std::int64_t size = 0;  // 0 = the nominal one

    std::string input() const;      // the application, and the size where it is another than the nominal one
    std::string file_name() const;  // where its output is kept; it exists once the job is done
};

std::vector<std::string> split(const std::string& line, char separator);
std::vector<Workload> parse_workloads(const std::string& listing);

// The workloads of the applications that `wanted` names, by application or by workload; all when it is empty. Throws
// std::invalid_argument for a name that nothing has.
std::vector<Workload> chosen(const std::vector<Workload>& all, const std::vector<std::string>& wanted);

// Sequential applications run at one thread only.
std::vector<Job> plan(const std::vector<Workload>& workloads, const std::vector<int>& threads, bool with_counters);

// All sizes of the workloads instead of the nominal one alone. Throws std::invalid_argument for one that has no sizes.
std::vector<Job> plan_sizes(const std::vector<Workload>& workloads, const std::vector<int>& threads);
std::vector<Workload> with_sizes(const std::vector<Workload>& workloads);

}  // namespace mpet
