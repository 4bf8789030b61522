// mpet-profile measures every parallel region of an unmodified OpenMP program at several thread counts, and packs the
// measurements for upload.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>

#include <mpet/clock.h>
#include <mpet/json.hpp>

#include "../topology/build.hpp"
#include "../topology/options.hpp"
#include "../topology/topology.hpp"
#include "command.hpp"
#include "constructs.hpp"
#include "elf_file.hpp"
#include "program.hpp"
#include "results.hpp"
#include "section_names.hpp"

namespace mpet::profiler {

namespace {

// The other exit statuses are 0: written; 1: failed; 2: wrong usage; 3: with --upload, the server has not finished yet.
constexpr int not_profilable_status = 4;

constexpr const char* usage =
    "mpet-profile [options] PROGRAM [ARGUMENT...]\n"
    "Measures every parallel region of an OpenMP program, built by gcc or by clang, as it is.\n"
    "  --n LIST            thread counts, as 1,2,4-8; 1 is always measured        (default: as the kit's sweep)\n"
    "  --repeats K         runs of each pass at each thread count                 (default: 3)\n"
    "  --name NAME         name of this machine                                   (default: its host name)\n"
    "  --application NAME  name of the program                                    (default: its file name)\n"
    "  --output FILE       tarball to write                (default: mpet-MACHINE-APPLICATION-TIME.tar.gz)\n"
    "  --results FOLDER    folder of the tarball, if --output is not given        (default: the kit's results/)\n"
    "  --min-share 1%      leave out regions with a smaller share of the time on one thread\n"
    "  --runtime NAME      libgomp or libomp, if the program loads it at run time\n"
    "  --accept-exit N     the program may also end with status N; repeatable\n"
    "Sending it, with curl:\n"
    "  --upload            upload to the server of the kit, wait, and print the URL of the results\n"
    "  --url URL           upload to another server\n"
    "  --token TOKEN       your API token               (default: MPET_TOKEN, or the kit's file TOKEN, chmod 600)\n"
    "  --public, --private, --visibility WORD   who can read it                   (default: you only)\n"
    "  --with-kit          run make quick first if the server has no kit results of this machine\n"
    "  --try               --upload --with-kit; without a token, the results get a secret link\n"
    "The exit status is 4 if the program cannot be profiled: no OpenMP, statically linked, a script, ...\n"
    "PROGRAM is executed once per thread count, repeat and pass. Each run reads a file on standard input from its start.\n";

struct Options {
    std::vector<int> threads;
    int repeats = 3;
    std::string machine, application, output, results, runtime;
    double least_share = 0.01;
    std::vector<int> accepted{0};  // accepted exit statuses of the program
    std::vector<std::string> command;
};

// ---- options

double share(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool in_percent = std::strcmp(end, "%") == 0;
    const double part = in_percent ? value / 100 : value;
    if (end == text.c_str() || (*end != '\0' && !in_percent) || !(part >= 0 && part <= 1)) {
        throw std::invalid_argument("--min-share: '" + text + "' is neither a percentage such as 1% nor a number from 0 to 1");
    }
    return part;
}

void set(Options& options, const std::string& option, const std::string& value) {
    if (option == "--n") options.threads = thread_list(value, option);
    else if (option == "--repeats") options.repeats = whole_number(value, option);
    else if (option == "--name") options.machine = value;
    else if (option == "--application") options.application = fit_for_names(value, 60);
    else if (option == "--output") options.output = value;
    else if (option == "--results") options.results = value;
    else if (option == "--min-share") options.least_share = share(value);
    else if (option == "--runtime" && (value == "libgomp" || value == "libomp")) options.runtime = value;
    else if (option == "--runtime") throw std::invalid_argument("--runtime must be libgomp or libomp, not " + value);
    else if (option == "--accept-exit") options.accepted.push_back(whole_number(value, option));
    else throw std::invalid_argument("unknown option " + option);
}

bool asks_for_help(const char* argument) { return std::strcmp(argument, "--help") == 0 || std::strcmp(argument, "-h") == 0; }

// Returns options without a command if help is requested.
Options parse(int count, char** arguments) {
    Options options;
    int i = 1;
    for (; i < count && arguments[i][0] == '-' && std::strcmp(arguments[i], "--") != 0; i += 2) {
        if (asks_for_help(arguments[i])) return {};
        if (i + 1 == count) throw std::invalid_argument(std::string(arguments[i]) + " needs a value");
        set(options, arguments[i], arguments[i + 1]);
    }
    if (i < count && std::strcmp(arguments[i], "--") == 0) i++;
    options.command.assign(arguments + i, arguments + count);
    if (options.command.empty()) throw std::invalid_argument("which program?");
    return options;
}

// ---- files

std::string own_folder() {
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0) throw std::runtime_error("cannot find the path of mpet-profile: /proc is not mounted");
    const std::string own(path, static_cast<std::size_t>(size));
    return own.substr(0, own.rfind('/'));
}

// Returns the path of a built file, which is in mpet-profile's folder or in the folder build/ inside it. Throws Refusal
// if the file does not exist.
std::string built_file(const std::string& name) {
    for (const std::string& path : {own_folder() + "/" + name, own_folder() + "/build/" + name}) {
        if (access(path.c_str(), R_OK) == 0) return path;
    }
    throw Refusal(name + " is not next to mpet-profile. Build the kit: make");
}

void make_folder(const std::string& path) {
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) throw std::runtime_error(path + ": " + std::strerror(errno));
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

// Throws if no file can be written at `path`, before the program is measured.
void check_output(const std::string& path) {
    struct stat there {};
    if (stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) throw std::runtime_error("cannot write " + path + ": it is a folder");
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    if (access(folder.c_str(), W_OK) != 0) throw std::runtime_error("cannot write " + path + ": " + folder + ": " + std::strerror(errno));
}

// A temporary folder that is removed with its contents when it goes out of scope.
class TemporaryFolder {
public:
    TemporaryFolder() {
        const char* parent = std::getenv("TMPDIR");
        path_ = std::string(parent != nullptr ? parent : "/tmp") + "/mpet-profile-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_ + ": " + std::strerror(errno));
    }
    ~TemporaryFolder() { remove(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }

private:
    static void remove(const std::string& path) {
        if (DIR* folder = opendir(path.c_str())) {
            while (const dirent* entry = readdir(folder)) {
                const std::string name = entry->d_name;
                if (name != "." && name != "..") remove(path + "/" + name);
            }
            closedir(folder);
            rmdir(path.c_str());
        } else {
            unlink(path.c_str());
        }
    }

    std::string path_;
};

// ---- what the user sees, and the tarball keeps

class Log {
public:
    void say(const std::string& message) {
        clear_progress();
        std::fprintf(stderr, "mpet-profile: %s\n", message.c_str());
        note(message);
    }
    void note(const std::string& message) { text_ += message + "\n"; }
    const std::string& text() const { return text_; }

