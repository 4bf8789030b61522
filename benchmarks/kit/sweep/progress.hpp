// Shows the progress of a sweep in one line on the terminal, and writes it to a log.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

#include "plan.hpp"

namespace mpet {

class Progress {
public:
    Progress(std::string log_file, std::size_t jobs);

    void begin(const Job& job);
    void end(const Job& job);            // it was run
    void skip(const Job& job);           // its output already existed
    void note(const std::string& text);  // a separate line, also in the log
    void finish();

private:
    std::string time_left();

    const std::string log_file_;
    const std::size_t jobs_;
    const bool on_terminal_;
    std::size_t done_ = 0, ran_ = 0;
    std::uint64_t started_ns_ = 0, job_started_ns_ = 0, ran_ns_ = 0, least_left_s_ = UINT64_MAX;
    std::string application_;
};

}  // namespace mpet
