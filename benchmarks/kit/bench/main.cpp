// mpet-bench-clean and mpet-bench-profile run one application at one thread count and print the measurements, one
// record per line with tab-separated fields. Both are built from this source, with MPET_PROBES=0 and 1.
//
//     input    workload text
//     run      workload repeat time_ns use lock imbalance creation distribution switching join checksum
//     tasks    workload repeat tasks waits           before the run, if a profiled section has spawned tasks
//     load     repeat waited_permille stolen_permille involuntary_switches kept|kept-disturbed|repeated
//     counter  workload repeat counter value status
//
//     source   the interface through which the counters were read
//
// The parts of a clean run are empty, and so is the value of a counter that could not be read.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../include/mpet/workload.hpp"
#include "load.hpp"
#include "repeats.hpp"

namespace {

using mpet::ApplicationInfo;

struct Options {
    std::string application;
    mpet::Scale scale = mpet::Scale::full;
    std::int64_t size = 0;  // 0 = the nominal size
    std::vector<int> processors;
    int threads = 1;
    int repeats = 3;
    int attempts = 3;  // limits the total number of repeats to `attempts` times `repeats`
    bool counters = false, list = false, while_narrowing = false;
};

constexpr const char* usage =
    "mpet-bench-clean|profile --application NAME [--n N] [--repeats K] [--attempts A] [--while-narrowing] "
    "[--scale tiny|quick|full] [--size X] [--cpus 0,2,1,3] [--counters]\n"
    "mpet-bench-clean --list [--scale tiny|quick|full]     workload, application, section, strategy, bound, version, "
    "description, unit of sizes, sizes (the nominal one first)\n";

struct Repeat {
    std::vector<mpet::Section> sections;
    std::vector<std::uint64_t> checksums;
    mpet::Load load;
};

std::vector<int> numbers(const std::string& text) {
    std::vector<int> values;
    for (std::size_t at = 0; at < text.size();
         at = text.find(',', at) == std::string::npos ? text.size() : text.find(',', at) + 1) {
        values.push_back(std::atoi(text.c_str() + at));
    }
    return values;
}

mpet::Scale scale_called(const std::string& name) {
    if (name == "tiny") return mpet::Scale::tiny;
    if (name == "quick") return mpet::Scale::quick;
    if (name == "full") return mpet::Scale::full;
    throw std::invalid_argument("--scale must be tiny, quick or full, not " + name);
}

int positive(const std::string& option, const std::string& text) {
    const int value = std::atoi(text.c_str());
    if (value < 1) throw std::invalid_argument(option + " must be 1 or more, not " + text);
    return value;
}

Options parse(int count, char** arguments) {
    Options options;
    for (int i = 1; i < count; i++) {
        const std::string option = arguments[i];
        if (option == "--counters" || option == "--list") {
            (option == "--list" ? options.list : options.counters) = true;
            continue;
        }
        if (option == "--while-narrowing") {
            options.while_narrowing = true;
            continue;
        }
        if (i + 1 == count) throw std::invalid_argument(option + " needs a value");
        const std::string value = arguments[++i];
        if (option == "--application") options.application = value;
        else if (option == "--n") options.threads = positive(option, value);
        else if (option == "--repeats") options.repeats = positive(option, value);
        else if (option == "--attempts") options.attempts = positive(option, value);
        else if (option == "--size") options.size = positive(option, value);
        else if (option == "--scale") options.scale = scale_called(value);
        else if (option == "--cpus") options.processors = numbers(value);
        else throw std::invalid_argument("unknown option " + option);
    }
    return options;
}

const ApplicationInfo& application_called(const std::string& name) {
    for (const ApplicationInfo& info : mpet::applications()) {
        if (info.name == name) return info;
    }
    throw std::invalid_argument("unknown application '" + name + "'");
}

std::string sizes_text(const mpet::Sizes& sizes, mpet::Scale scale) {
    if (sizes.unit == nullptr) return "";
    std::string text = std::to_string(sizes.nominal_at(scale));
    for (const std::int64_t size : sizes.others_at(scale)) text += "," + std::to_string(size);
    return text;
}

void list(mpet::Scale scale) {
    auto& all = mpet::applications();
    std::sort(all.begin(), all.end(),
              [](const ApplicationInfo& a, const ApplicationInfo& b) { return std::strcmp(a.name, b.name) < 0; });
    for (const ApplicationInfo& info : all) {
        for (const mpet::SectionInfo& section : info.sections) {
            std::printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", info.workload(section).c_str(), info.name,
                        section.name == nullptr ? "" : section.name, section.strategy,
                        section.bound == nullptr ? "" : section.bound, info.version, section.description,
                        info.sizes.unit == nullptr ? "" : info.sizes.unit, sizes_text(info.sizes, scale).c_str());
        }
    }
}

Repeat execute(mpet::Application& application, mpet::Team& team) {
    for (mpet::Section& section : application.sections) section.clear();
    mpet::LoadMeter meter(team);
    application.run(team);
    Repeat repeat{application.sections, {}, meter.read(application.sections)};
    for (std::size_t i = 0; i < application.sections.size(); i++) repeat.checksums.push_back(application.checksum(i));
    return repeat;
}

