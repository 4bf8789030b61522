// mpet-sweep measures this machine with the kit's workloads and packs the results.
//
// The outputs of the jobs are written to RESULTS/unfinished-<name>-<scale>/. A job whose output exists is not run
// again, so an interrupted sweep can be resumed. After packing, the folder gets the tarball's name, and the next sweep
// starts afresh.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

#include "../include/mpet/clock.h"
#include "../include/mpet/json.hpp"
#include "../topology/build.hpp"
#include "../topology/files.hpp"
#include "../topology/options.hpp"
#include "plan.hpp"
#include "process.hpp"
#include "progress.hpp"
#include "results.hpp"

namespace {

namespace json = mpet::json;
using mpet::Job;

constexpr const char* usage =
    "mpet-sweep --bin FOLDER --results FOLDER [--name NAME] [--scale tiny|quick|full] [--repeats K]\n"
    "           [--workloads \"hog sgm ...\"] [--threads 1,2,4] [--sizes] [--no-roofline]\n"
    "--sizes: all input sizes of the workloads that have several; no roofline\n";

struct Options {
    std::string bin, results = "results", name = mpet::host_name(), scale = "full";
    int repeats = 3;
    std::vector<std::string> workloads;
    std::vector<int> threads;  // empty = the counts that fit the topology
    bool roofline = true, sizes = false;

    bool quick() const { return scale != "full"; }
    // A quick sweep is shorter, but uses the same inputs, because other inputs would be other workloads.
    std::string inputs() const { return scale == "tiny" ? "tiny" : "full"; }
};

std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> found;
    for (const std::string& word : mpet::split(text, ' ')) {
        if (!word.empty()) found.push_back(word);
    }
    return found;
}

Options parse(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; i++) {
        const std::string option = arguments[i];
        if (option == "--no-roofline" || option == "--sizes") {
            options.sizes = options.sizes || option == "--sizes";
            options.roofline = false;
            continue;
        }
        if (i + 1 == count) throw std::invalid_argument(option + " needs a value");
        const std::string value = arguments[++i];
        if (option == "--bin") options.bin = value;
        else if (option == "--results") options.results = value;
        else if (option == "--name") options.name = value.empty() ? options.name : value;
        else if (option == "--scale") options.scale = value;
        else if (option == "--repeats") options.repeats = mpet::whole_number(value, option);
        else if (option == "--workloads") options.workloads = words(value);
        else if (option == "--threads") options.threads = mpet::thread_list(value, option);
        else throw std::invalid_argument("unknown option " + option);
    }
    if (options.bin.empty()) throw std::invalid_argument("--bin is missing");
    if (options.scale != "tiny" && options.scale != "quick" && options.scale != "full")
        throw std::invalid_argument("--scale must be tiny, quick or full");
    return options;
}

std::string joined(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
}

void make_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) throw std::runtime_error(path + ": " + std::strerror(errno));
}

void rename_folder(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
        throw std::runtime_error(from + " -> " + to + ": " + std::strerror(errno));
}

class Sweep {
public:
    explicit Sweep(Options options)
        : options_(std::move(options)),
          root_(mpet::root_from_environment()),
          topology_(mpet::read_topology(root_)),
          threads_(thread_counts()),
          workloads_(chosen_workloads()),
          jobs_(options_.sizes ? mpet::plan_sizes(workloads_, threads_)
                               : mpet::plan(workloads_, threads_, counters_exist())),
          folder_(options_.results + "/unfinished-" + mpet::trimmed(safe(options_.name)) + "-" + options_.scale +
                  (options_.sizes ? "-sizes" : "")),
          started_(mpet::utc_now()) {}

    // Runs the sweep and returns the path of the tarball.
    std::string run() {
        open_folder();
        mpet::Progress progress(folder_ + "/log.txt", jobs_.size());
        progress.note("mpet-kit " MPET_KIT_VERSION " on " + options_.name + ", threads " + joined(threads_) + ", " +
                      options_.scale + " sweep" + (options_.sizes ? " of all sizes" : ""));
        for (const Job& job : jobs_) run_job(job, progress);
        if (options_.roofline) measure_roofline(progress);
        const mpet::Results results = collect(progress);
        report(results, progress);
        progress.finish();
        write_files(results);
        return pack();
    }

private:
    static std::string safe(std::string name) {
        std::replace(name.begin(), name.end(), '/', '-');
        return name;
    }

