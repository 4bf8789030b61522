// The outputs of all jobs -> runs.csv, counters.csv, workloads.json and what environment.json says about disturbances.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan.hpp"

namespace mpet {

struct Results {
    std::string runs_csv, counters_csv;         // counters_csv has a header even where nothing was counted
    std::map<std::string, std::string> inputs;  // of each workload
    std::vector<std::string> disturbances;      // sentences
    int repeats_kept = 0, repeats_disturbed = 0, repeats_done_again = 0;
};

// Throws std::runtime_error where two thread counts put out different results for an input of the same size.
Results collect(const std::string& jobs_folder, const std::vector<Job>& jobs, const std::vector<Workload>& workloads);

std::string workloads_json(const std::vector<Workload>& workloads, const std::map<std::string, std::string>& inputs);

}  // namespace mpet