void require_same_output(const Repeat& first, const Repeat& repeat) {
    if (first.checksums != repeat.checksums) throw std::runtime_error("two repeats have different results");
}

// Repeats until `repeats` repeats were undisturbed by other programs, at most `attempts` times as many in total. With
// `while_narrowing`, stops as soon as another repeat does not reduce the spread. best() then selects the least
// disturbed.
std::vector<Repeat> measure(mpet::Application& application, mpet::Team& team, const Options& options) {
    const Repeat warm_up = execute(application, team);
    std::vector<Repeat> repeats;
    std::vector<std::int64_t> lost_permille;
    const std::size_t wanted = options.repeats, most = wanted * options.attempts;
    std::size_t undisturbed = 0;
    while (undisturbed < wanted && repeats.size() < most &&
           (!options.while_narrowing || mpet::narrows(lost_permille, wanted))) {
        repeats.push_back(execute(application, team));
        require_same_output(warm_up, repeats.back());
        const mpet::Load& load = repeats.back().load;
        lost_permille.push_back(load.waited_permille() + load.stolen_permille);
        undisturbed += load.disturbed() ? 0 : 1;
    }
    return repeats;
}

std::vector<std::size_t> best(const std::vector<Repeat>& repeats, int wanted) {
    std::vector<std::size_t> order(repeats.size());
    for (std::size_t i = 0; i < order.size(); i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const mpet::Load &x = repeats[a].load, &y = repeats[b].load;
        return x.disturbed() != y.disturbed() ? y.disturbed()
                                              : x.disturbed() && x.waited_permille() < y.waited_permille();
    });
    order.resize(std::min(order.size(), static_cast<std::size_t>(wanted)));
    return order;
}

void print_run(const mpet::Section& section, int number, std::uint64_t checksum) {
    if (section.counts.tasks > 0)
        std::printf("tasks\t%s\t%d\t%" PRIu64 "\t%" PRIu64 "\n", section.name.c_str(), number, section.counts.tasks,
                    section.counts.waits);
    std::printf("run\t%s\t%d\t%" PRIu64, section.name.c_str(), number, section.time_ns);
    for (const std::uint64_t part : section.parts) {
        if (mpet::probing) std::printf("\t%" PRIu64, part);
        else std::printf("\t");
    }
    std::printf("\t%016" PRIx64 "\n", checksum);
}

void print_load(const mpet::Load& load, int number, const char* fate) {
    std::printf("load\t%d\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n", number, load.waited_permille(),
                load.stolen_permille, load.involuntary_switches, fate);
}

void print_repeats(const std::vector<Repeat>& repeats, int wanted) {
    const std::vector<std::size_t> kept = best(repeats, wanted);
    int number = 0;
    for (std::size_t i = 0; i < repeats.size(); i++) {
        const Repeat& repeat = repeats[i];
        const bool keep = std::find(kept.begin(), kept.end(), i) != kept.end();
        if (keep) number++;
        print_load(repeat.load, keep ? number : 0,
                   !keep                     ? "repeated"
                   : repeat.load.disturbed() ? "kept-disturbed"
                                             : "kept");
        if (!keep) continue;
        for (std::size_t s = 0; s < repeat.sections.size(); s++)
            print_run(repeat.sections[s], number, repeat.checksums[s]);
    }
}

bool has_value(const mpet::CounterReading& reading) {
    return reading.status == mpet::CounterStatus::ok || reading.status == mpet::CounterStatus::multiplexed;
}

// Runs one repeat per group of counters, because all groups together exceed what a processor can count at a time.
void count(mpet::Application& application, mpet::Team& team, int repeats) {
    int number = 0;
    for (int repeat = 0; repeat < repeats; repeat++) {
        for (const auto& group : mpet::counter_groups()) {
            number++;
            team.count(group);
            const Repeat counted = execute(application, team);
            for (const mpet::Section& section : counted.sections) {
                for (std::size_t i = 0; i < section.counters.size(); i++) {
                    const mpet::CounterReading& reading = section.counters[i];
                    const std::string value = has_value(reading) ? std::to_string(reading.value) : "";
                    std::printf("counter\t%s\t%d\t%s\t%s\t%s\n", section.name.c_str(), number, group[i].name,
                                value.c_str(), name_of(reading.status));
                }
            }
        }
    }
}

void run(const Options& options) {
    const ApplicationInfo& info = application_called(options.application);
    if (options.size > 0 && info.sizes.unit == nullptr)
        throw std::invalid_argument(options.application + " has only one size");
    mpet::Team team(options.threads, options.processors);
    const std::unique_ptr<mpet::Application> application = mpet::make(info, team, options.scale, options.size);
    for (const mpet::Section& section : application->sections)
        std::printf("input\t%s\t%s\n", section.name.c_str(), application->input().c_str());
    if (options.counters) std::printf("source\t%s\n", mpet::counter_source_name());
    if (options.counters) count(*application, team, options.repeats);
    else print_repeats(measure(*application, team, options), options.repeats);
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
    try {
        if (count_of_arguments < 2) throw std::invalid_argument("expected --application NAME or --list");
        const Options options = parse(count_of_arguments, arguments);
        if (options.list) list(options.scale);
        else run(options);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s: %s\n%s", arguments[0], error.what(), usage);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
        return 1;
    }
    return 0;
}
