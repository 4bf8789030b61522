#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "../include/mpet/json.hpp"
#include "../pack/sha256.hpp"
#include "files.hpp"
#include "microarchitecture.hpp"
#include "topology.hpp"

namespace mpet {
namespace {

std::string first_text(std::initializer_list<std::optional<std::string>> candidates) {
    for (const auto& candidate : candidates) {
        if (candidate && !candidate->empty()) return *candidate;
    }
    return "unknown";
}

std::optional<std::int64_t> cache_size(const std::string& text) {
    char* end = nullptr;
    const std::int64_t size = std::strtoll(text.c_str(), &end, 10);
    if (end == text.c_str() || size <= 0) return std::nullopt;
    return *end == 'K'   ? size * 1024
           : *end == 'M' ? size * 1024 * 1024
           : *end == 'G' ? size * 1024 * 1024 * 1024
                         : size;
}

// Returns the total size of the caches of one level that the usable processors have. Each cache counts once, as in
// lscpu.
std::optional<std::int64_t> cache_bytes(const std::string& root, const Topology& topology, std::int64_t level) {
    std::int64_t total = 0;
    std::set<std::string> seen;
    for (const Processor& processor : topology.processors) {
        const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(processor.id) + "/cache";
        for (const int index : numbered_entries(folder, "index")) {
            const std::string cache = folder + "/index" + std::to_string(index);
            if (read_number(cache + "/level") != level || read_file(cache + "/type") == "Instruction") continue;
            const std::string shared = read_file(cache + "/shared_cpu_list").value_or(std::to_string(processor.id));
            if (seen.insert(shared).second) total += cache_size(read_file(cache + "/size").value_or("")).value_or(0);
        }
    }
    return total > 0 ? std::optional<std::int64_t>(total) : std::nullopt;
}

std::optional<std::int64_t> from_khz(std::optional<std::int64_t> khz) {
    return khz && *khz > 0 ? std::optional<std::int64_t>((*khz + 500) / 1000) : std::nullopt;
}

// Returns the clock rate in MHz from a model name: "... CPU E5-2630 v3 @ 2.40GHz" -> 2400
std::optional<std::int64_t> mhz_in_name(const std::string& model) {
    const std::size_t at = model.rfind('@');
    if (at == std::string::npos) return std::nullopt;
    const double value = std::atof(model.c_str() + at + 1);
    const double scale = model.find("GHz", at) != std::string::npos   ? 1000
                         : model.find("MHz", at) != std::string::npos ? 1
                                                                      : 0;
    return value * scale > 0 ? std::optional<std::int64_t>(std::llround(value * scale)) : std::nullopt;
}

std::optional<std::int64_t> base_mhz(const std::string& root, const Topology& topology, const std::string& model,
                                     const std::string& block) {
    const std::string folder =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(topology.processors.front().id) + "/cpufreq";
    if (const auto base = from_khz(read_number(folder + "/base_frequency"))) return base;
    if (const auto named = mhz_in_name(model)) return named;
    const double current = std::atof(field(block, "cpu MHz").value_or("0").c_str());
    return current > 0 ? std::optional<std::int64_t>(std::llround(current)) : std::nullopt;
}

bool contains(const std::optional<std::string>& text, const char* piece) {
    return text && text->find(piece) != std::string::npos;
}

std::optional<bool> is_virtualised(const std::string& root, const std::string& cpuinfo) {
    if (contains(" " + field(cpuinfo, "flags").value_or("") + " ", " hypervisor ")) return true;
    if (exists(root + "/sys/hypervisor/type") || exists(root + "/proc/device-tree/hypervisor")) return true;
    const std::optional<std::string> product = read_file(root + "/sys/class/dmi/id/product_name");
    const std::optional<std::string> maker = read_file(root + "/sys/class/dmi/id/sys_vendor");
    for (const char* name :
         {"KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "HVM", "Google Compute Engine", "Amazon EC2"}) {
        const bool bare_metal = contains(product, ".metal");  // EC2's names for bare-metal machines
        if (!bare_metal && (contains(product, name) || contains(maker, name))) return true;
    }
    if (cpuinfo.empty()) return std::nullopt;
    return false;
}

std::optional<std::string> device_class(const std::string& root, const Topology& topology, const std::string& model,
                                        const std::string& architecture) {
    for (const char* name :
         {"Xeon", "EPYC", "Opteron", "Neoverse", "ThunderX", "A64FX", "Kunpeng", "Ampere", "POWER"}) {
        if (contains(model, name)) return "server";
    }
    if (topology.sockets > 1) return "server";
    const bool is_arm = architecture.compare(0, 3, "arm") == 0 || architecture == "aarch64";
    if (is_arm && exists(root + "/proc/device-tree/model")) return "embedded";
    for (const char* name : {"Core", "Ryzen", "Pentium", "Celeron", "Athlon"}) {
        if (contains(model, name)) return "desktop";
    }
    return std::nullopt;
}

std::string uname_machine() {
    utsname names{};
    return uname(&names) == 0 ? names.machine : "unknown";
}

std::string uname_release() {
    utsname names{};
    return uname(&names) == 0 ? names.release : "unknown";
}

}  // namespace

Hardware read_hardware(const std::string& root, const Topology& topology) {
    Hardware hardware;
    const std::string cpuinfo = read_file(root + "/proc/cpuinfo").value_or("");
    const std::string block = cpuinfo_block(cpuinfo, topology.processors.front().id);
    const std::optional<std::string> arm_names = arm_core_names(cpuinfo, topology);
    const char* const arm_maker = arm_vendor(block);
    // A recorded machine contains its architecture. On this machine uname() returns it, and an emulator returns the
    // emulated architecture.
    hardware.architecture =
        root.empty() ? uname_machine() : read_file(root + "/proc/sys/kernel/arch").value_or("unknown");
    hardware.kernel =
        root.empty() ? uname_release() : read_file(root + "/proc/sys/kernel/osrelease").value_or("unknown");
    hardware.cpu_model = first_text({field(block, "model name"), arm_names, field(cpuinfo, "cpu"),
                                     field(cpuinfo, "Hardware"), read_file(root + "/proc/device-tree/model")});
    hardware.vendor = field(block, "vendor_id");
    if (!hardware.vendor && arm_maker != nullptr) hardware.vendor = arm_maker;
    hardware.microarchitecture = microarchitecture(root, cpuinfo, topology);
    hardware.device_class = device_class(root, topology, hardware.cpu_model, hardware.architecture);
    hardware.base_mhz = base_mhz(root, topology, hardware.cpu_model, block);
    hardware.max_mhz =
        from_khz(read_number(root + "/sys/devices/system/cpu/cpu" + std::to_string(topology.processors.front().id) +
                             "/cpufreq/cpuinfo_max_freq"));
    hardware.l1d_bytes = cache_bytes(root, topology, 1);
    hardware.l2_bytes = cache_bytes(root, topology, 2);
    hardware.l3_bytes = cache_bytes(root, topology, 3);
    const std::int64_t memory_kib =
        std::atoll(field(read_file(root + "/proc/meminfo").value_or(""), "MemTotal").value_or("0").c_str());
    if (memory_kib > 0) hardware.memory_bytes = memory_kib * 1024;
    hardware.virtualised = is_virtualised(root, cpuinfo);
    return hardware;
}

bool is_emulated() {
    const char* const origin = std::getenv("MPET_ORIGIN");
    if (origin != nullptr && std::string(origin) == "emulated") return true;
    char program[4096];  // qemu-user intercepts /proc/self/exe, but not this spelling of it
    const ssize_t length = readlink("/proc/thread-self/exe", program, sizeof program - 1);
    if (length <= 0) return false;
    const std::string path(program, static_cast<std::size_t>(length));
    return path.find("/qemu-") != std::string::npos;
}

std::string hardware_fingerprint(const Topology& topology, const Hardware& hardware) {
    // The memory size is rounded, because the memory that a kernel reserves varies by megabytes.
    constexpr std::int64_t gibibyte = std::int64_t{1} << 30;
    std::string text = hardware.cpu_model + "\n" + hardware.vendor.value_or("") + "\n" + hardware.architecture;
    for (const std::int64_t number :
         {std::int64_t{topology.sockets}, std::int64_t{topology.numa_nodes}, std::int64_t{topology.physical_cores},
          std::int64_t{topology.threads}, (hardware.memory_bytes.value_or(0) + gibibyte - 1) / gibibyte,
          std::int64_t{hardware.virtualised ? *hardware.virtualised : -1}}) {
        text += "\n" + std::to_string(number);
    }
    return sha256(text);
}

std::string platform_json(const std::string& name, const Topology& topology, const Hardware& hardware,
                          const Build& build) {
    std::vector<std::string> placement;
    for (const int id : topology.placement()) placement.push_back(json::number(id));
    json::Object platform;
    platform.add("name", json::quoted(name))
        .add("cpu_model", json::quoted(hardware.cpu_model))
        .add("vendor", json::text(hardware.vendor))
        .add("architecture", json::quoted(hardware.architecture))
        .add("microarchitecture", json::text(hardware.microarchitecture))
        .add("word_bits", json::number(static_cast<std::int64_t>(8 * sizeof(void*))))
        .add("device_class", json::text(hardware.device_class))
        .add("sockets", json::number(topology.sockets))
        .add("numa_nodes", json::number(topology.numa_nodes))
        .add("physical_cores", json::number(topology.physical_cores))
        .add("threads", json::number(topology.threads))
        .add("n_nu", json::number(topology.n_nu))
        .add("n_ht", json::number(topology.n_ht))
        .add("n_max", json::number(topology.n_max))
        .add("placement", json::array(placement))
        .add("base_mhz", json::number(hardware.base_mhz))
        .add("max_mhz", json::number(hardware.max_mhz))
        .add("l1d_bytes", json::number(hardware.l1d_bytes))
        .add("l2_bytes", json::number(hardware.l2_bytes))
        .add("l3_bytes", json::number(hardware.l3_bytes))
        .add("memory_bytes", json::number(hardware.memory_bytes))
        .add("virtualised", json::boolean(hardware.virtualised))
        .add("fingerprint", json::quoted(hardware_fingerprint(topology, hardware)))
        .add("kernel", json::quoted(hardware.kernel))
        .add("compiler", json::quoted(build.compiler))
        .add("compiler_flags", json::quoted(build.flags));
    return platform.str() + "\n";
}

}  // namespace mpet
