#include "topology.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "files.hpp"

namespace mpet {
namespace {

const std::string cpu_folder = "/sys/devices/system/cpu";

// Returns the processors on which this process may run.
std::set<int> allowed_processors(const std::string& root) {
    const std::string status = read_file(root + "/proc/self/status").value_or("");
    const std::vector<int> allowed = number_list(field(status, "Cpus_allowed_list").value_or(""));
    return {allowed.begin(), allowed.end()};
}

std::set<int> online_processors(const std::string& root) {
    const std::optional<std::string> online = read_file(root + cpu_folder + "/online");
    const std::vector<int> numbers = online ? number_list(*online) : numbered_entries(root + cpu_folder, "cpu");
    return {numbers.begin(), numbers.end()};
}

std::set<int> usable_processors(const std::string& root) {
    const std::set<int> online = online_processors(root), allowed = allowed_processors(root);
    std::set<int> usable;
    std::set_intersection(online.begin(), online.end(), allowed.begin(), allowed.end(),
                          std::inserter(usable, usable.end()));
    if (!usable.empty()) return usable;
    if (!allowed.empty()) return allowed;
    if (!online.empty()) return online;
    for (int id = 0; id < std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)); id++) usable.insert(id);
    return usable;
}

std::map<int, int> node_of_processor(const std::string& root) {
    std::map<int, int> node_of;
    const std::string folder = root + "/sys/devices/system/node";
    for (const int node : numbered_entries(folder, "node")) {
        const std::string list = read_file(folder + "/node" + std::to_string(node) + "/cpulist").value_or("");
        for (const int id : number_list(list)) node_of[id] = node;
    }
    return node_of;
}

std::vector<int> siblings_of(const std::string& folder, int id) {
    for (const char* name : {"/topology/core_cpus_list", "/topology/thread_siblings_list"}) {
        const std::optional<std::string> list = read_file(folder + name);
        if (list && !list->empty()) return number_list(*list);
    }
    return {id};
}

Processor read_processor(const std::string& root, int id, const std::set<int>& usable,
                         const std::map<int, int>& node_of) {
    const std::string folder = root + cpu_folder + "/cpu" + std::to_string(id);
    Processor processor;
    processor.id = id;
    processor.package =
        std::max(0, static_cast<int>(read_number(folder + "/topology/physical_package_id").value_or(0)));
    const auto node = node_of.find(id);
    processor.node = node == node_of.end() ? 0 : node->second;
    const std::vector<int> siblings = siblings_of(folder, id);
    processor.core = *std::min_element(siblings.begin(), siblings.end());
    for (const int sibling : siblings) processor.thread_rank += sibling < id && usable.count(sibling) > 0 ? 1 : 0;
    const std::optional<std::int64_t> capacity = read_number(folder + "/cpu_capacity");
    processor.capacity = capacity ? *capacity : read_number(folder + "/cpufreq/cpuinfo_max_freq").value_or(0);
    return processor;
}

// The placement order: first one thread per core, node by node, with fast cores before slow ones, then the second
// threads of the cores, and so on.
bool comes_before(const Processor& a, const Processor& b) {
    return std::make_tuple(a.thread_rank, a.node, -a.capacity, a.id) <
           std::make_tuple(b.thread_rank, b.node, -b.capacity, b.id);
}

template <class Key>
int distinct(const std::vector<Processor>& processors, Key key) {
    std::set<int> seen;
    for (const Processor& processor : processors) seen.insert(key(processor));
    return static_cast<int>(seen.size());
}

// Returns the number of whole processors that a quota of microseconds per period allows. No value means no limit.
std::optional<std::int64_t> processors_in_quota(std::int64_t quota, std::int64_t period) {
    if (quota <= 0 || period <= 0) return std::nullopt;
    return std::max<std::int64_t>(1, quota / period);
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    return !a ? b : !b ? a : std::min(*a, *b);
}

std::optional<std::int64_t> quota_of_folder(const std::string& folder) {
    const std::optional<std::string> v2 = read_file(folder + "/cpu.max");
    if (v2) {  // "max 100000" or "200000 100000"
        const std::size_t space = v2->find(' ');
        const std::int64_t period = space == std::string::npos ? 100000 : std::atoll(v2->c_str() + space);
        return processors_in_quota(std::atoll(v2->c_str()), period);
    }
    return processors_in_quota(read_number(folder + "/cpu.cfs_quota_us").value_or(-1),
                               read_number(folder + "/cpu.cfs_period_us").value_or(0));
}

