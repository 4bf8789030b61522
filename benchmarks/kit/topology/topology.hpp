// The machine as a program may use it: processors, their order of use, breakpoints, caches, clock, memory.
//
// Everything is read from /sys and /proc below a root folder, so that recorded machines can be tested. What a cpuset,
// an affinity mask or a CPU quota takes away does not exist: the numbers are those of the processors in reach.
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
    int core = 0;               // the lowest processor number among the core's threads
    int thread_rank = 0;        // 0 for the first usable thread of its core
    std::int64_t capacity = 0;  // relative speed; differs between the cores of big.LITTLE
};

struct Topology {
    std::vector<Processor> processors;  // in placement order: thread i of a team runs on processors[i]
    int sockets = 1;
    int numa_nodes = 1;
    int physical_cores = 1;
    int threads = 1;
    int n_max = 1;                       // at most `threads`; below it where a CPU quota allows less
    std::optional<std::int64_t> n_nu;    // beyond it threads run on a second NUMA node
    std::optional<std::int64_t> n_ht;    // beyond it threads share a core
    std::vector<int> placement() const;  // the first n_max processor numbers
};

struct Hardware {
    std::string cpu_model;
    std::optional<std::string> vendor, microarchitecture, device_class;
    std::string architecture, kernel;
    std::optional<std::int64_t> base_mhz, max_mhz, l1d_bytes, l2_bytes, l3_bytes, memory_bytes;
    std::optional<bool> virtualised;
};

// `root` is "" for this machine, or the folder of a recorded one (MPET_SYSFS).
Topology read_topology(const std::string& root);
Hardware read_hardware(const std::string& root, const Topology& topology);

// The root that MPET_SYSFS names, "" without it.
std::string root_from_environment();

// sha256 of processor, topology, memory in GiB and virtualisation: the same for one machine whatever it is called.
std::string hardware_fingerprint(const Topology& topology, const Hardware& hardware);

// True where another processor is emulated for this program (qemu-user), or MPET_ORIGIN=emulated says so.
bool is_emulated();

// Thread counts to measure: 1..8, then geometric, all around the breakpoints, and n_max. Fewer when quick.
std::vector<int> thread_counts(const Topology& topology, bool quick);

struct Build {
    std::string compiler, flags;
};

// platform.json of formats.md.
std::string platform_json(const std::string& name, const Topology& topology, const Hardware& hardware,
                          const Build& build);

}  // namespace mpet
