#include "plan.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "../topology/files.hpp"

namespace mpet {

const char* name_of(Pass pass) {
    return pass == Pass::clean ? "clean" : pass == Pass::profile ? "profile" : "counters";
}

std::string Job::input() const { return size > 0 ? application + " of size " + std::to_string(size) : application; }

std::string Job::file_name() const {
    return application + (size > 0 ? ".size" + std::to_string(size) : "") + ".n" + std::to_string(threads) + "." + name_of(pass) + ".tsv";
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
        if (f.size() != 9) continue;
        workloads.push_back({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], {}});
        for (const std::string& size : split(f[8], ',')) {
            if (!size.empty()) workloads.back().sizes.push_back(std::stoll(size));
        }
    }
    return workloads;
}

std::vector<Workload> chosen(const std::vector<Workload>& all, const std::vector<std::string>& wanted) {
    std::vector<std::string> applications;
    for (const std::string& name : wanted) {
        const auto found = std::find_if(all.begin(), all.end(),
                                        [&](const Workload& w) { return w.name == name || w.application == name; });
        if (found == all.end())
            throw std::invalid_argument("unknown workload '" + name + "'; make list shows all");
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

std::vector<Workload> with_sizes(const std::vector<Workload>& workloads) {
    std::vector<Workload> sized;
    std::copy_if(workloads.begin(), workloads.end(), std::back_inserter(sized),
                 [](const Workload& workload) { return !workload.sizes.empty(); });
    return sized;
}

std::vector<Job> plan_sizes(const std::vector<Workload>& workloads, const std::vector<int>& threads) {
    std::vector<Job> jobs;
    for (const Workload& workload : workloads) {
        if (workload.sizes.empty()) throw std::invalid_argument(workload.application + " has only one size");
        for (const std::int64_t size : workload.sizes) {
            for (const int n : threads) {
                for (const Pass pass : {Pass::clean, Pass::profile})
                    jobs.push_back({workload.application, n, pass, size == workload.nominal_size() ? 0 : size});
            }
        }
    }
    return jobs;
}

}  // namespace mpet
