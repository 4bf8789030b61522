// Names for call sites as in the source: function:line, or function+offset if the program has no debug information.
#pragma once

#include <map>
#include <set>
#include <string>

#include "recording.hpp"

namespace mpet::profiler {

struct SectionName {
    std::string name;    // valid as the name of a workload
    std::string source;  // file:line, or the object and the address
    bool has_line = false;
};

// Names all sites. Places with the same name are disambiguated by #2, #3, ... in the order of their addresses.
std::map<CallSite, SectionName> name_sections(const std::set<CallSite>& sites, const std::string& program);

// Replaces characters other than letters, digits and some punctuation marks by underscores.
std::string fit_for_names(const std::string& text, std::size_t longest);

}  // namespace mpet::profiler
