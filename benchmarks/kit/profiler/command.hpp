// Running other programs.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mpet::profiler {

struct Outcome {
    int status = 0;  // exit status; 128 + signal number where a signal ended it; 127 where it could not be started
    std::uint64_t wall_ns = 0;
    std::int64_t others_percent = 0;  // of one processor that other programs, or the host, used meanwhile
    bool interrupted = false;  // by the user
    std::uint64_t processor_ns = 0;
};

struct Command {
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;  // on top of the present one; "" removes a variable
    std::string pid_variable;  // gets the new process's number
    std::string output;        // file that takes standard output and standard error
};

// Standard input is rewound where it is a file, so that every run reads the same.
Outcome run(const Command& command);

// Standard output of a short helper program; false where it cannot be started or fails.
bool capture(const std::vector<std::string>& arguments, std::string& text);

// From now on an interrupt or a termination signal ends the program that runs, not this one.
void pass_signals_to_children();

}  // namespace mpet::profiler
