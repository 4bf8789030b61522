// Runs other programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mpet::profiler {

struct Outcome {
    int status = 0;  // exit status; 128 + signal number if a signal ended it; 127 if it could not start
    std::uint64_t wall_ns = 0;
    std::int64_t others_percent = 0;  // percent of one processor that other programs or the host used meanwhile
    bool interrupted = false;  // whether the user interrupted it
    std::uint64_t processor_ns = 0;
};

struct Command {
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // added to the current one; "" removes a variable
    std::string pid_variable;  // variable that is set to the new process's ID
    std::string output;        // file for standard output and standard error
};

// Runs a program. If standard input is a file, it is rewound first, so that every run reads the same input.
Outcome run(const Command& command);

// Reads the standard output of a short helper program. Returns false if it cannot be started or fails.
bool capture(const std::vector<std::string>& arguments, std::string& text);

// Makes interrupt and termination signals end the running child program instead of this program.
void pass_signals_to_children();

}  // namespace mpet::profiler
