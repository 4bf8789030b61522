// Numbers in the options of the kit's programs.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpet {

inline int whole_number(const std::string& text, const std::string& option) {
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || errno != 0 || value < 1 || value > 1000000) {
        throw std::invalid_argument(option + ": '" + text + "' is not a whole number above 0");
    }
    return static_cast<int>(value);
}

// Returns the thread counts of a list such as "2,4-8" in ascending order, and 1, to which every curve is relative.
inline std::vector<int> thread_list(const std::string& text, const std::string& option) {
    std::vector<int> numbers{1};
    std::istringstream ranges(text);
    for (std::string range; std::getline(ranges, range, ',');) {
        const std::size_t dash = range.find('-');
        const int first = whole_number(range.substr(0, dash), option);
        const int last = dash == std::string::npos ? first : whole_number(range.substr(dash + 1), option);
        for (int n = first; n <= last; n++) numbers.push_back(n);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
}

}  // namespace mpet