    // A static kit also has the measuring programs compiled for families of processors (VARIANTS_x86_64 in the
    // Makefile).
    struct Variant {
        const char *suffix, *flags;
    };

    static Variant variant() {
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl"))
            return __builtin_cpu_is("amd") ? Variant{"-zen4", " -march=x86-64-v4 -mtune=znver3"}
                                           : Variant{"-v4", " -march=x86-64-v4 -mtune=skylake-avx512"};
        if (__builtin_cpu_is("amd")) return {"-zen", " -mtune=znver2"};
#endif
        return {"", ""};
    }

    std::string program(const char* name) const {
        const std::string path = options_.bin + "/" + name, of_variant = path + variant().suffix;
        return mpet::exists(of_variant) ? of_variant : path;
    }

    mpet::Build build() const {
        mpet::Build build = mpet::this_build();
        if (mpet::exists(options_.bin + "/mpet-bench-clean" + variant().suffix)) build.flags += variant().flags;
        return build;
    }

    std::vector<mpet::Workload> chosen_workloads() const {
        const std::string listing =
            mpet::output_of({program("mpet-bench-clean"), "--list", "--scale", options_.inputs()});
        const std::vector<mpet::Workload> all = mpet::parse_workloads(listing);
        const bool every_sized_one = options_.sizes && options_.workloads.empty();
        return every_sized_one ? mpet::with_sizes(all) : mpet::chosen(all, options_.workloads);
    }

    std::vector<int> thread_counts() const {
        if (options_.threads.empty()) return mpet::thread_counts(topology_, options_.quick());
        const int most = options_.threads.back();
        if (most > topology_.n_max)
            throw std::invalid_argument("--threads: " + std::to_string(most) + " is more than the " +
                                        std::to_string(topology_.n_max) + " available processors");
        return options_.threads;
    }

    // Runs a small input once. If no counter can be read in this run, the sweep does not measure counters at all.
    bool counters_exist() {
        const std::string listing = mpet::output_of(
            {program("mpet-bench-clean"), "--application", "fib", "--scale", "tiny", "--repeats", "1", "--counters"});
        std::map<std::string, std::string> statuses;
        for (const std::string& line : mpet::lines_of(listing)) {
            const std::vector<std::string> fields = mpet::split(line, '\t');
            if (fields.size() == 6 && fields[0] == "counter") statuses[fields[3]] = fields[5];
            if (fields.size() == 2 && fields[0] == "source") counter_source_ = fields[1];
        }
        for (const auto& [counter, status] : statuses)
            counter_statuses_ += (counter_statuses_.empty() ? "" : ", ") + counter + " " + status;
        return std::any_of(statuses.begin(), statuses.end(),
                           [](const auto& s) { return s.second == "ok" || s.second == "multiplexed"; });
    }

    // Opens the folder. An unfinished sweep is resumed only if its settings are the same.
    void open_folder() {
        const mpet::Build build = this->build();
        const std::string settings = std::string(MPET_KIT_VERSION) + "\n" + options_.scale + "\n" +
                                     std::to_string(options_.repeats) + "\n" + joined(topology_.placement()) + "\n" +
                                     build.compiler + "\n" + build.flags;
        make_folder(options_.results);
        if (mpet::exists(folder_) && mpet::read_file(folder_ + "/settings.txt") != mpet::trimmed(settings)) {
            const std::string aside = folder_ + "-" + mpet::utc_now();
            std::fprintf(stderr, "An unfinished sweep with other settings was moved to %s\n", aside.c_str());
            rename_folder(folder_, aside);
        }
        make_folder(folder_);
        make_folder(folder_ + "/jobs");
        std::ofstream(folder_ + "/settings.txt") << settings << "\n";
    }

