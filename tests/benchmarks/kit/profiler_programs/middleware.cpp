// The kernels of kernels.c that the kit's own middleware can execute; prints n, time and the parts of each.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "mpet/mpal.hpp"

static unsigned work(std::int64_t steps, unsigned x) {
    for (std::int64_t k = 0; k < steps; k++) {
        x = x * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static void print(const mpet::Section& section, int threads) {
    std::printf("%s,%d,%" PRIu64, section.name.c_str(), threads, section.time_ns);
    for (const std::uint64_t part : section.parts) std::printf(",%" PRIu64, part);
    std::printf("\n");
}

int main(int, char** arguments) {
    const int threads = std::atoi(arguments[1]);
    const std::int64_t rows = std::atoll(arguments[2]);
    std::vector<int> processors;
    for (int i = 3; arguments[i] != nullptr; i++) processors.push_back(std::atoi(arguments[i]));
    mpet::Team team(threads, processors);
    volatile unsigned sink = 0;
    const auto rows_of = [&](auto steps) {
        return [&sink, steps](std::int64_t begin, std::int64_t end) {
            unsigned sum = 0;
            for (std::int64_t i = begin; i < end; i++) sum += work(steps(i), static_cast<unsigned>(i));
            sink = sum;
        };
    };
    team.run_unmeasured([](mpet::Worker&) {});
    mpet::Section triangle("triangle"), pyramid("pyramid"), equal("equal"), locked("locked");
    mpet::parallel_for(team, triangle, {0, rows}, mpet::Static{}, rows_of([](std::int64_t i) { return i; }));
    mpet::parallel_for(team, pyramid, {0, rows}, mpet::Static{}, rows_of([rows](std::int64_t i) { return i + 3 * i * i / (2 * rows); }));
    mpet::parallel_for(team, equal, {0, rows}, mpet::Static{}, rows_of([rows](std::int64_t) { return rows / 2; }));
    mpet::Lock lock;
    mpet::parallel_for(team, locked, {0, rows / 10}, mpet::Dynamic{1}, [&](std::int64_t begin, std::int64_t end) {
        const mpet::LockGuard guard(lock);
        for (std::int64_t i = begin; i < end; i++) sink = sink + work(5 * rows, static_cast<unsigned>(i));
    });
    for (const mpet::Section* section : {&triangle, &pyramid, &equal, &locked}) print(*section, threads);
}
