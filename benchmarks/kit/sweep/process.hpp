// Runs a program and captures its output.
#pragma once

#include <string>
#include <vector>

namespace mpet {

// Writes the standard output of a program to a file. The file gets its name only after the program has succeeded, so it
// is always complete. Throws std::runtime_error with the program's name if the program fails or is killed.
void run_into_file(std::vector<std::string> command, const std::string& file);

std::string output_of(std::vector<std::string> command);

}  // namespace mpet
