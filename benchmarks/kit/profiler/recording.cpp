#include "recording.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace mpet::profiler {

namespace {

RegionRecord region_of(std::istringstream& fields) {
    RegionRecord region;
    fields >> std::hex >> region.site.call >> region.site.body >> std::dec >> region.threads >> region.executions >> region.time_ns;
    for (std::uint64_t& part : region.part_ns) fields >> part;
    fields >> region.constructs;
    fields.get();  // the tab before the path, which may contain anything except a newline
    std::getline(fields, region.site.object);
    return region;
}

}  // namespace

// Adds another record. If the teams differ in size, the absent threads of the smaller team waited for work.
void RegionRecord::add(const RegionRecord& other) {
    const std::int64_t largest = std::max(threads, other.threads);
    part_ns[MPET_DISTRIBUTION] += static_cast<std::uint64_t>(largest - threads) * time_ns +
                                  static_cast<std::uint64_t>(largest - other.threads) * other.time_ns;
    threads = largest;
    executions += other.executions;
    time_ns += other.time_ns;
    constructs |= other.constructs;
    for (std::size_t part = 0; part < part_ns.size(); part++) part_ns[part] += other.part_ns[part];
}

std::optional<Recording> read_recording(const std::string& path) {
    std::ifstream file(path);
    Recording recording;
    for (std::string line; std::getline(file, line);) {
        std::istringstream fields(line);
        std::string kind;
        fields >> kind;
        if (kind == "program") fields >> kind >> recording.clock >> recording.program_ns >> recording.covered_ns;
        if (kind == "missing") fields >> recording.missing_event;
        if (kind == "region") recording.regions.push_back(region_of(fields));
        if (kind == "unstarted") recording.started = false;
        if (kind == "library") recording.blas_libraries.push_back(line.substr(line.find('\t') + 1));
        if (kind == "end") return recording;
    }
    return std::nullopt;
}

}  // namespace mpet::profiler
