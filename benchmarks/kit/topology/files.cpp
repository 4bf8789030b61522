#include "files.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace mpet {

std::string trimmed(const std::string& text) {
    const auto is_space = [](char c) { return c == '\0' || std::isspace(static_cast<unsigned char>(c)) != 0; };
    std::size_t begin = 0, end = text.size();
    while (begin < end && is_space(text[begin])) begin++;
    while (end > begin && is_space(text[end - 1])) end--;
    return text.substr(begin, end - begin);
}

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    std::ostringstream content;
    content << file.rdbuf();
    if (file.bad()) return std::nullopt;
    return trimmed(content.str());
}

std::optional<std::int64_t> read_number(const std::string& path) {
    const std::optional<std::string> text = read_file(path);
    if (!text || text->empty()) return std::nullopt;
    char* end = nullptr;
    const std::int64_t value = std::strtoll(text->c_str(), &end, 10);
    return end == text->c_str() ? std::nullopt : std::optional<std::int64_t>(value);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::vector<int> number_list(const std::string& text) {
    std::vector<int> numbers;
    std::istringstream stream(text);
    for (std::string piece; std::getline(stream, piece, ',');) {
        if (trimmed(piece).empty()) continue;
        const std::size_t dash = piece.find('-');
        const int first = std::atoi(piece.c_str());
        const int last = dash == std::string::npos ? first : std::atoi(piece.c_str() + dash + 1);
        for (int number = first; number <= last; number++) numbers.push_back(number);
    }
    return numbers;
}

std::optional<std::string> field(const std::string& text, const std::string& key) {
    for (const std::string& line : lines_of(text)) {
        const std::size_t colon = line.find(':');
        if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key) return trimmed(line.substr(colon + 1));
    }
    return std::nullopt;
}

std::vector<int> numbered_entries(const std::string& folder, const std::string& prefix) {
    std::vector<int> numbers;
    DIR* const directory = opendir(folder.c_str());
    if (directory == nullptr) return numbers;
    while (const dirent* entry = readdir(directory)) {
        const std::string name = entry->d_name;
        if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0) continue;
        const std::string digits = name.substr(prefix.size());
        if (std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
            numbers.push_back(std::atoi(digits.c_str()));
        }
    }
    closedir(directory);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

bool exists(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0;
}

}  // namespace mpet
