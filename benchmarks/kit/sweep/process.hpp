// Runs a program and keeps what it prints.
#pragma once

#include <string>
#include <vector>

namespace mpet {

// Standard output goes to the file, whole or not at all: it gets its name when the program has succeeded. Throws
// std::runtime_error, with what the program was, when it fails or is killed.
void run_into_file(std::vector<std::string> command, const std::string& file);

std::string output_of(std::vector<std::string> command);

}  // namespace mpet