    void progress(std::size_t done, std::size_t all, const std::string& what, std::uint64_t spent_ns) {
        const std::uint64_t left_s = done > 0 ? spent_ns / done * (all - done) / 1000000000 : 0;
        const std::string left = done > 0 ? ", about " + std::to_string(left_s) + " s left" : "";
        std::fprintf(stderr, "%s[%zu/%zu] %s%s%s", terminal_ ? "\r\033[K" : "", done + 1, all, what.c_str(), left.c_str(), terminal_ ? "" : "\n");
        std::fflush(stderr);
    }
    void clear_progress() {
        if (terminal_) std::fputs("\r\033[K", stderr);
    }

private:
    const bool terminal_ = isatty(STDERR_FILENO) != 0;
    std::string text_;
};

std::string utc_time() {
    const std::time_t now = std::time(nullptr);
    char text[64];
    std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", std::gmtime(&now));
    return text;
}

std::string file_name_part(std::string text) {
    for (char& c : text) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
    }
    return text.substr(0, 60);
}

std::string last_lines(const std::string& path, std::size_t count) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back("    " + line);
    std::string text;
    for (std::size_t i = lines.size() > count ? lines.size() - count : 0; i < lines.size(); i++) text += "\n" + lines[i];
    return text;
}

// ---- running the program

