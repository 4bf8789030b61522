#include "results.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <set>

#include <mpet/json.hpp>

#include "constructs.hpp"
#include "elf_file.hpp"
#include "section_names.hpp"

namespace mpet::profiler {

namespace {

std::uint64_t median(std::vector<std::uint64_t> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : values[half - 1] + (values[half] - values[half - 1]) / 2;
}

std::string workload(const Program& program, const Section& section) {
    return program.name + "/" + section.name;
}

// Formats a share as a percentage like 12.3 %, without floating point.
std::string percent(std::uint64_t part, std::uint64_t whole) {
    const std::uint64_t per_mille = whole > 0 ? part * 1000 / whole : 0;
    return std::to_string(per_mille / 10) + "." + std::to_string(per_mille % 10) + " %";
}

std::string threads_text(std::int64_t count) { return std::to_string(count) + (count == 1 ? " thread" : " threads"); }

// The data of one section from all runs, collected before it is decided whether the section is kept.
struct Gathered {
    Section section;
    std::set<std::pair<int, std::int64_t>> other_sizes;  // requested and used thread counts
};

using Gathering = std::map<std::string, Gathered>;

using Names = std::map<CallSite, SectionName>;

void add_run(const Run& run, const Names& names, Gathering& gathering) {
    std::map<std::string, RegionRecord> of_run;
    for (const RegionRecord& region : run.recording.regions) {
        const SectionName& name = names.at(region.site);
        gathering[name.name].section.name = name.name;
        gathering[name.name].section.source = name.source;
        const auto [found, is_new] = of_run.emplace(name.name, region);
        if (!is_new) found->second.add(region);
    }
    for (const auto& [name, region] : of_run) {
        Gathered& gathered = gathering[name];
        gathered.section.constructs |= region.constructs;
        if (region.threads != run.asked) {
            gathered.other_sizes.insert({run.asked, region.threads});
            continue;
        }
        const RowKey key{run.asked, run.profile, run.repeat};
        gathered.section.rows[key] = region;
        if (run.disturbed) gathered.section.disturbed[key] = *run.disturbed;
    }
}

Names names_of(const std::vector<Run>& runs, const Program& program) {
    std::set<CallSite> sites;
    for (const Run& run : runs) {
        for (const RegionRecord& region : run.recording.regions) sites.insert(region.site);
    }
    return name_sections(sites, program.path);
}

Gathering gather(const std::vector<Run>& runs, const Names& names) {
    Gathering gathering;
    for (const Run& run : runs) add_run(run, names, gathering);
    return gathering;
}

// Adds messages, once per call of mpet-profile, about regions without source lines and how to obtain them.
void note_lines(const Names& names, const Program& program, std::vector<std::string>& messages) {
    std::set<std::string> without_lines, without_information;
    bool has_tool = false;
    for (const auto& [site, name] : names) {
        has_tool = has_tool || name.has_line;
        if (name.has_line || site.call == 0) continue;
        const std::string object = site.object.empty() ? program.path : site.object;
        without_lines.insert(name.name);
        if (!ElfFile(object).has_lines()) without_information.insert(object.substr(object.rfind('/') + 1));
    }
    if (without_lines.empty() || (without_information.empty() && has_tool)) return;
    std::string objects;
    for (const std::string& object : without_information) objects += (objects.empty() ? "" : ", ") + object;
    const std::string what = objects.empty() ? "install addr2line (binutils) or llvm-symbolizer, which read the program's debug information"
                                             : "compile with -g too, which does not change the code: no debug information in " + objects;
    messages.push_back("no source line is known for " + std::to_string(without_lines.size()) +
                       (without_lines.size() == 1 ? " region; " : " regions; ") + what);
}

std::uint64_t program_ns(const std::vector<Run>& runs, int threads) {
    std::vector<std::uint64_t> times;
    for (const Run& run : runs) {
        if (run.asked == threads && !run.profile) times.push_back(run.recording.program_ns);
    }
    return median(times);
}

std::string sizes_text(const Gathered& gathered) {
    std::string text;
    for (const auto& [asked, used] : gathered.other_sizes) {
        text += (text.empty() ? "" : ", ") + std::to_string(used) + " where " + std::to_string(asked) + (asked == 1 ? " was" : " were") + " asked for";
    }
    return text;
}

// Returns the run's time outside the kept sections: outside all regions, and in regions that are left out.
std::uint64_t rest_ns(const Run& run, const Names& names, const std::vector<Section>& kept) {
    std::set<std::string> kept_names;
    for (const Section& section : kept) kept_names.insert(section.name);
    const Recording& recording = run.recording;
    std::uint64_t time_ns = recording.program_ns - std::min(recording.program_ns, recording.covered_ns);
    for (const RegionRecord& region : recording.regions) {
        if (kept_names.count(names.at(region.site).name) == 0) time_ns += region.time_ns;
    }
    return std::max<std::uint64_t>(time_ns, 1);
}

Section rest_of(const std::vector<Run>& runs, const Names& names, const std::vector<Section>& kept) {
    Section rest;
    rest.name = serial_rest;
    for (const Run& run : runs) {
        if (run.profile) continue;
        const RowKey key{run.asked, false, run.repeat};
        rest.rows[key].time_ns = rest_ns(run, names, kept);
        if (run.disturbed) rest.disturbed[key] = *run.disturbed;
    }
    return rest;
}

// Returns whether threads of the program execute regions simultaneously for more than 1 % of the regions' time.
bool has_regions_at_the_same_time(const std::vector<Run>& runs) {
    return std::any_of(runs.begin(), runs.end(), [](const Run& run) {
        std::uint64_t sum_ns = 0;
        for (const RegionRecord& region : run.recording.regions) sum_ns += region.time_ns;
        return sum_ns > run.recording.covered_ns + sum_ns / 100;
    });
}

void note_program(const std::vector<Run>& runs, const Program& program, Results& results) {
    results.messages.push_back("on one thread " + percent(results.rest.median_ns(1, false), program_ns(runs, 1)) +
                               " of the program's time is outside these regions: the workload " + workload(program, results.rest));
    if (has_regions_at_the_same_time(runs)) {
        results.messages.push_back("several threads ran regions at the same time: the times of the workloads add up to more than the program's");
    }
}

// Returns why the section is not kept, or "" if it is kept.
std::string reason_to_leave_out(const Gathered& gathered) {
    const int first_n = gathered.section.first_n();
    const auto on_one = [](const auto& sizes) { return sizes.first == 1; };
    const bool has_other_on_one = std::any_of(gathered.other_sizes.begin(), gathered.other_sizes.end(), on_one);
    if ((first_n != 1 && has_other_on_one) || (first_n == 0 && !gathered.other_sizes.empty())) {
        return "fixes its own number of threads (" + sizes_text(gathered) + "), so it has no time on one thread and no curve. Remove num_threads and "
               "omp_set_num_threads, so that OMP_NUM_THREADS sets it";
    }
    if (first_n == 0) return "has no clean run";
    return "";
}

// Returns one message for all sections that take too little of the program's time.
std::string short_sections(const std::vector<std::string>& names, double least_share) {
    constexpr std::size_t most_named = 8;
    std::string text = "left out, each with less than " + percent(static_cast<std::uint64_t>(least_share * 1000 + 0.5), 1000) +
                       " of the program's time on one thread (--min-share 0 keeps all): ";
    for (std::size_t i = 0; i < names.size() && i < most_named; i++) text += (i > 0 ? ", " : "") + names[i];
    if (names.size() > most_named) text += ", and " + std::to_string(names.size() - most_named) + " more";
    return text;
}

// Adds messages about a section that is kept.
void note(const Gathered& gathered, const std::string& name, std::vector<std::string>& messages) {
    if (const int first_n = gathered.section.first_n(); first_n > 1) {
        messages.push_back(name + ": is not executed on fewer than " + threads_text(first_n) + ", so its times begin there; what the program does "
                           "instead on fewer is in the serial rest");
    }
    if (!gathered.other_sizes.empty()) {
        messages.push_back(name + ": used another number of threads (" + sizes_text(gathered) + "); these runs are ignored");
    }
    if (gathered.section.constructs & nested_parallel) {
        messages.push_back(name + ": has parallel regions inside; the time in them counts as useful work of the outer region");
    }
    std::set<int> sizes;
    for (const auto& [key, region] : gathered.section.rows) sizes.insert(key.threads);
    for (const int size : sizes) {
        const std::uint64_t clean = gathered.section.median_ns(size, false), profile = gathered.section.median_ns(size, true);
        if (clean > 0 && profile * 5 > clean * 6) {
            messages.push_back(name + ": on " + threads_text(size) + " the profile pass takes " + percent(profile, clean) +
                               " of the clean pass: its parts are inaccurate");
        }
    }
}

std::string description(const Section& section) {
    if (section.name == serial_rest) return "the program's time outside the measured parallel regions";
    return "parallel region at " + section.source.substr(section.source.rfind('/') + 1);
}

std::string row(const std::string& name, const RowKey& key, const RegionRecord& region, const std::string& disturbed) {
    std::string text = name + "," + std::to_string(key.threads) + "," + std::to_string(key.repeat) + "," +
                       (key.profile ? "profile" : "clean") + "," + std::to_string(region.time_ns);
    for (const std::uint64_t part : region.part_ns) text += "," + (key.profile ? std::to_string(part) : "");
    return text + ",," + disturbed + "\n";
}

// Returns the part that takes most of the threads' time on n threads, or redundancy if that loss is larger.
std::string largest_loss(const Section& section, int n) {
    constexpr const char* names[MPET_PARTS + 1] = {"", "lock", "imbalance", "creation", "distribution", "switching", "join", "redundancy"};
    double losses[MPET_PARTS + 1] = {}, whole = 0;
    for (const auto& [key, region] : section.rows) {
        if (!key.profile || key.threads != n) continue;
        whole += static_cast<double>(region.time_ns) * n;
        for (int part = 0; part < MPET_PARTS; part++) losses[part] += static_cast<double>(region.part_ns[static_cast<std::size_t>(part)]);
    }
    if (whole == 0) return "-";
    for (double& loss : losses) loss /= whole;
    const double t1 = static_cast<double>(section.median_ns(1, false)), tn = static_cast<double>(section.median_ns(n, false));
    if (t1 > 0 && tn > 0) losses[MPET_PARTS] = losses[MPET_USE] - t1 / (n * tn);
    losses[MPET_USE] = 0;
    const auto largest = std::max_element(std::begin(losses), std::end(losses));
    if (*largest < 0.0005) return "-";
    return std::string(names[largest - std::begin(losses)]) + " " + percent(static_cast<std::uint64_t>(*largest * 1000 + 0.5), 1000);
}

std::string summary_line(const Section& section, std::uint64_t program_ns) {
    int best = 0, last = 0;
    for (const auto& [key, region] : section.rows) {
        if (key.profile) continue;
        last = key.threads;
        if (best == 0 || section.median_ns(last, false) < section.median_ns(best, false)) best = last;
    }
    const std::uint64_t t1_ns = section.median_ns(1, false);
    std::string share = "-", time = "from n = " + std::to_string(section.first_n()), speedup = "-";
    if (t1_ns > 0) {
        char text[32];
        share = percent(t1_ns, program_ns);
        std::snprintf(text, sizeof text, "%.4g s", static_cast<double>(t1_ns) / 1e9);
        time = text;
        std::snprintf(text, sizeof text, "%.2f", static_cast<double>(t1_ns) / static_cast<double>(section.median_ns(best, false)));
        speedup = text;
    }
    char line[96];
    std::snprintf(line, sizeof line, "%8s %12s %7d %8s  %-29s  ", share.c_str(), time.c_str(), best, speedup.c_str(), largest_loss(section, last).c_str());
    return line + section.name;
}

}  // namespace

std::uint64_t Section::median_ns(int threads, bool profile) const {
    std::vector<std::uint64_t> times;
    for (const auto& [key, region] : rows) {
        if (key.threads == threads && key.profile == profile) times.push_back(region.time_ns);
    }
    return median(times);
}

int Section::first_n() const {
    for (const auto& [key, region] : rows) {
        if (!key.profile) return key.threads;
    }
    return 0;
}

const char* Section::strategy() const {
    if (name == serial_rest) return "sequential";
    if (constructs & nested_parallel) return "nested";
    if (constructs & created_tasks) return "task_graph";
    if (constructs & waited_for_iterations) return "wavefront";
    if (constructs & fetched_chunks) return "dynamic_loop";
    if (constructs & took_sections) return "unknown";
    return "domain_decomposition";
}

Results results_of(const std::vector<Run>& runs, const Program& program, double least_share) {
    Results results;
    std::vector<std::string> left_out;
    const Names names = names_of(runs, program);
    for (const auto& [name, gathered] : gather(runs, names)) {
        const std::string full_name = workload(program, gathered.section);
        const std::string reason = reason_to_leave_out(gathered);
        const int first_n = gathered.section.first_n();
        const double least_ns = least_share * static_cast<double>(program_ns(runs, first_n));
        if (!reason.empty()) {
            results.messages.push_back("left out: " + full_name + " " + reason);
        } else if (static_cast<double>(gathered.section.median_ns(first_n, false)) < least_ns) {
            left_out.push_back(full_name);
        } else {
            note(gathered, full_name, results.messages);
            results.sections.push_back(gathered.section);
        }
    }
    if (!left_out.empty()) results.messages.push_back(short_sections(left_out, least_share));
    if (results.sections.empty()) return results;
    results.program_ns = program_ns(runs, 1);
    note_lines(names, program, results.messages);
    results.rest = rest_of(runs, names, results.sections);
    note_program(runs, program, results);
    return results;
}

std::vector<Section> Results::workloads() const {
    std::vector<Section> all = sections;
    all.push_back(rest);
    return all;
}

// Returns at most ten lines: a header, the longest regions, the number of other regions, and the serial rest.
std::vector<std::string> summary(const Results& results) {
    constexpr std::size_t most_regions = 7;
    std::vector<const Section*> longest;
    for (const Section& section : results.sections) longest.push_back(&section);
    std::stable_sort(longest.begin(), longest.end(), [](const Section* a, const Section* b) {
        return a->median_ns(a->first_n(), false) > b->median_ns(b->first_n(), false);
    });
    const std::size_t shown = std::min(longest.size(), most_regions);
    std::vector<std::string> lines{"   share         t(1)  best n  speedup  largest loss, on most threads  region"};
    for (std::size_t i = 0; i < shown; i++) lines.push_back(summary_line(*longest[i], results.program_ns));
    if (longest.size() > shown) lines.push_back("   and " + std::to_string(longest.size() - shown) + " regions more");
    lines.push_back(summary_line(results.rest, results.program_ns));
    return lines;
}

std::string runs_csv(const Results& results, const Program& program) {
    std::string text =
        "workload,n,repeat,pass,time_ns,use_ns,lock_ns,imbalance_ns,creation_ns,distribution_ns,switching_ns,join_ns,output_checksum,disturbed\n";
    for (const Section& section : results.workloads()) {
        for (const auto& [key, region] : section.rows) {
            const auto known = section.disturbed.find(key);
            const std::string disturbed = known == section.disturbed.end() ? "" : std::to_string(known->second);
            text += row(workload(program, section), key, region, disturbed);
        }
    }
    return text;
}

std::string workloads_json(const Results& results, const Program& program, const std::string& input) {
    std::vector<std::string> workloads;
    for (const Section& section : results.workloads()) {
        json::Object fields(2);
        fields.add("name", json::quoted(workload(program, section)))
            .add("application", json::quoted(program.name))
            .add("section", json::quoted(section.name))
            .add("strategy", json::quoted(section.strategy()))
            .add("runtime", json::quoted(program.runtime))
            .add("input", json::quoted(input))
            .add("version", json::quoted("1"))
            .add("bound", "null")
            .add("description", json::quoted(description(section)));
        if (section.first_n() > 1) fields.add("first_n", std::to_string(section.first_n()));
        workloads.push_back(fields.str());
    }
    return json::array(workloads, ",\n ") + "\n";
}

}  // namespace mpet::profiler
