// Names for call sites, as the source has them: function:line, or function+offset where the program has no debug information.
#pragma once

#include <map>
#include <set>
#include <string>

#include "recording.hpp"

namespace mpet::profiler {

struct SectionName {
    std::string name;    // fit for a workload's name
    std::string source;  // file:line, or the object and the address
    bool has_line = false;
};

// Two places that would get one name are told apart by #2, #3, ... in the order of their addresses.
std::map<CallSite, SectionName> name_sections(const std::set<CallSite>& sites, const std::string& program);

// Letters, digits and a few marks; anything else becomes an underscore.
std::string fit_for_names(const std::string& text, std::size_t longest);

}  // namespace mpet::profiler
