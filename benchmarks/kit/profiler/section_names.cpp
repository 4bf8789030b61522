#include "section_names.hpp"

#include <cxxabi.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "command.hpp"
#include "elf_file.hpp"

namespace mpet::profiler {

namespace {

constexpr std::size_t longest_function = 120;

std::string hexadecimal(std::uint64_t number) {
    std::ostringstream text;
    text << "0x" << std::hex << number;
    return text.str();
}

std::string demangled(const std::string& symbol) {
    int status = 0;
    char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    const std::string name = status == 0 && text != nullptr ? text : symbol;
    std::free(text);
    return name;
}

// Compilers' suffixes for parts of a function: kernel._omp_fn.0, kernel.constprop.0, kernel.omp_outlined.
std::string without_suffix(const std::string& symbol) {
    for (const char* suffix : {"._omp_fn", ".omp_outlined", ".constprop", ".isra", ".part", ".cold", ".lto_priv"}) {
        const std::size_t at = symbol.find(suffix);
        if (at != std::string::npos && at > 0) return without_suffix(symbol.substr(0, at));
    }
    return symbol;
}

// space::kernel<int>(long, double const*) [clone ...] -> space::kernel<int>
std::string without_parameters(const std::string& function) {
    if (function.empty() || function[0] == '(') return function;
    int depth = 0;
    for (std::size_t i = 0; i < function.size(); i++) {
        if (function[i] == '<') depth++;
        if (function[i] == '>') depth--;
        const bool is_lambda = function.compare(i, 8, "(anonymo") == 0 || function.compare(i, 7, "{lambda") == 0;
        if (is_lambda) {
            i = function.find(function[i] == '{' ? '}' : ')', i);
            if (i == std::string::npos) break;
        } else if (function[i] == '(' && depth == 0 && function.compare(0, i, "operator") != 0) {
            return function.substr(0, i);
        }
    }
    return function;
}

struct SourcePlace {
    std::string function, file, line;
    bool known() const { return !function.empty() && function != "??" && !line.empty() && line != "0" && line != "?"; }
};

SourcePlace place_of(const std::string& function, const std::string& location) {
    const std::string where = location.substr(0, location.find(" (discriminator"));
    const std::size_t colon = where.rfind(':');
    if (colon == std::string::npos) return {};
    return {without_parameters(function), where.substr(0, colon), where.substr(colon + 1)};
}

// addr2line prints two lines an address: the function, and file:line. The line of a call is that of the call's last byte.
std::vector<SourcePlace> ask_addr2line(const std::string& object, const std::vector<std::uint64_t>& addresses) {
    std::vector<SourcePlace> places(addresses.size());
    constexpr std::size_t at_once = 500;
    for (std::size_t begin = 0; begin < addresses.size(); begin += at_once) {
        std::vector<std::string> arguments{"addr2line", "-f", "-C", "-e", object};
        for (std::size_t i = begin; i < addresses.size() && i < begin + at_once; i++) arguments.push_back(hexadecimal(addresses[i] - 1));
        std::string text;
        if (!capture(arguments, text)) return places;
        std::istringstream lines(text);
        std::string function, location;
        for (std::size_t i = begin; std::getline(lines, function) && std::getline(lines, location) && i < addresses.size(); i++) {
            places[i] = place_of(function, location);
        }
    }
    return places;
}

std::string name_without_source(const ElfFile& file, const std::string& object, std::uint64_t address) {
    const std::string object_name = object.substr(object.rfind('/') + 1);
    if (file.kind() != ElfFile::Kind::native) return object_name + "+" + hexadecimal(address);
    const auto function = file.function_at(address - 1);
    if (!function) return object_name + "+" + hexadecimal(address);
    return fit_for_names(without_parameters(demangled(without_suffix(function->name))), longest_function) + "+" +
           hexadecimal(function->offset + 1);
}

// All call sites of one object.
void name_object(const std::string& object, const std::string& path, const std::vector<std::uint64_t>& addresses,
                 std::map<CallSite, SectionName>& names) {
    const std::vector<SourcePlace> places = ask_addr2line(path, addresses);
    const ElfFile file(path);
    for (std::size_t i = 0; i < addresses.size(); i++) {
        SectionName& name = names[{object, addresses[i]}];
        if (places[i].known()) {
            name.name = fit_for_names(demangled(without_suffix(places[i].function)), longest_function) + ":" + places[i].line;
            name.source = places[i].file + ":" + places[i].line;
        } else {
            name.name = name_without_source(file, path, addresses[i]);
            name.source = path + "+" + hexadecimal(addresses[i]);
        }
    }
}

// One source line that the compiler has copied to several places is one section.
void tell_apart(std::map<CallSite, SectionName>& names) {
    std::map<std::string, std::vector<std::string>> sources;
    for (auto& [site, name] : names) {
        std::vector<std::string>& same = sources[name.name];
        std::size_t number = 0;
        while (number < same.size() && same[number] != name.source) number++;
        if (number == same.size()) same.push_back(name.source);
        if (number > 0) name.name += "#" + std::to_string(number + 1);
    }
}

}  // namespace

std::string fit_for_names(const std::string& text, std::size_t longest) {
    std::string fit;
    for (const char c : text.substr(0, longest)) {
        const bool keep = std::isalnum(static_cast<unsigned char>(c)) || std::string("_.:+<>~-=*&[]{}()#").find(c) != std::string::npos;
        fit += keep ? c : '_';
    }
    return fit;
}

std::map<CallSite, SectionName> name_sections(const std::set<CallSite>& sites, const std::string& program) {
    std::map<std::string, std::vector<std::uint64_t>> addresses;
    for (const CallSite& site : sites) addresses[site.object].push_back(site.address);
    std::map<CallSite, SectionName> names;
    for (const auto& [object, list] : addresses) name_object(object, object.empty() ? program : object, list, names);
    tell_apart(names);
    return names;
}

}  // namespace mpet::profiler