    void run_job(const Job& job, mpet::Progress& progress) {
        const std::string file = folder_ + "/jobs/" + job.file_name();
        if (mpet::exists(file) || failed_.count(job.application) > 0) return progress.skip(job);
        const char* const binary = job.pass == mpet::Pass::profile ? "mpet-bench-profile" : "mpet-bench-clean";
        std::vector<std::string> command{program(binary),
                                         "--application",
                                         job.application,
                                         "--n",
                                         std::to_string(job.threads),
                                         "--repeats",
                                         std::to_string(job.pass == mpet::Pass::counters ? 1 : options_.repeats),
                                         "--attempts",
                                         options_.quick() && is_busy_ ? "1" : "3",
                                         "--scale",
                                         options_.inputs(),
                                         "--cpus",
                                         joined(topology_.placement())};
        if (job.size > 0) command.insert(command.end(), {"--size", std::to_string(job.size)});
        if (job.pass == mpet::Pass::counters) command.push_back("--counters");
        if (options_.quick()) command.push_back("--while-narrowing");
        progress.begin(job);
        try {
            mpet::run_into_file(command, file);
            if (job.pass != mpet::Pass::counters)
                is_busy_ = mpet::read_file(file).value_or("").find("\tkept\n") == std::string::npos;
        } catch (const std::runtime_error& error) {
            fail(job.application, error.what(), progress);
        }
        progress.end(job);
    }

    void fail(const std::string& application, const std::string& reason, mpet::Progress& progress) {
        failed_.insert(application);
        progress.note(application + " is left out of the results: " + reason);
    }

    void measure_roofline(mpet::Progress& progress) {
        const std::string file = folder_ + "/jobs/roofline.json";
        if (mpet::exists(file)) return;
        try {
            mpet::run_into_file({program("mpet-roofline"), "--cpus", joined(topology_.placement()), "--threads",
                                 joined(threads_), "--scale", options_.scale},
                                file);
        } catch (const std::runtime_error& error) {
            progress.note(std::string("no roofline: ") + error.what());
        }
    }

    std::vector<Job> finished_jobs() const {
        std::vector<Job> finished;
        for (const Job& job : jobs_) {
            if (failed_.count(job.application) == 0) finished.push_back(job);
        }
        return finished;
    }

    // Collects the results of each application first: if its output differs between thread counts, only this
    // application is left out, and not the whole sweep.
    mpet::Results collect(mpet::Progress& progress) {
        for (const mpet::Workload& workload : workloads_) {
            if (failed_.count(workload.application) > 0) continue;
            std::vector<Job> own;
            std::copy_if(jobs_.begin(), jobs_.end(), std::back_inserter(own),
                         [&](const Job& job) { return job.application == workload.application; });
            try {
                mpet::collect(folder_ + "/jobs", own, workloads_);
            } catch (const std::runtime_error& error) {
                fail(workload.application, error.what(), progress);
            }
        }
        if (finished_jobs().empty())
            throw std::runtime_error("no workload could be measured; see " + folder_ + "/log.txt");
        return mpet::collect(folder_ + "/jobs", finished_jobs(), workloads_);
    }

    void report(const mpet::Results& results, mpet::Progress& progress) const {
        progress.note(counter_statuses_.empty() ? "no counters" : "counters: " + counter_statuses_);
        if (results.repeats_done_again > 0)
            progress.note(std::to_string(results.repeats_done_again) +
                          " repeats were disturbed by other programs and repeated");
        if (results.repeats_disturbed == 0) return;
        progress.note(std::to_string(results.repeats_disturbed) + " of " + std::to_string(results.repeats_kept) +
                      " repeats remained disturbed: measure again on an idle machine for better results");
    }

    std::vector<mpet::Workload> measured_workloads() const {
        std::vector<mpet::Workload> measured;
        std::copy_if(workloads_.begin(), workloads_.end(), std::back_inserter(measured),
                     [this](const mpet::Workload& w) { return failed_.count(w.application) == 0; });
        return measured;
    }

    void write(const char* name, const std::string& content) const {
        std::ofstream file(folder_ + "/" + name, std::ios::binary);
        file << content;
        if (!file.flush()) throw std::runtime_error(folder_ + "/" + name + " cannot be written");
    }