struct Pass {
    int threads;
    bool profile;
    int repeat;

    std::string text() const {
        return std::string(profile ? "profile" : "clean") + " pass, n = " + std::to_string(threads) + ", repeat " + std::to_string(repeat);
    }
};

std::string places(const std::vector<int>& processors, int threads) {
    std::string text;
    for (int i = 0; i < threads && i < static_cast<int>(processors.size()); i++) {
        text += (i > 0 ? ",{" : "{") + std::to_string(processors[static_cast<std::size_t>(i)]) + "}";
    }
    return text;
}

std::string preloaded(const std::string& library) {
    const char* others = std::getenv("LD_PRELOAD");
    return others != nullptr && others[0] != '\0' ? library + ":" + others : library;
}

// The kernel counts processor time in steps of 10 ms, so shorter runs cannot show how much other programs used.
constexpr std::uint64_t shortest_judged_ns = 300000000;
constexpr std::int64_t most_others_percent = 10;

class Profiler {
public:
    Profiler(const Program& program, const Options& options, const Topology& topology, Log& log)
        : program_(program), options_(options), processors_(topology.placement()), log_(log) {
        const std::string stem = program.runtime == "libgomp" ? "libmpet_gomp" : "libmpet_ompt";
        profile_library_ = built_file(stem + ".so");
        clean_library_ = built_file(stem + "_clean.so");
    }

    // Repeats disturbed runs, up to three times the planned number in total, and keeps the least disturbed ones. If all
    // runs at one thread count were disturbed, runs at the next thread counts are not repeated until one is
    // undisturbed.
    std::vector<Run> run_all() {
        planned_ = options_.threads.size() * 2 * static_cast<std::size_t>(options_.repeats);
        std::vector<Run> runs;
        for (const int n : options_.threads) {
            std::vector<Attempt> clean, profile;
            for (int number = 1; number <= 3 * options_.repeats; number++) {
                for (std::vector<Attempt>* attempts : {&clean, &profile}) {
                    if (!needs_more(*attempts)) continue;
                    if (number > options_.repeats) planned_++;
                    attempts->push_back(attempt({n, attempts == &profile, number}));
                }
            }
            is_busy_ = undisturbed(clean) + undisturbed(profile) == 0;
            keep(std::move(clean), runs);
            keep(std::move(profile), runs);
        }
        log_.clear_progress();
        report();
        return runs;
    }

    // Returns a note if the tool makes the program slower. libomp does more work for each task as soon as a tool is
    // loaded, in every pass. If the run on one thread takes longer with the tool, the note estimates how long the
    // regions with tasks take without it. Processor times are compared, because other programs have little influence on
    // them.
    std::string note_on_tool(const Results& results) {
        std::vector<const Section*> with_tasks;
        std::uint64_t measured_ns = 0;
        for (const Section& section : results.sections) {
            if (!(section.constructs & created_tasks) || section.median_ns(1, false) == 0) continue;
            with_tasks.push_back(&section);
            measured_ns += section.median_ns(1, false);
        }
        if (program_.runtime != "libomp" || with_tasks.empty()) return "";
        std::uint64_t plain_ns = UINT64_MAX;
        for (int number = 1; number <= options_.repeats; number++) {
            const Outcome outcome = profiler::run({command(), threads_environment(1), "", output()});
            check(outcome, {1, false, number});
            plain_ns = std::min(plain_ns, outcome.processor_ns);
        }
        if (least_clean_ns_ * 20 < plain_ns * 21) return "";
        const double measured_share = static_cast<double>(measured_ns) / static_cast<double>(results.program_ns);
        const double surplus_share = 1 - static_cast<double>(plain_ns) / static_cast<double>(least_clean_ns_);
        const double kept = std::max(0.0, 1 - surplus_share / measured_share);
        std::string text = "libomp has a higher overhead per task while a tool is loaded, so t(n) of regions with tasks is too long. On one thread without it:";
        for (const Section* section : with_tasks) {
            const double seconds = static_cast<double>(section->median_ns(1, false)) / 1e9;
            char line[64];
            std::snprintf(line, sizeof line, " takes about %.3g s instead of %.3g s", seconds * kept, seconds);
            text += "\n    " + section->name + line;
        }
        return text;
    }

private:
    struct Attempt {
        Run run;
        std::int64_t others_percent;
        bool disturbed;
    };

