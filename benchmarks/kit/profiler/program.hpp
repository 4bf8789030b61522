// Finds and inspects the program to profile. Throws an exception with an explanation if it cannot be profiled.
#pragma once

#include <stdexcept>
#include <string>

namespace mpet::profiler {

// An error that the user can fix. The message explains how.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A program that cannot be profiled, but only timed as a whole. mpet-profile then ends with a separate exit status.
struct NotProfilable : Refusal {
    using Refusal::Refusal;
};

struct Program {
    std::string path;      // path with which it is started
    std::string name;      // application name of its workloads
    std::string runtime;   // libgomp or libomp
    std::string compiler;  // from the program's .comment section, "" if unknown
};

// Inspects a program. `runtime` is given by the user; with "", it is determined from the libraries that the program
// needs.
Program inspect(const std::string& command, const std::string& runtime);

}  // namespace mpet::profiler
