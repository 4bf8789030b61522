// The machine as available to a program: processors, placement order, breakpoints, caches, clock, memory.
//
// Everything is read from /sys and /proc below a root folder, so that recorded machines can be used in tests.
// Processors excluded by a cpuset, an affinity mask or a CPU quota are ignored: all numbers are those of the usable
// processors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpet {

// One hardware thread.
struct Processor {
    int id = 0;
    int package = 0;
    int node = 0;
    int core = 0;               // the lowest processor number among the threads of the core
    int thread_rank = 0;        // 0 for the first usable thread of its core
    std::int64_t capacity = 0;  // relative speed; differs between the cores of big.LITTLE
};

struct Topology {
    std::vector<Processor> processors;  // in placement order: thread i of a team runs on processors[i]
    int sockets = 1;
    int numa_nodes = 1;
    int physical_cores = 1;
    int threads = 1;
    int n_max = 1;                       // at most `threads`; less if a CPU quota limits it
    std::optional<std::int64_t> n_nu;    // with more threads, a second NUMA node is used
    std::optional<std::int64_t> n_ht;    // with more threads, cores are shared
    std::vector<int> placement() const;  // the first n_max processor numbers
};

struct Hardware {
    std::string cpu_model;
    std::optional<std::string> vendor, microarchitecture, device_class;
    std::string architecture, kernel;
    std::optional<std::int64_t> base_mhz, max_mhz, l1d_bytes, l2_bytes, l3_bytes, memory_bytes;
    std::optional<bool> virtualised;
};

// Reads a machine. `root` is "" for this machine, or the folder of a recorded machine (MPET_SYSFS).
Topology read_topology(const std::string& root);
Hardware read_hardware(const std::string& root, const Topology& topology);

// Returns the root from MPET_SYSFS, or "" if it is not set.
std::string root_from_environment();

// Returns the SHA-256 of processor, topology, memory in GiB and virtualisation. It does not
// depend on the machine's name.
std::string hardware_fingerprint(const Topology& topology, const Hardware& hardware);

// Returns true if this program runs on an emulated processor (qemu-user), or if MPET_ORIGIN is "emulated".
bool is_emulated();

// Returns the thread counts to measure: 1..8, then a geometric sequence, all counts around the breakpoints, and n_max.
// With `quick`, there are fewer.
std::vector<int> thread_counts(const Topology& topology, bool quick);

struct Build {
    std::string compiler, flags;
};

// Returns the machine as platform.json of formats.md.
std::string platform_json(const std::string& name, const Topology& topology, const Hardware& hardware,
                          const Build& build);

}  // namespace mpet