    static int undisturbed(const std::vector<Attempt>& attempts) {
        return static_cast<int>(
            std::count_if(attempts.begin(), attempts.end(), [](const Attempt& attempt) { return !attempt.disturbed; }));
    }

    bool needs_more(const std::vector<Attempt>& attempts) const {
        const int most = (is_busy_ ? 1 : 3) * options_.repeats;
        return undisturbed(attempts) < options_.repeats && static_cast<int>(attempts.size()) < most;
    }

    void keep(std::vector<Attempt> attempts, std::vector<Run>& runs) {
        const std::size_t repeats = static_cast<std::size_t>(options_.repeats);
        if (attempts.size() > repeats) done_again_ += name(attempts, attempts.size() - repeats);
        std::stable_sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) {
            return a.disturbed != b.disturbed ? b.disturbed : a.disturbed && a.others_percent < b.others_percent;
        });
        attempts.resize(repeats);
        const std::size_t disturbed = repeats - static_cast<std::size_t>(undisturbed(attempts));
        if (disturbed > 0) kept_disturbed_ += name(attempts, disturbed);
        for (std::size_t i = 0; i < repeats; i++) {
            attempts[i].run.repeat = static_cast<int>(i) + 1;
            runs.push_back(std::move(attempts[i].run));
        }
    }

    static std::string name(const std::vector<Attempt>& attempts, std::size_t count) {
        const Run& run = attempts.front().run;
        return (run.profile ? "\n    profile pass, n = " : "\n    clean pass, n = ") + std::to_string(run.asked) + ": " +
               std::to_string(count) + (count == 1 ? " run" : " runs");
    }

    void report() const {
        if (!done_again_.empty())
            log_.say("repeated, because other programs used more than a tenth of a processor:" + done_again_);
        if (!kept_disturbed_.empty())
            log_.say("runs were disturbed every time and are kept. Measure again on an idle machine:" +
                     kept_disturbed_);
    }

    Attempt attempt(const Pass& pass) {
        log_.progress(done_, planned_, pass.text(), spent_ns_);
        const std::string recording_path = folder_.path() + "/recording";
        unlink(recording_path.c_str());
        const Outcome outcome = profiler::run({command(), environment(pass, recording_path), "MPET_PROFILE_PID", output()});
        check(outcome, pass);
        const std::optional<Recording> recording = read_recording(recording_path);
        if (!recording && access(recording_path.c_str(), F_OK) == 0)
            throw Refusal("the recording of the " + pass.text() + " is incomplete. Is there free space in " + folder_.path() + "?");
        if (!recording || (!recording->started && pass.threads == options_.threads.back())) refuse_without_recording(pass);
        if (!recording->missing_event.empty()) {
            throw NotProfilable("this libomp does not report the event " + recording->missing_event + ". Use one built with OMPT, as LLVM's and Debian's are.");
        }
        log_.note(pass.text() + ": " + std::to_string(outcome.wall_ns / 1000000) + " ms, other programs used " +
                  std::to_string(outcome.others_percent) + " % of a processor, clock " + recording->clock);
        done_++;
        spent_ns_ += outcome.wall_ns;
        if (pass.threads == 1 && !pass.profile) least_clean_ns_ = std::min(least_clean_ns_, outcome.processor_ns);
        std::optional<bool> disturbed;
        if (outcome.wall_ns > shortest_judged_ns) disturbed = outcome.others_percent > most_others_percent;
        return {{pass.threads, pass.profile, pass.repeat, *recording, disturbed}, outcome.others_percent, disturbed.value_or(false)};
    }

    std::string output() const { return folder_.path() + "/output"; }

    std::vector<std::string> command() const {
        std::vector<std::string> command = options_.command;
        command[0] = program_.path;
        return command;
    }

    std::vector<std::pair<std::string, std::string>> threads_environment(int threads) const {
        return {{"OMP_NUM_THREADS", std::to_string(threads)}, {"OMP_PROC_BIND", "close"},
                {"OMP_PLACES", places(processors_, threads)}, {"OMP_DYNAMIC", "false"},
                {"GOMP_CPU_AFFINITY", ""}, {"KMP_AFFINITY", ""}, {"KMP_HW_SUBSET", ""}};
    }

    std::vector<std::pair<std::string, std::string>> environment(const Pass& pass, const std::string& recording) const {
        auto variables = threads_environment(pass.threads);
        variables.emplace_back("MPET_PROFILE_OUT", recording);
        const std::string& library = pass.profile ? profile_library_ : clean_library_;
        variables.emplace_back("LD_PRELOAD", preloaded(library));
        if (program_.runtime == "libomp") variables.emplace_back("OMP_TOOL", "enabled");
        return variables;
    }

    void check(const Outcome& outcome, const Pass& pass) const {
        if (outcome.interrupted) throw Refusal("interrupted in the " + pass.text() + "; nothing is written.");
        const std::vector<int>& accepted = options_.accepted;
        if (std::find(accepted.begin(), accepted.end(), outcome.status) != accepted.end()) return;
        throw Refusal(program_.path + " ended with status " + std::to_string(outcome.status) + " in the " + pass.text() +
                      ", not 0. If that status is not a failure, use --accept-exit " +
                      std::to_string(outcome.status) + ". Its last lines:" + last_lines(output(), 10));
    }

    [[noreturn]] void refuse_without_recording(const Pass& pass) const {
        const std::string why = program_.runtime == "libomp"
                                    ? "it executed no OpenMP region, its libomp was built without OMPT, or it ended with _exit()"
                                    : "it ended with _exit(), or it replaced itself by another program (exec)";
        throw NotProfilable(program_.path + " left no recording in the " + pass.text() + ": " + why + ".");
    }

    const Program& program_;
    const Options& options_;
    const std::vector<int> processors_;
    Log& log_;
    std::string profile_library_, clean_library_;
    TemporaryFolder folder_;
    bool is_busy_ = false;
    std::uint64_t least_clean_ns_ = UINT64_MAX;  // processor time on one thread
    std::size_t planned_ = 0, done_ = 0;
    std::uint64_t spent_ns_ = 0;
    std::string done_again_, kept_disturbed_;  // lists of runs for the log
};

