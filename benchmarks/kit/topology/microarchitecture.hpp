// Determines the names of the cores from the processor's ID numbers, as far as public documents contain these names.
#pragma once

#include <optional>
#include <string>

#include "topology.hpp"

namespace mpet {

// Returns the part of /proc/cpuinfo that describes one processor.
std::string cpuinfo_block(const std::string& cpuinfo, int id);

const char* arm_vendor(const std::string& block);  // nullptr = unknown

// Returns "Cortex-A72" or, with two kinds of cores, "Cortex-A73 + Cortex-A53", in placement order. Unknown cores are
// left out.
std::optional<std::string> arm_core_names(const std::string& cpuinfo, const Topology& topology);

// Returns nothing if the microarchitecture is unknown, or if the processor's features contradict the model that a
// hypervisor reports.
std::optional<std::string> microarchitecture(const std::string& root, const std::string& cpuinfo,
                                             const Topology& topology);

}  // namespace mpet
