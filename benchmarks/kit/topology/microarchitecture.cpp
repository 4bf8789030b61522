#include "microarchitecture.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "files.hpp"

namespace mpet {
namespace {

// ---- Arm: implementer and part of the Main ID Register, from the vendors' reference manuals

struct ArmPart {
    int implementer, part;
    const char* name;
};

constexpr ArmPart arm_parts[] = {
    {0x41, 0x926, "ARM926"},        {0x41, 0xb76, "ARM1176"},       {0x41, 0xc05, "Cortex-A5"},
    {0x41, 0xc07, "Cortex-A7"},     {0x41, 0xc08, "Cortex-A8"},     {0x41, 0xc09, "Cortex-A9"},
    {0x41, 0xc0d, "Cortex-A12"},    {0x41, 0xc0e, "Cortex-A17"},    {0x41, 0xc0f, "Cortex-A15"},
    {0x41, 0xd01, "Cortex-A32"},    {0x41, 0xd02, "Cortex-A34"},    {0x41, 0xd03, "Cortex-A53"},
    {0x41, 0xd04, "Cortex-A35"},    {0x41, 0xd05, "Cortex-A55"},    {0x41, 0xd06, "Cortex-A65"},
    {0x41, 0xd07, "Cortex-A57"},    {0x41, 0xd08, "Cortex-A72"},    {0x41, 0xd09, "Cortex-A73"},
    {0x41, 0xd0a, "Cortex-A75"},    {0x41, 0xd0b, "Cortex-A76"},    {0x41, 0xd0c, "Neoverse-N1"},
    {0x41, 0xd0d, "Cortex-A77"},    {0x41, 0xd0e, "Cortex-A76AE"},  {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd41, "Cortex-A78"},    {0x41, 0xd42, "Cortex-A78AE"},  {0x41, 0xd43, "Cortex-A65AE"},
    {0x41, 0xd44, "Cortex-X1"},     {0x41, 0xd46, "Cortex-A510"},   {0x41, 0xd47, "Cortex-A710"},
    {0x41, 0xd48, "Cortex-X2"},     {0x41, 0xd49, "Neoverse-N2"},   {0x41, 0xd4a, "Neoverse-E1"},
    {0x41, 0xd4b, "Cortex-A78C"},   {0x41, 0xd4c, "Cortex-X1C"},    {0x41, 0xd4d, "Cortex-A715"},
    {0x41, 0xd4e, "Cortex-X3"},     {0x41, 0xd4f, "Neoverse-V2"},   {0x41, 0xd80, "Cortex-A520"},
    {0x41, 0xd81, "Cortex-A720"},   {0x41, 0xd82, "Cortex-X4"},     {0x41, 0xd83, "Neoverse-V3AE"},
    {0x41, 0xd84, "Neoverse-V3"},   {0x41, 0xd85, "Cortex-X925"},   {0x41, 0xd87, "Cortex-A725"},
    {0x41, 0xd8e, "Neoverse-N3"},   {0x42, 0x516, "ThunderX2"},     {0x43, 0x0a1, "ThunderX"},
    {0x43, 0x0af, "ThunderX2"},     {0x46, 0x001, "A64FX"},         {0x48, 0xd01, "Kunpeng-920"},
    {0x4e, 0x003, "Denver 2"},      {0x4e, 0x004, "Carmel"},        {0x50, 0x000, "X-Gene"},
    {0x51, 0x001, "Oryon"},         {0x51, 0xc00, "Falkor"},        {0x61, 0x022, "Icestorm"},
    {0x61, 0x023, "Firestorm"},     {0x61, 0x024, "Icestorm"},      {0x61, 0x025, "Firestorm"},
    {0x61, 0x028, "Icestorm"},      {0x61, 0x029, "Firestorm"},     {0x61, 0x032, "Blizzard"},
    {0x61, 0x033, "Avalanche"},     {0x61, 0x034, "Blizzard"},      {0x61, 0x035, "Avalanche"},
    {0x61, 0x038, "Blizzard"},      {0x61, 0x039, "Avalanche"},     {0xc0, 0xac3, "Ampere-1"},
    {0xc0, 0xac4, "Ampere-1a"},
};

int hexadecimal(const std::optional<std::string>& text) {
    return text ? static_cast<int>(std::strtol(text->c_str(), nullptr, 16)) : -1;
}

std::optional<std::string> arm_core_name(const std::string& block) {
    const int implementer = hexadecimal(field(block, "CPU implementer")), part = hexadecimal(field(block, "CPU part"));
    for (const ArmPart& known : arm_parts) {
        if (known.implementer == implementer && known.part == part) return known.name;
    }
    return std::nullopt;
}

// ---- x86: family, model and stepping, from Intel's and AMD's manuals as listed in the Linux kernel

// The widest vectors that a model can have. If a guest's flags contain wider ones, the hypervisor reports a wrong
// model.
enum Width { narrow, avx512, amx };

struct X86Models {
    const char* vendor;
    int family, first_model, last_model, last_stepping;  // the first matching entry counts
    const char* name;
    Width width = narrow;
};

constexpr int any = 255;
constexpr const char *intel = "GenuineIntel", *amd = "AuthenticAMD", *hygon = "HygonGenuine";

constexpr X86Models x86_models[] = {
    {intel, 6, 0x0f, 0x0f, any, "Merom"},
    {intel, 6, 0x17, 0x17, any, "Penryn"},
    {intel, 6, 0x1d, 0x1d, any, "Penryn"},
    {intel, 6, 0x1a, 0x1a, any, "Nehalem-EP"},
    {intel, 6, 0x1e, 0x1f, any, "Nehalem"},
    {intel, 6, 0x2e, 0x2e, any, "Nehalem-EX"},
    {intel, 6, 0x25, 0x25, any, "Westmere"},
    {intel, 6, 0x2c, 0x2c, any, "Westmere-EP"},
    {intel, 6, 0x2f, 0x2f, any, "Westmere-EX"},
    {intel, 6, 0x2a, 0x2a, any, "Sandy Bridge"},
    {intel, 6, 0x2d, 0x2d, any, "Sandy Bridge-EP"},
    {intel, 6, 0x3a, 0x3a, any, "Ivy Bridge"},
    {intel, 6, 0x3e, 0x3e, any, "Ivy Bridge-EP"},
    {intel, 6, 0x3c, 0x3c, any, "Haswell"},
    {intel, 6, 0x45, 0x46, any, "Haswell"},
    {intel, 6, 0x3f, 0x3f, any, "Haswell-EP"},
    {intel, 6, 0x3d, 0x3d, any, "Broadwell"},
    {intel, 6, 0x47, 0x47, any, "Broadwell"},
    {intel, 6, 0x4f, 0x4f, any, "Broadwell-EP"},
    {intel, 6, 0x56, 0x56, any, "Broadwell-DE"},
    {intel, 6, 0x4e, 0x4e, any, "Skylake"},
    {intel, 6, 0x5e, 0x5e, any, "Skylake"},
    {intel, 6, 0x55, 0x55, 4, "Skylake-SP", avx512},
    {intel, 6, 0x55, 0x55, 7, "Cascade Lake", avx512},
    {intel, 6, 0x55, 0x55, 11, "Cooper Lake", avx512},
    {intel, 6, 0x8e, 0x8e, 9, "Kaby Lake"},
    {intel, 6, 0x8e, 0x8e, 10, "Coffee Lake"},
    {intel, 6, 0x8e, 0x8e, 12, "Whiskey Lake"},
    {intel, 6, 0x9e, 0x9e, 9, "Kaby Lake"},
    {intel, 6, 0x9e, 0x9e, 13, "Coffee Lake"},
    {intel, 6, 0xa5, 0xa6, any, "Comet Lake"},
    {intel, 6, 0x66, 0x66, any, "Cannon Lake", avx512},
    {intel, 6, 0x6a, 0x6a, any, "Ice Lake-SP", avx512},
    {intel, 6, 0x6c, 0x6c, any, "Ice Lake-D", avx512},
    {intel, 6, 0x7d, 0x7e, any, "Ice Lake", avx512},
    {intel, 6, 0xa7, 0xa7, any, "Rocket Lake", avx512},
    {intel, 6, 0x8c, 0x8d, any, "Tiger Lake", avx512},
    {intel, 6, 0x8f, 0x8f, any, "Sapphire Rapids", amx},
    {intel, 6, 0xcf, 0xcf, any, "Emerald Rapids", amx},
    {intel, 6, 0xad, 0xae, any, "Granite Rapids", amx},
    {intel, 6, 0xaf, 0xaf, any, "Sierra Forest"},
    {intel, 6, 0x57, 0x57, any, "Knights Landing", avx512},
    {intel, 6, 0x85, 0x85, any, "Knights Mill", avx512},
    {intel, 6, 0x1c, 0x1c, any, "Bonnell"},
    {intel, 6, 0x37, 0x37, any, "Silvermont"},
    {intel, 6, 0x4d, 0x4d, any, "Silvermont"},
    {intel, 6, 0x4c, 0x4c, any, "Airmont"},
    {intel, 6, 0x5c, 0x5c, any, "Goldmont"},
    {intel, 6, 0x5f, 0x5f, any, "Goldmont"},
    {intel, 6, 0x7a, 0x7a, any, "Goldmont Plus"},
    {intel, 6, 0x86, 0x86, any, "Tremont"},
    {intel, 6, 0x96, 0x96, any, "Tremont"},
    {intel, 6, 0x9c, 0x9c, any, "Tremont"},
    {intel, 6, 0xbe, 0xbe, any, "Gracemont"},
    {amd, 0x10, 0x00, 0x0a, any, "K10"},
    {amd, 0x15, 0x00, 0x01, any, "Bulldozer"},
    {amd, 0x15, 0x02, 0x02, any, "Piledriver"},
    {amd, 0x15, 0x10, 0x1f, any, "Piledriver"},
    {amd, 0x15, 0x30, 0x3f, any, "Steamroller"},
    {amd, 0x15, 0x60, 0x7f, any, "Excavator"},
    {amd, 0x16, 0x00, 0x0f, any, "Jaguar"},
    {amd, 0x16, 0x30, 0x3f, any, "Puma"},
    {amd, 0x17, 0x08, 0x08, any, "Zen+"},
    {amd, 0x17, 0x18, 0x18, any, "Zen+"},
    {amd, 0x17, 0x00, 0x2f, any, "Zen1"},
    {amd, 0x17, 0x30, 0x4f, any, "Zen2"},
    {amd, 0x17, 0x60, 0x7f, any, "Zen2"},
    {amd, 0x17, 0x90, 0x9f, any, "Zen2"},
    {amd, 0x17, 0xa0, 0xaf, any, "Zen2"},
    {amd, 0x19, 0x00, 0x0f, any, "Zen3"},
    {amd, 0x19, 0x20, 0x5f, any, "Zen3"},
    {amd, 0x19, 0x10, 0x1f, any, "Zen4", avx512},
    {amd, 0x19, 0x60, 0xaf, any, "Zen4", avx512},
    {amd, 0x1a, 0x00, 0x2f, any, "Zen5", avx512},
    {amd, 0x1a, 0x40, 0x4f, any, "Zen5", avx512},
    {amd, 0x1a, 0x60, 0x7f, any, "Zen5", avx512},
    {hygon, 0x18, 0x00, 0x2f, any, "Dhyana"},
};

// Chips with two kinds of cores under one model number. Only the kernel's folders show the kind of each core.
struct HybridModels {
    int first_model, last_model;
    const char *fast, *small;
};

constexpr HybridModels hybrid_models[] = {
    {0x8a, 0x8a, "Sunny Cove", "Tremont"},      {0x97, 0x97, "Golden Cove", "Gracemont"},
    {0x9a, 0x9a, "Golden Cove", "Gracemont"},   {0xb7, 0xb7, "Raptor Cove", "Gracemont"},
    {0xba, 0xba, "Raptor Cove", "Gracemont"},   {0xbf, 0xbf, "Raptor Cove", "Gracemont"},
    {0xaa, 0xaa, "Redwood Cove", "Crestmont"},  {0xac, 0xac, "Redwood Cove", "Crestmont"},
    {0xb5, 0xb5, "Redwood Cove", "Crestmont"},  {0xc5, 0xc6, "Lion Cove", "Skymont"},
    {0xbd, 0xbd, "Lion Cove", "Skymont"},
};

int decimal(const std::string& block, const char* key) {
    const std::optional<std::string> text = field(block, key);
    return text && !text->empty() ? std::atoi(text->c_str()) : -1;
}

bool has_flag(const std::string& block, const char* flag) {
    return (" " + field(block, "flags").value_or("") + " ").find(" " + std::string(flag) + " ") != std::string::npos;
}

std::string joined_names(const std::vector<std::optional<std::string>>& of_processors) {
    std::string names;
    std::set<std::string> seen;
    for (const std::optional<std::string>& name : of_processors) {
        if (name && seen.insert(*name).second) names += (names.empty() ? "" : " + ") + *name;
    }
    return names;
}

std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::optional<std::string> hybrid_core_names(const std::string& root, const HybridModels& chip,
                                             const Topology& topology) {
    const auto processors = [&](const char* kind) {
        const std::string list = read_file(root + "/sys/devices/" + kind + "/cpus").value_or("");
        const std::vector<int> numbers = number_list(list);
        return std::set<int>(numbers.begin(), numbers.end());
    };
    const std::set<int> fast = processors("cpu_core"), small = processors("cpu_atom");
    std::vector<std::optional<std::string>> names;
    for (const Processor& processor : topology.processors) {
        const char* const name = fast.count(processor.id) > 0    ? chip.fast
                                 : small.count(processor.id) > 0 ? chip.small
                                                                 : nullptr;
        if (name == nullptr) return std::nullopt;
        names.emplace_back(name);
    }
    return unless_empty(joined_names(names));
}

std::optional<std::string> x86_name(const std::string& root, const std::string& block, const Topology& topology) {
    const std::string vendor = field(block, "vendor_id").value_or("");
    const int family = decimal(block, "cpu family"), model = decimal(block, "model"),
              stepping = std::max(0, decimal(block, "stepping"));
    for (const HybridModels& chip : hybrid_models) {
        const bool fits = vendor == intel && family == 6 && model >= chip.first_model && model <= chip.last_model;
        if (fits) return hybrid_core_names(root, chip, topology);
    }
    for (const X86Models& known : x86_models) {
        if (vendor != known.vendor || family != known.family || stepping > known.last_stepping) continue;
        if (model < known.first_model || model > known.last_model) continue;
        const bool wider = (has_flag(block, "avx512f") && known.width < avx512) ||
                           (has_flag(block, "amx_tile") && known.width < amx);
        return wider ? std::nullopt : std::optional<std::string>(known.name);
    }
    return std::nullopt;
}

std::vector<std::optional<std::string>> arm_cores(const std::string& cpuinfo, const Topology& topology) {
    std::vector<std::optional<std::string>> names;
    for (const Processor& processor : topology.processors)
        names.push_back(arm_core_name(cpuinfo_block(cpuinfo, processor.id)));
    return names;
}

}  // namespace

std::string cpuinfo_block(const std::string& cpuinfo, int id) {
    std::string block;
    bool found = false;
    for (const std::string& line : lines_of(cpuinfo)) {
        const bool starts_block = line.compare(0, 9, "processor") == 0;
        if (starts_block && found) break;
        if (starts_block) {
            found = field(line, "processor") == std::to_string(id);
            block.clear();
        }
        block += line + "\n";
    }
    return found ? block : cpuinfo;
}

const char* arm_vendor(const std::string& block) {
    switch (hexadecimal(field(block, "CPU implementer"))) {
        case 0x41:
            return "ARM";
        case 0x42:
            return "Broadcom";
        case 0x43:
            return "Cavium";
        case 0x46:
            return "Fujitsu";
        case 0x48:
            return "HiSilicon";
        case 0x4e:
            return "NVIDIA";
        case 0x50:
            return "APM";
        case 0x51:
            return "Qualcomm";
        case 0x61:
            return "Apple";
        case 0xc0:
            return "Ampere";
        default:
            return nullptr;
    }
}

std::optional<std::string> arm_core_names(const std::string& cpuinfo, const Topology& topology) {
    return unless_empty(joined_names(arm_cores(cpuinfo, topology)));
}

std::optional<std::string> microarchitecture(const std::string& root, const std::string& cpuinfo,
                                             const Topology& topology) {
    const std::string block = cpuinfo_block(cpuinfo, topology.processors.front().id);
    if (!field(block, "CPU implementer")) return x86_name(root, block, topology);
    const std::vector<std::optional<std::string>> cores = arm_cores(cpuinfo, topology);
    const bool all_known = std::all_of(cores.begin(), cores.end(), [](const auto& name) { return name.has_value(); });
    return all_known ? unless_empty(joined_names(cores)) : std::nullopt;
}

}  // namespace mpet