// ---- the whole

// Returns the program's arguments as the description of its input: with another input it is another workload.
std::string input_text(const std::vector<std::string>& command) {
    std::string text;
    for (std::size_t i = 1; i < command.size(); i++) text += (i > 1 ? " " : "") + command[i];
    if (text.empty()) return "no arguments";
    std::size_t length = 0;  // number of bytes: whole characters, at most 200 bytes
    while (length < text.size()) {
        const std::size_t next = length + std::max<std::size_t>(1, json::utf8_length(text, length));
        if (next > 200) break;
        length = next;
    }
    return text.substr(0, length);
}

void choose_threads(Options& options, const Topology& topology) {
    if (options.threads.empty()) options.threads = thread_counts(topology, false);
    if (options.threads.back() > topology.n_max) {
        throw Refusal("--n: " + std::to_string(options.threads.back()) + " threads exceed the " + std::to_string(topology.n_max) +
                      " available processors.");
    }
}

// Returns a note if an OpenBLAS with threads of its own was loaded. The work of these threads is in no region; the note
// describes how to measure it.
std::string note_on_blas(const std::vector<Run>& runs) {
    for (const Run& run : runs) {
        for (const std::string& path : run.recording.blas_libraries) {
            const ElfFile file(path);
            const bool is_openblas = path.find("openblas", path.rfind('/')) != std::string::npos || file.exports("openblas_get_config");
            if (!is_openblas || file.imports("GOMP_") || file.imports("__kmpc_") || !file.imports("pthread_create")) continue;
            return "the program loads an OpenBLAS that creates its own threads (pthreads) instead of OpenMP's: " +
                   path.substr(path.rfind('/') + 1) + ". Its computations count in the serial rest, not in a region. "
                   "To time the whole program at each thread count: mpet sweep -- PROGRAM ARGUMENT...";
        }
    }
    return "";
}