// A group's limit applies to all groups below it, so the smallest limit on the path counts. In a container the path
// from /proc may not exist. The loop then ends at the mount, which is the container's own group.
std::optional<std::int64_t> quota_on_path(const std::string& mount, std::string path) {
    std::optional<std::int64_t> least = quota_of_folder(mount);
    while (path.size() > 1) {
        least = smaller(least, quota_of_folder(mount + path));
        path = path.substr(0, path.rfind('/'));
    }
    return least;
}

bool names_controller(const std::string& controllers, const std::string& controller) {
    return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

// Parses the lines of /proc/self/cgroup: "0::/path" (version 2), "4:cpu,cpuacct:/path" (version 1).
std::optional<std::int64_t> cgroup_quota(const std::string& root) {
    std::optional<std::int64_t> least;
    for (const std::string& line : lines_of(read_file(root + "/proc/self/cgroup").value_or(""))) {
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
        if (controllers.empty()) {
            for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
                least = smaller(least, quota_on_path(root + mount, path));
        } else if (names_controller(controllers, "cpu")) {
            for (const char* mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"})
                least = smaller(least, quota_on_path(root + mount, path));
        }
    }
    return least;
}

// Sets only breakpoints that a thread count can reach.
void set_breakpoints(Topology& topology) {
    const std::vector<Processor>& order = topology.processors;
    const auto first_threads =
        std::count_if(order.begin(), order.end(), [](const Processor& p) { return p.thread_rank == 0; });
    const int first_node = order.front().node;
    const auto on_first_node = std::count_if(order.begin(), order.end(), [first_node](const Processor& p) {
        return p.thread_rank == 0 && p.node == first_node;
    });
    if (on_first_node < first_threads && on_first_node < topology.n_max) topology.n_nu = on_first_node;
    if (first_threads < topology.n_max) topology.n_ht = first_threads;
}

}  // namespace

std::vector<int> Topology::placement() const {
    std::vector<int> ids;
    for (int i = 0; i < n_max; i++) ids.push_back(processors[static_cast<std::size_t>(i)].id);
    return ids;
}

Topology read_topology(const std::string& root) {
    Topology topology;
    const std::set<int> usable = usable_processors(root);
    const std::map<int, int> node_of = node_of_processor(root);
    for (const int id : usable) topology.processors.push_back(read_processor(root, id, usable, node_of));
    std::sort(topology.processors.begin(), topology.processors.end(), comes_before);
    topology.threads = static_cast<int>(topology.processors.size());
    topology.sockets = distinct(topology.processors, [](const Processor& p) { return p.package; });
    topology.numa_nodes = distinct(topology.processors, [](const Processor& p) { return p.node; });
    topology.physical_cores = distinct(topology.processors, [](const Processor& p) { return p.core; });
    topology.n_max =
        static_cast<int>(std::min<std::int64_t>(topology.threads, cgroup_quota(root).value_or(topology.threads)));
    set_breakpoints(topology);
    return topology;
}

std::string root_from_environment() {
    const char* root = std::getenv("MPET_SYSFS");
    return root == nullptr ? "" : root;
}

std::vector<int> thread_counts(const Topology& topology, bool quick) {
    std::set<int> counts{1, topology.n_max};
    if (!quick) {
        for (int n = 2; n <= 8; n++) counts.insert(n);
    }
    for (int n = 2; n < topology.n_max; n *= 2) {
        counts.insert(n);
        if (!quick && n >= 8) counts.insert(n + n / 2);
    }
    for (const std::optional<std::int64_t> breakpoint : {topology.n_nu, topology.n_ht}) {
        if (!breakpoint) continue;
        for (int offset = quick ? 0 : -1; offset <= 2; offset++) counts.insert(static_cast<int>(*breakpoint) + offset);
    }
    std::vector<int> in_range;
    for (const int n : counts) {
        if (n >= 1 && n <= topology.n_max) in_range.push_back(n);
    }
    return in_range;
}

}  // namespace mpet