    // Records the statuses of the counters even if no counter has a value: once, for the first workload at n = 1.
    std::string counters_csv(const mpet::Results& results) const {
        std::string rows = results.counters_csv;
        const bool counted = std::any_of(jobs_.begin(), jobs_.end(),
                                         [](const Job& job) { return job.pass == mpet::Pass::counters; });
        if (counted) return rows;
        for (const std::string& entry : mpet::split(counter_statuses_, ',')) {
            const std::vector<std::string> parts = words(entry);
            if (parts.size() == 2)
                rows += measured_workloads().front().name + ",1,1," + parts[0] + ",," + parts[1] + "\n";
        }
        return rows;
    }

    void write_files(const mpet::Results& results) const {
        write("platform.json",
              mpet::platform_json(options_.name, topology_, mpet::read_hardware(root_, topology_), build()));
        write("workloads.json", mpet::workloads_json(measured_workloads(), results.inputs));
        write("runs.csv", results.runs_csv);
        write("counters.csv", counters_csv(results));
        write("environment.json", environment_json(results));
    }

    std::string environment_json(const mpet::Results& results) const {
        const auto file_text = [this](const char* path) { return json::text(mpet::read_file(root_ + path)); };
        std::vector<std::string> disturbances, threads, failed;
        for (const std::string& sentence : results.disturbances) disturbances.push_back(json::quoted(sentence));
        for (const int n : threads_) threads.push_back(json::number(n));
        for (const std::string& application : failed_) failed.push_back(json::quoted(application));
        mpet_clock_start();
        json::Object environment;
        environment.add("kit_version", json::quoted(MPET_KIT_VERSION))
            .add("started", json::quoted(started_))
            .add("ended", json::quoted(mpet::utc_now()))
            .add("scale", json::quoted(options_.scale))
            .add("repeats", json::number(options_.repeats))
            .add("threads", json::array(threads))
            .add("clock", json::quoted(mpet_clock_name()))
            .add("counters", json::quoted(counter_statuses_))
            .add("counters_by", counter_source_.empty() ? "null" : json::quoted(counter_source_))
            .add("perf_event_paranoid", file_text("/proc/sys/kernel/perf_event_paranoid"))
            .add("load_average", file_text("/proc/loadavg"))
            .add("scaling_governor", file_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
            .add("transparent_hugepages", file_text("/sys/kernel/mm/transparent_hugepage/enabled"))
            .add("numa_balancing", file_text("/proc/sys/kernel/numa_balancing"))
            .add("repeats_kept", json::number(results.repeats_kept))
            .add("repeats_done_again", json::number(results.repeats_done_again))
            .add("repeats_disturbed", json::number(results.repeats_disturbed))
            .add("disturbances", json::array(disturbances, ",\n    "))
            .add("left_out", json::array(failed))
            .add("roofline", mpet::read_file(folder_ + "/jobs/roofline.json").value_or("null"));
        return environment.str() + "\n";
    }

    std::string pack() const {
        const std::string name = mpet::trimmed(mpet::output_of({program("mpet-pack"), "--name", options_.name}));
        const std::string tarball = options_.results + "/" + name + ".tar.gz";
        mpet::output_of({program("mpet-pack"), folder_, tarball});
        rename_folder(folder_, options_.results + "/" + name);
        return tarball;
    }

    const Options options_;
    const std::string root_;
    const mpet::Topology topology_;
    const std::vector<int> threads_;
    // Whether other programs disturbed every repeat of the last job. A quick sweep then repeats no disturbed runs in
    // the next job.
    bool is_busy_ = false;
    const std::vector<mpet::Workload> workloads_;
    std::string counter_statuses_, counter_source_;
    const std::vector<Job> jobs_;
    const std::string folder_, started_;
    std::set<std::string> failed_;
};

}  // namespace

int main(int count, char** arguments) {
    try {
        const std::string tarball = Sweep(parse(count, arguments)).run();
        std::printf("%s\n", tarball.c_str());
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "mpet-sweep: %s\n%s", error.what(), usage);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mpet-sweep: %s\n", error.what());
        return 1;
    }
    return 0;
}