Results measure(const Program& program, const Options& options, const Topology& topology, Log& log) {
    Profiler profiler(program, options, topology, log);
    const std::vector<Run> runs = profiler.run_all();
    const Results results = results_of(runs, program, options.least_share);
    for (const std::string& message : results.messages) log.say(message);
    if (const std::string note = note_on_blas(runs); !note.empty()) log.say(note);
    if (const std::string note = profiler.note_on_tool(results); !note.empty()) log.say(note);
    if (results.sections.empty() && results.messages.empty()) throw NotProfilable(program.path + " executed no parallel region.");
    if (results.sections.empty()) throw NotProfilable("no parallel region of " + program.path + " can be reported: see above.");
    return results;
}

void pack(const Program& program, const Options& options, const Topology& topology, const Results& results, const Log& log) {
    const TemporaryFolder folder;
    const std::string root = root_from_environment();
    const Build build{program.compiler, "as the program was built"};
    write_file(folder.path() + "/platform.json", platform_json(options.machine, topology, read_hardware(root, topology), build));
    write_file(folder.path() + "/workloads.json", workloads_json(results, program, input_text(options.command)));
    write_file(folder.path() + "/runs.csv", runs_csv(results, program));
    write_file(folder.path() + "/log.txt", log.text());
    const std::string said = folder.path() + "/said";
    if (run({{built_file("mpet-pack"), folder.path(), options.output}, {}, "", said}).status != 0) {
        throw std::runtime_error("could not write " + options.output + ":" + last_lines(said, 5));
    }
}

// Prints platform.json for --upload, which asks the server whether it already has this machine.
void describe_machine(const std::string& name) {
    const std::string root = root_from_environment();
    std::fputs(platform_json(name, read_topology(root), read_hardware(root, read_topology(root)), Build{}).c_str(), stdout);
}

void profile(Options options) {
    Log log;
    Program program = inspect(options.command[0], options.runtime);
    if (!options.application.empty()) program.name = options.application;
    program.name = fit_for_names(program.name, 60);
    if (options.machine.empty()) options.machine = host_name();
    if (options.output.empty()) {
        if (!options.results.empty()) make_folder(options.results);
        options.output = (options.results.empty() ? "" : options.results + "/") + "mpet-" + file_name_part(options.machine) + "-" + file_name_part(program.name) + "-" + utc_time() + ".tar.gz";
    }
    check_output(options.output);
    const Topology topology = read_topology(root_from_environment());
    choose_threads(options, topology);
    log.note("mpet-profile of " + program.name + ", " + program.runtime);
    const Results results = measure(program, options, topology, log);
    pack(program, options, topology, results, log);
    for (const std::string& line : summary(results)) std::printf("%s\n", line.c_str());
    const std::size_t regions = results.sections.size();
    std::printf("%zu %s of %s in %s\n", regions, regions == 1 ? "region" : "regions", program.name.c_str(), options.output.c_str());
}

}  // namespace

}  // namespace mpet::profiler

int main(int count, char** arguments) {
    using namespace mpet::profiler;
    try {
        if (count > 1 && std::strcmp(arguments[1], "--machine") == 0) {
            describe_machine(count > 2 ? arguments[2] : mpet::host_name());
            return 0;
        }
        const Options options = parse(count, arguments);
        if (options.command.empty()) {
            std::fputs(usage, stdout);
            return 0;
        }
        pass_signals_to_children();
        profile(options);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "mpet-profile: %s\n%s", error.what(), usage);
        return 2;
    } catch (const NotProfilable& error) {
        std::fprintf(stderr, "mpet-profile: %s\n", error.what());
        return not_profilable_status;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mpet-profile: %s\n", error.what());
        return 1;
    }
    return 0;
}
