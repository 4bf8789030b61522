// mpet-topology prints this machine as platform.json, or one of the values derived from it.
#include <cstdio>
#include <cstring>
#include <string>

#include "build.hpp"
#include "topology.hpp"

namespace {

constexpr const char* usage =
    "mpet-topology [--name NAME] [--compiler TEXT] [--flags TEXT]   platform.json\n"
    "mpet-topology --placement      processor numbers in the order in which threads use them: 0,2,1,3\n"
    "mpet-topology --places         the same for OMP_PLACES: {0},{2},{1},{3}\n"
    "mpet-topology --threads [--quick]   the thread counts that a sweep measures\n"
    "mpet-topology --origin         measured or emulated\n"
    "MPET_SYSFS=DIR reads DIR/sys and DIR/proc instead of this machine's.\n";

std::string joined(const std::vector<int>& numbers, const char* before, const char* after) {
    std::string text;
    for (const int number : numbers) text += (text.empty() ? "" : ",") + (before + std::to_string(number)) + after;
    return text + "\n";
}

std::string answer(int count, char** arguments) {
    const std::string root = mpet::root_from_environment();
    const mpet::Topology topology = mpet::read_topology(root);
    std::string name = mpet::host_name(), what;
    mpet::Build build = mpet::this_build();
    bool quick = false;
    for (int i = 1; i < count; i++) {
        const std::string option = arguments[i];
        if (option == "--quick") {
            quick = true;
        } else if (option == "--name" || option == "--compiler" || option == "--flags") {
            if (i + 1 == count) return "";
            (option == "--name" ? name : option == "--compiler" ? build.compiler : build.flags) = arguments[++i];
        } else {
            what = option;
        }
    }
    if (what.empty()) return mpet::platform_json(name, topology, mpet::read_hardware(root, topology), build);
    if (what == "--placement") return joined(topology.placement(), "", "");
    if (what == "--places") return joined(topology.placement(), "{", "}");
    if (what == "--threads") return joined(mpet::thread_counts(topology, quick), "", "");
    if (what == "--origin") return mpet::is_emulated() ? "emulated\n" : "measured\n";
    return "";
}

}  // namespace

int main(int count, char** arguments) {
    const std::string text = answer(count, arguments);
    std::fputs(text.empty() ? usage : text.c_str(), text.empty() ? stderr : stdout);
    return text.empty() ? 2 : 0;
}
