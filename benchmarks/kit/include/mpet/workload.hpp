// What a file in workloads/ provides: one application, whose parallel sections are one workload each.
//
// To add one: write workloads/<name>.cpp with a class derived from Application and a Registration; begin the file with
// the three comment lines `computes:`, `stresses:` and `here because:`, which `make list` prints. Nothing else to
// touch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checksum.hpp"
#include "mpal.hpp"
#include "random.hpp"

namespace mpet {

enum class Scale { tiny, quick, full };  // for tests, for `make quick`, for the sweep

// The value for the scale, in the order of the enumeration.
template <class Value>
Value scaled(Scale scale, Value tiny, Value quick, Value full) {
    return scale == Scale::tiny ? tiny : scale == Scale::quick ? quick : full;
}

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
    std::unique_ptr<Application> (*make)(Team& team, Scale scale);

    std::string workload(const SectionInfo& section) const {
        return section.name == nullptr ? name : std::string(name) + "/" + section.name;
    }
};

inline std::vector<ApplicationInfo>& applications() {
    static std::vector<ApplicationInfo> all;
    return all;
}

template <class Made>
std::unique_ptr<Application> make_application(Team& team, Scale scale) {
    return std::make_unique<Made>(team, scale);
}

struct Registration {
    explicit Registration(ApplicationInfo info) { applications().push_back(std::move(info)); }
};

inline std::unique_ptr<Application> make(const ApplicationInfo& info, Team& team, Scale scale) {
    std::unique_ptr<Application> application = info.make(team, scale);
    for (const SectionInfo& section : info.sections) application->sections.emplace_back(info.workload(section));
    return application;
}

}  // namespace mpet
