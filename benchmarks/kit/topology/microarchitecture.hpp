// What the cores are called whose numbers the processor gives: only where public documents name them.
#pragma once

#include <optional>
#include <string>

#include "topology.hpp"

namespace mpet {

// The part of /proc/cpuinfo that describes one processor.
std::string cpuinfo_block(const std::string& cpuinfo, int id);

const char* arm_vendor(const std::string& block);  // nullptr = unknown

// "Cortex-A72" or, with two kinds of cores, "Cortex-A73 + Cortex-A53", in placement order; those that are known.
std::optional<std::string> arm_core_names(const std::string& cpuinfo, const Topology& topology);

// Nothing where it is unknown, or where what the processor can do contradicts the model that a hypervisor gives it.
std::optional<std::string> microarchitecture(const std::string& root, const std::string& cpuinfo,
                                             const Topology& topology);

}  // namespace mpet
