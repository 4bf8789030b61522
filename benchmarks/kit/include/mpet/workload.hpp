// What a file in workloads/ provides: one application, whose parallel sections are one workload each.
//
// To add one: write workloads/<name>.cpp with a class derived from Application and a Registration; begin the file with
// the three comment lines `computes:`, `stresses:` and `here because:`, which `make list` prints. Nothing else to
// touch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "checksum.hpp"
#include "mpal.hpp"
#include "random.hpp"

namespace mpet {

enum class Scale { tiny, quick, full };  // for tests, to try a workload, for sweeps

// The value for the scale, in the order of the enumeration.
template <class Value>
Value scaled(Scale scale, Value tiny, Value quick, Value full) {
    return scale == Scale::tiny ? tiny : scale == Scale::quick ? quick : full;
}

// Of an application whose input can have several sizes. A size is a number of which the work is roughly a polynomial.
struct Sizes {
    const char* unit = nullptr;             // what it counts; nullptr: the application has no sizes
    std::array<std::int64_t, 3> nominal{};  // by scale, in the order of the enumeration
    std::vector<std::int64_t> tiny{};       // what a sweep over sizes runs beside the nominal one, at scale tiny
    std::vector<std::int64_t> swept{};      // and at the others, as far as they are below the nominal one

    std::int64_t nominal_at(Scale scale) const { return nominal[static_cast<std::size_t>(scale)]; }

    std::vector<std::int64_t> others_at(Scale scale) const {
        std::vector<std::int64_t> sizes;
        for (const std::int64_t size : scale == Scale::tiny ? tiny : swept) {
            if (size < nominal_at(scale)) sizes.push_back(size);
        }
        return sizes;
    }
};

struct SectionInfo {
    const char* name;      // nullptr where the application has one section only
    const char* strategy;  // as in formats.md
    const char* bound;     // memory, communication, computation, or nullptr
    const char* description;
};

// An application builds its input in its constructor, unmeasured. run() may be called any number of times and has to
// give the same result each time, for every team size.
class Application {
public:
    virtual ~Application() = default;

    virtual std::string input() const = 0;  // names the input's size: another input is another workload
    virtual void run(Team& team) = 0;
    virtual std::uint64_t checksum(std::size_t section) const = 0;  // of what that section has put out

    std::vector<Section> sections;
};

struct ApplicationInfo {
    const char* name;
    const char* version;  // raise it when the algorithm or an input changes
    std::vector<SectionInfo> sections;
    std::unique_ptr<Application> (*make)(Team& team, Scale scale, std::int64_t size);  // no sizes: size is not read
    Sizes sizes = {};

    std::string workload(const SectionInfo& section) const {
        return section.name == nullptr ? name : std::string(name) + "/" + section.name;
    }
};

inline std::vector<ApplicationInfo>& applications() {
    static std::vector<ApplicationInfo> all;
    return all;
}

// An application that has sizes takes one as its constructor's third argument.
template <class Made>
std::unique_ptr<Application> make_application(Team& team, Scale scale, std::int64_t size) {
    if constexpr (std::is_constructible_v<Made, Team&, Scale, std::int64_t>) {
        return std::make_unique<Made>(team, scale, size);
    } else {
        return std::make_unique<Made>(team, scale);
    }
}

struct Registration {
    explicit Registration(ApplicationInfo info) { applications().push_back(std::move(info)); }
};

// Size 0 is the nominal one.
inline std::unique_ptr<Application> make(const ApplicationInfo& info, Team& team, Scale scale, std::int64_t size = 0) {
    std::unique_ptr<Application> application =
        info.make(team, scale, size > 0 ? size : info.sizes.nominal_at(scale));
    for (const SectionInfo& section : info.sections) application->sections.emplace_back(info.workload(section));
    return application;
}

}  // namespace mpet
