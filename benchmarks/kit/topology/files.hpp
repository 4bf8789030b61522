// Reads small files of /sys and /proc.
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

// Returns the numbers of a list such as "0-3,8,10-11".
std::vector<int> number_list(const std::string& text);

// Returns the value of the first "key : value" line, as in /proc/cpuinfo, /proc/meminfo and /proc/self/status.
std::optional<std::string> field(const std::string& text, const std::string& key);

// Returns the numbers N of the entries <prefix>N of a folder, in ascending order.
std::vector<int> numbered_entries(const std::string& folder, const std::string& prefix);

bool exists(const std::string& path);

}  // namespace mpet
