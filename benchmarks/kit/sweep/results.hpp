// Converts the outputs of all jobs to runs.csv, counters.csv, workloads.json and the disturbances in environment.json.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan.hpp"

namespace mpet {

struct Results {
    std::string runs_csv, counters_csv;         // counters_csv has a header even if nothing was counted
    std::map<std::string, std::string> inputs;  // by workload
    std::vector<std::string> disturbances;      // one sentence each
    int repeats_kept = 0, repeats_disturbed = 0, repeats_done_again = 0;
};

// Collects the results. Throws std::runtime_error if two thread counts produce different outputs for the same input
// size.
Results collect(const std::string& jobs_folder, const std::vector<Job>& jobs, const std::vector<Workload>& workloads);

std::string workloads_json(const std::vector<Workload>& workloads, const std::map<std::string, std::string>& inputs);

}  // namespace mpet
