// One of the kernels of kernels.c that the kit's own middleware can execute; prints its own account as they do, and then
// the middleware's: n, the time and the parts.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mpet/mpal.hpp"
#include "own_account.h"

static unsigned work(std::int64_t steps, unsigned x) {
    for (std::int64_t k = 0; k < steps; k++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static void print(const mpet::Section& section, int threads) {
    std::printf("%d %" PRIu64, threads, section.time_ns);
    for (const std::uint64_t part : section.parts) std::printf(" %" PRIu64, part);
    std::printf("\n");
}

int main(int, char** arguments) {
    const std::string kernel = arguments[1];
    const int threads = std::atoi(arguments[2]);
    const std::int64_t rows = std::atoll(arguments[3]);
    std::vector<int> processors;
    for (int i = 4; arguments[i] != nullptr; i++) processors.push_back(std::atoi(arguments[i]));
    mpet::Team team(threads, processors);
    mpet::Section section(kernel);
    volatile unsigned sink = 0;
    const auto loop = [&](auto steps) {
        mpet::parallel_for(team, section, {0, rows}, mpet::Static{}, [&](std::int64_t begin, std::int64_t end) {
            const std::uint64_t begun_ns = own_now();
            unsigned sum = 0;
            for (std::int64_t i = begin; i < end; i++) sum += work(steps(i), static_cast<unsigned>(i));
            sink = sum;
            own_charge(mpet::current_worker->id, begun_ns, begun_ns);
        });
    };
    team.run_unmeasured([](mpet::Worker&) {});
    own_begin();
    if (kernel == "triangle") loop([](std::int64_t i) { return i; });
    if (kernel == "pyramid") loop([rows](std::int64_t i) { return i + 3 * i * i / (2 * rows); });
    if (kernel == "equal") loop([rows](std::int64_t) { return rows / 2; });
    if (kernel == "locked") {
        mpet::Lock lock;
        mpet::parallel_for(team, section, {0, rows / 40}, mpet::Dynamic{1}, [&](std::int64_t begin, std::int64_t end) {
            const std::uint64_t asked_ns = own_now();
            const mpet::LockGuard guard(lock);
            const std::uint64_t begun_ns = own_now();
            for (std::int64_t i = begin; i < end; i++) sink = sink + work(20 * rows, static_cast<unsigned>(i));
            own_charge(mpet::current_worker->id, asked_ns, begun_ns);
        });
    }
    own_print(kernel.c_str(), sink, threads);
    print(section, threads);
}
