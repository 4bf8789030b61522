#include "section_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "command.hpp"
#include "elf_file.hpp"
#include "source_names.hpp"

namespace mpet::profiler {

namespace {

constexpr std::size_t longest_function = 120;

std::string hexadecimal(std::uint64_t number) {
    std::ostringstream text;
    text << "0x" << std::hex << number;
    return text.str();
}

struct SourcePlace {
    std::string function, file, line;
    bool known() const { return !function.empty() && function != "??" && !line.empty() && line != "0" && line != "?"; }
};

SourcePlace place_of(const std::string& function, const std::string& location) {
    const std::string where = location.substr(0, location.find(" (discriminator"));
    const std::size_t colon = where.rfind(':');
    if (colon == std::string::npos) return {};
    return {function, where.substr(0, colon), where.substr(colon + 1)};
}

// Reads the output of addr2line: the address, then function and file:line of the innermost inlined function, of the
// function around it, and so on. A region's body is a function of its own, so its outermost function counts. For a call
// the innermost function counts.
std::vector<SourcePlace> read_places(const std::string& text, const std::vector<CallSite>& sites) {
    std::vector<SourcePlace> places(sites.size());
    std::istringstream lines(text);
    std::string line, location;
    std::size_t next = 0;  // number of the next site, counted from 1
    for (bool is_first = true; std::getline(lines, line);) {
        if (line.compare(0, 2, "0x") == 0) {
            next++;
            is_first = true;
        } else if (std::getline(lines, location) && next > 0 && next <= sites.size()) {
            if (is_first || sites[next - 1].body != 0) places[next - 1] = place_of(line, location);
            is_first = false;
        }
    }
    return places;
}

std::vector<SourcePlace> ask(std::vector<std::string> arguments, const std::vector<CallSite>& sites) {
    for (const CallSite& site : sites) arguments.push_back(hexadecimal(site.body != 0 ? site.body : site.call - 1));
    std::string text;
    return capture(arguments, text) ? read_places(text, sites) : std::vector<SourcePlace>(sites.size());
}

// Prefers the answers of llvm-symbolizer, which names more of clang's inlined functions than addr2line does.
std::vector<SourcePlace> ask_for_places(const std::string& object, const std::vector<CallSite>& sites) {
    std::vector<SourcePlace> places = ask({"llvm-symbolizer", "--output-style=GNU", "-a", "-i", "-f", "-C", "-e", object}, sites);
    const auto known = [](const SourcePlace& place) { return place.known(); };
    if (std::all_of(places.begin(), places.end(), known)) return places;
    const std::vector<SourcePlace> others = ask({"addr2line", "-a", "-i", "-f", "-C", "-e", object}, sites);
    for (std::size_t i = 0; i < sites.size(); i++) {
        if (!places[i].known()) places[i] = others[i];
    }
    return places;
}

// Returns the function that contains the call, with the offset of the call.
std::string name_without_source(const ElfFile& file, const std::string& path, const CallSite& site) {
    const auto function = file.kind() == ElfFile::Kind::native ? file.function_at(site.call - 1) : std::nullopt;
    if (!function) return fit_for_names(path.substr(path.rfind('/') + 1), longest_function) + "+" + hexadecimal(site.call);
    const bool is_fortran = file.imports("_gfortran_") || file.imports("_Fortran");
    return fit_for_names(name_in_source(function->name, "", is_fortran), longest_function) + "+" + hexadecimal(function->offset + 1);
}

// Names clang's bodies of tasks and regions after the function in the same file that begins last before their line.
void name_outlined(const ElfFile& file, const std::string& path, std::vector<SourcePlace>& places) {
    constexpr std::size_t most_asked = 20000;  // the length of a command line is limited
    const auto outlined = [](const SourcePlace& place) { return place.known() && is_outlined(place.function); };
    if (std::none_of(places.begin(), places.end(), outlined)) return;
    std::vector<CallSite> functions;
    for (const std::uint64_t address : file.function_addresses()) {
        if (functions.size() < most_asked) functions.push_back({path, address, address});
    }
    const std::vector<SourcePlace> begins = ask_for_places(path, functions);
    for (SourcePlace& place : places) {
        if (!outlined(place)) continue;
        int last = 0;
        std::string function = place.function;
        for (const SourcePlace& begin : begins) {
            const int line = begin.known() ? std::atoi(begin.line.c_str()) : 0;
            if (begin.file != place.file || line <= last || line > std::atoi(place.line.c_str())) continue;
            last = line;
            function = begin.function;
        }
        place.function = function;
    }
}

// Names all regions of one object. If GCC moves a call into another function, it gives the call that function's lines,
// so the region's body is looked up if it is known, and otherwise the last byte of the call.
void name_object(const std::string& path, const std::vector<CallSite>& sites, std::map<CallSite, SectionName>& names) {
    std::vector<SourcePlace> places = ask_for_places(path, sites);
    const ElfFile file(path);
    name_outlined(file, path, places);
    for (std::size_t i = 0; i < sites.size(); i++) {
        SectionName& name = names[sites[i]];
        if (places[i].known()) {
            const std::string function = name_in_source(places[i].function, places[i].file, is_fortran_file(places[i].file));
            name = {fit_for_names(function, longest_function) + ":" + places[i].line, places[i].file + ":" + places[i].line, true};
        } else {
            name = {name_without_source(file, path, sites[i]), path + "+" + hexadecimal(sites[i].call), false};
        }
    }
}

// Returns a name without template arguments. Instances of a template are separate sections.
std::string base_of(const std::string& name) {
    std::string base;
    int depth = 0;
    for (const char c : name) {
        if (c == '<') depth++;
        if (depth == 0) base += c;
        if (c == '>') depth--;
    }
    return base;
}

// Merges the names of one source line into one section, even if the compiler has put the line into several functions.
// All sites of the line get the most frequent name, or the first of equally frequent ones.
void merge_lines(std::map<CallSite, SectionName>& names) {
    std::map<std::string, std::map<std::string, int>> sites_of;  // source -> name -> number of sites
    for (const auto& [site, name] : names) sites_of[site.object + "\n" + name.source][name.name]++;
    for (auto& [site, name] : names) {
        const std::map<std::string, int>& same_line = sites_of[site.object + "\n" + name.source];
        const std::string base = base_of(same_line.begin()->first);
        const auto same_base = [&](const auto& other) { return base_of(other.first) == base; };
        if (std::all_of(same_line.begin(), same_line.end(), same_base)) continue;
        const auto fewer = [](const auto& one, const auto& other) { return one.second < other.second; };
        name.name = std::max_element(same_line.begin(), same_line.end(), fewer)->first;
    }
}

// Disambiguates equal names of different source lines. Copies of one source line remain one section.
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
    std::map<std::string, std::vector<CallSite>> sites_of;
    for (const CallSite& site : sites) sites_of[site.object].push_back(site);
    std::map<CallSite, SectionName> names;
    for (const auto& [object, of_object] : sites_of) name_object(object.empty() ? program : object, of_object, names);
    merge_lines(names);
    tell_apart(names);
    return names;
}

}  // namespace mpet::profiler
