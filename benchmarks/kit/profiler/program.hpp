// The program to profile: found, looked at, and refused with a sentence where it cannot be profiled.
#pragma once

#include <stdexcept>
#include <string>

namespace mpet::profiler {

// Something the user can mend; the message says how.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Of this program no profile can be made: it can only be timed as a whole. mpet-profile ends with a status of its own.
struct NotProfilable : Refusal {
    using Refusal::Refusal;
};

struct Program {
    std::string path;      // as it is started
    std::string name;      // application name of its workloads
    std::string runtime;   // libgomp or libomp
    std::string compiler;  // as the program says, "" where it does not
};

// `runtime` is what the user says; "" = look at what the program and its libraries need.
Program inspect(const std::string& command, const std::string& runtime);

}  // namespace mpet::profiler
