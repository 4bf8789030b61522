// Small files of /sys and /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpet {

std::optional<std::string> read_file(const std::string& path);  // without trailing white space and NUL
std::optional<std::int64_t> read_number(const std::string& path);
std::vector<std::string> lines_of(const std::string& text);
std::string trimmed(const std::string& text);

// The numbers of "0-3,8,10-11".
std::vector<int> number_list(const std::string& text);

// The value of the first "key : value" line, as /proc/cpuinfo, /proc/meminfo and /proc/self/status have them.
std::optional<std::string> field(const std::string& text, const std::string& key);

// Numbers N of the entries of a folder that are called <prefix>N, ascending.
std::vector<int> numbered_entries(const std::string& folder, const std::string& prefix);

bool exists(const std::string& path);

}  // namespace mpet
