#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "../include/mpet/clock.h"
#include "../topology/build.hpp"

namespace mpet {

Progress::Progress(std::string log_file, std::size_t jobs)
    : log_file_(std::move(log_file)),
      jobs_(jobs),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      started_ns_(mpet_monotonic_ns()) {}

// Returns the estimated remaining time. The estimate never increases, even when later jobs take longer than earlier
// ones.
std::string Progress::time_left() {
    if (ran_ == 0) return "";
    least_left_s_ = std::min(least_left_s_, ran_ns_ / ran_ * (jobs_ - done_) / 1000000000u);
    char text[48];
    std::snprintf(text, sizeof text, "about %u:%02u left", static_cast<unsigned>(least_left_s_ / 60),
                  static_cast<unsigned>(least_left_s_ % 60));
    return text;
}

void Progress::begin(const Job& job) {
    job_started_ns_ = mpet_monotonic_ns();
    if (!on_terminal_ && job.application == application_) return;  // a file gets one line per application
    application_ = job.application;
    std::fprintf(stderr, "%s[%3zu/%zu] %-30s n=%-4d %-8s %s%s", on_terminal_ ? "\r\033[K" : "", done_ + 1, jobs_,
                 job.input().c_str(), job.threads, name_of(job.pass), time_left().c_str(),
                 on_terminal_ ? "" : "\n");
}

void Progress::end(const Job&) {
    ran_ns_ += mpet_monotonic_ns() - job_started_ns_;
    ran_++;
    done_++;
}

void Progress::skip(const Job&) { done_++; }

void Progress::note(const std::string& text) {
    std::fprintf(stderr, "%s%s\n", on_terminal_ ? "\r\033[K" : "", text.c_str());
    std::ofstream(log_file_, std::ios::app) << utc_now() << " " << text << "\n";
}

void Progress::finish() {
    if (on_terminal_) std::fputs("\r\033[K", stderr);
    const std::uint64_t seconds = (mpet_monotonic_ns() - started_ns_) / 1000000000u;
    note(std::to_string(ran_) + " of " + std::to_string(jobs_) + " jobs run in " + std::to_string(seconds) +
         " seconds");
}

}  // namespace mpet
