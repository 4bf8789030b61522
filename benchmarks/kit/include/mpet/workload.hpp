// The interface of the files in workloads/: each provides one application, and each of its parallel sections is a
// workload.
//
// To add an application, write workloads/<name>.cpp with a class derived from Application and a Registration. The file
// must begin with the three comment lines `computes:`, `stresses:` and `here because:`, which `make list` prints. No
// other file needs a change.
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

enum class Scale { tiny, quick, full };  // for tests, for trying out a workload, for sweeps

// Returns the value for the scale. The values are in the order of the enumeration.
template <class Value>
Value scaled(Scale scale, Value tiny, Value quick, Value full) {
    return scale == Scale::tiny ? tiny : scale == Scale::quick ? quick : full;
}

// The input sizes of an application. The work is roughly a polynomial of the size.
struct Sizes {
    const char* unit = nullptr;             // unit of the size; nullptr if the application has only one size
    std::array<std::int64_t, 3> nominal{};  // by scale, in the order of the enumeration
    std::vector<std::int64_t> tiny{};       // further sizes that a sweep over sizes runs at scale tiny
    // Further sizes at the other scales. Only those below the nominal size are run.
    std::vector<std::int64_t> swept{};

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
    const char* name;      // nullptr if the application has only one section
    const char* strategy;  // as in formats.md
    const char* bound;     // memory, communication, computation, or nullptr
    const char* description;
};

// The constructor of an application builds its input, unmeasured. run() may be called any number of times, and must
// produce the same result each time, for every team size.
class Application {
public:
    virtual ~Application() = default;

    virtual std::string input() const = 0;  // includes the size of the input; another input is another workload
    virtual void run(Team& team) = 0;
    virtual std::uint64_t checksum(std::size_t section) const = 0;  // checksum of the section's output

    std::vector<Section> sections;
};

struct ApplicationInfo {
    const char* name;
    const char* version;  // increase it when the algorithm or an input changes
    std::vector<SectionInfo> sections;
    // Applications with only one size ignore `size`.
    std::unique_ptr<Application> (*make)(Team& team, Scale scale, std::int64_t size);
    Sizes sizes = {};

    std::string workload(const SectionInfo& section) const {
        return section.name == nullptr ? name : std::string(name) + "/" + section.name;
    }
};

inline std::vector<ApplicationInfo>& applications() {
    static std::vector<ApplicationInfo> all;
    return all;
}

// Creates an application. Applications with several sizes take the size as the third constructor argument.
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

// Creates an application with its sections. Size 0 stands for the nominal size.
inline std::unique_ptr<Application> make(const ApplicationInfo& info, Team& team, Scale scale, std::int64_t size = 0) {
    std::unique_ptr<Application> application =
        info.make(team, scale, size > 0 ? size : info.sizes.nominal_at(scale));
    for (const SectionInfo& section : info.sections) application->sections.emplace_back(info.workload(section));
    return application;
}

}  // namespace mpet
