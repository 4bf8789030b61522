#include "results.hpp"

#include <stdexcept>
#include <utility>

#include "../include/mpet/json.hpp"
#include "../topology/files.hpp"

namespace mpet {
namespace {

constexpr const char* runs_header =
    "workload,n,repeat,pass,time_ns,use_ns,lock_ns,imbalance_ns,creation_ns,distribution_ns,switching_ns,join_ns,"
    "output_checksum,size,tasks,waits,disturbed\n";

using Fields = std::vector<std::string>;

class Collector {
public:
    explicit Collector(const std::vector<Workload>& workloads) {
        for (const Workload& workload : workloads) nominal_[workload.name] = workload.nominal_size();
        results_.runs_csv = runs_header;
        results_.counters_csv = "workload,n,repeat,counter,value,status\n";
    }

    void add(const Job& job, const Fields& fields) {
        const std::string& kind = fields[0];
        if (kind == "input" && fields.size() == 3) add_input(job, fields);
        else if (kind == "tasks" && fields.size() == 5) tasks_ = fields;
        else if (kind == "run" && fields.size() == 12) add_run(job, fields);
        else if (kind == "load" && fields.size() == 6) add_load(job, fields);
        else if (kind == "counter" && fields.size() == 6) add_counter(job, fields);
        else if (kind == "source") return;  // the same for all jobs, and recorded in environment.json
        else throw std::runtime_error(job.file_name() + " has an invalid line: '" + kind + "'");
    }

    Results results() const { return results_; }

private:
    void add_input(const Job& job, const Fields& fields) {
        if (job.size == 0) results_.inputs[fields[1]] = fields[2];
    }

    void add_run(const Job& job, const Fields& fields) {
        const std::string &workload = fields[1], &checksum = fields[11];
        const auto first = checksums_.emplace(std::make_pair(workload, job.size), checksum).first;
        if (first->second != checksum) {
            throw std::runtime_error(job.input() + " has a different result at n = " + std::to_string(job.threads) +
                                     " than before");
        }
        std::string row = workload + "," + std::to_string(job.threads) + "," + fields[2] + "," + name_of(job.pass);
        for (std::size_t i = 3; i < fields.size(); i++) row += "," + fields[i];
        results_.runs_csv += row + "," + size_text(job, workload) + "," + take_tasks(fields) + "," + disturbed_ + "\n";
    }

    std::string size_text(const Job& job, const std::string& workload) const {
        const auto nominal = nominal_.find(workload);
        const std::int64_t size = job.size > 0 || nominal == nominal_.end() ? job.size : nominal->second;
        return size > 0 ? std::to_string(size) : "";
    }

    // Returns "tasks,waits" of the run. The record `tasks` precedes the record of its run.
    std::string take_tasks(const Fields& run) {
        const Fields counted = std::exchange(tasks_, {});
        return counted.empty() || counted[1] != run[1] || counted[2] != run[2] ? "," : counted[3] + "," + counted[4];
    }

    void add_load(const Job& job, const Fields& fields) {
        const std::string& fate = fields[5];
        results_.repeats_kept += fate != "repeated" ? 1 : 0;
        results_.repeats_done_again += fate == "repeated" ? 1 : 0;
        results_.repeats_disturbed += fate == "kept-disturbed" ? 1 : 0;
        disturbed_ = fate == "kept-disturbed" ? "1" : "0";
        if (fate == "kept") return;
        results_.disturbances.push_back(job.input() + " n=" + std::to_string(job.threads) + " " +
                                        name_of(job.pass) + ": " + fields[2] + " permille without a processor, " +
                                        fields[3] + " permille stolen, " + fields[4] + " involuntary switches, " +
                                        fate);
    }

    void add_counter(const Job& job, const Fields& fields) {
        results_.counters_csv += fields[1] + "," + std::to_string(job.threads) + "," + fields[2] + "," + fields[3] +
                                 "," + fields[4] + "," + fields[5] + "\n";
    }

    Results results_;
    std::map<std::pair<std::string, std::int64_t>, std::string> checksums_;  // by workload and size
    std::map<std::string, std::int64_t> nominal_;
    Fields tasks_;
    std::string disturbed_;  // whether the repeat of the following runs was disturbed; its record `load` precedes them
};

std::string text_or_null(const std::string& text) { return text.empty() ? "null" : json::quoted(text); }

}  // namespace

Results collect(const std::string& jobs_folder, const std::vector<Job>& jobs, const std::vector<Workload>& workloads) {
    Collector collector(workloads);
    for (const Job& job : jobs) {
        for (const std::string& line : lines_of(read_file(jobs_folder + "/" + job.file_name()).value_or(""))) {
            if (!line.empty()) collector.add(job, split(line, '\t'));
        }
    }
    return collector.results();
}

std::string workloads_json(const std::vector<Workload>& workloads, const std::map<std::string, std::string>& inputs) {
    std::vector<std::string> entries;
    for (const Workload& workload : workloads) {
        const auto input = inputs.find(workload.name);
        json::Object entry(2);
        entry.add("name", json::quoted(workload.name))
            .add("application", json::quoted(workload.application))
            .add("section", text_or_null(workload.section))
            .add("strategy", json::quoted(workload.strategy))
            .add("runtime", json::quoted("mpal"))
            .add("input", text_or_null(input == inputs.end() ? "" : input->second))
            .add("version", json::quoted(workload.version))
            .add("bound", text_or_null(workload.bound))
            .add("description", json::quoted(workload.description));
        if (!workload.sizes.empty())
            entry.add("size", json::number(workload.nominal_size())).add("size_unit", json::quoted(workload.size_unit));
        entries.push_back("  " + entry.str());
    }
    return "[\n" + json::array(entries, ",\n").substr(1, std::string::npos) + "\n";
}

}  // namespace mpet
