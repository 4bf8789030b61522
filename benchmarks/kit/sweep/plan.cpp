#include "plan.hpp"

#include <algorithm>
#include <stdexcept>

#include "../topology/files.hpp"

namespace mpet {

const char* name_of(Pass pass) {
    return pass == Pass::clean ? "clean" : pass == Pass::profile ? "profile" : "counters";
}

std::string Job::file_name() const {
    return application + ".n" + std::to_string(threads) + "." + name_of(pass) + ".tsv";
}

std::vector<std::string> split(const std::string& line, char separator) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
        if (c == separator) fields.emplace_back();
        else fields.back() += c;
    }
    return fields;
}

std::vector<Workload> parse_workloads(const std::string& listing) {
    std::vector<Workload> workloads;
    for (const std::string& line : lines_of(listing)) {
        const std::vector<std::string> f = split(line, '\t');
        if (f.size() == 7) workloads.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6]});
    }
    return workloads;
}

std::vector<Workload> chosen(const std::vector<Workload>& all, const std::vector<std::string>& wanted) {
    std::vector<std::string> applications;
    for (const std::string& name : wanted) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Workload& w) { return w.name == name || w.application == name; });
        if (found == all.end())
            throw std::invalid_argument("no workload is called '" + name + "'; make list shows them");
        applications.push_back(found->application);
    }
    std::vector<Workload> picked;
    for (const Workload& workload : all) {
        const bool named =
            std::find(applications.begin(), applications.end(), workload.application) != applications.end();
        if (wanted.empty() || named) picked.push_back(workload);
    }
    return picked;
}

std::vector<Job> plan(const std::vector<Workload>& workloads, const std::vector<int>& threads, bool with_counters) {
    std::vector<Job> jobs;
    std::string application;
    for (const Workload& workload : workloads) {
        if (workload.application == application) continue;  // its sections run together
        application = workload.application;
        for (const int n : threads) {
            if (n > 1 && workload.strategy == "sequential") continue;
            jobs.push_back({application, n, Pass::clean});
            jobs.push_back({application, n, Pass::profile});
            if (with_counters) jobs.push_back({application, n, Pass::counters});
        }
    }
    return jobs;
}

}  // namespace mpet
