// mpet-overhead-clean and mpet-overhead-profile run five kernels with the middleware, and the same loops without it.
// They print one line per kernel and thread count: kernel, threads, nanoseconds without the kit (on one thread),
// nanoseconds with it. `make overhead` runs both builds alternately, many times, and prints ratios of the shortest
// times.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "../include/mpet/mpal.hpp"
#include "../include/mpet/random.hpp"

namespace {

constexpr std::int64_t side = 512, sweeps = 40;

std::vector<double> grid_a(side* side, 1.0), grid_b(side* side, 2.0);
std::vector<std::uint64_t> results(4096);

void relax_rows(std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = std::max<std::int64_t>(begin, 1); row < std::min(end, side - 1); row++) {
        const double* from = grid_a.data() + row * side;
        double* to = grid_b.data() + row * side;
        for (std::int64_t i = 1; i < side - 1; i++)
            to[i] = 0.25 * ((from[i - side] + from[i + side]) + (from[i - 1] + from[i + 1]));
    }
}

std::uint64_t chain(std::int64_t steps, std::uint64_t value) {
    for (std::int64_t i = 0; i < steps; i++) value = mpet::hash64(value);
    return value;
}

void uneven(std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i++)
        results[static_cast<std::size_t>(i)] = chain(200 + i % 7 * 100, static_cast<std::uint64_t>(i));
}

std::uint64_t fibonacci(int number) {
    return number < 2 ? static_cast<std::uint64_t>(number) : fibonacci(number - 1) + fibonacci(number - 2);
}

std::uint64_t spawned_fibonacci(int number) {
    if (number < 18) return fibonacci(number);
    std::uint64_t left = 0, right = 0;
    mpet::TaskGroup group;
    group.spawn([number, &left] { left = spawned_fibonacci(number - 1); });
    group.spawn([number, &right] { right = spawned_fibonacci(number - 2); });
    group.wait();
    return left + right;
}

void add_to_histogram(std::int64_t i) { results[chain(100, static_cast<std::uint64_t>(i)) % 16]++; }

struct Kernel {
    const char* name;
    std::function<void()> plain;
    std::function<void(mpet::Team&, mpet::Section&)> with_kit;
};

const std::vector<Kernel>& kernels() {
    static const std::vector<Kernel> all{
        {"static loop, a barrier a sweep",
         [] {
             for (std::int64_t sweep = 0; sweep < sweeps; sweep++) relax_rows(0, side);
         },
         [](mpet::Team& team, mpet::Section& section) {
             team.run(section, [](mpet::Worker& me) {
                 const mpet::Range mine = me.share({0, side});
                 for (std::int64_t sweep = 0; sweep < sweeps; sweep++) {
                     relax_rows(mine.begin, mine.end);
                     me.barrier();
                 }
             });
         }},
        {"dynamic loop, 1.5 us a chunk", [] { uneven(0, 4096); },
         [](mpet::Team& team, mpet::Section& section) {
             mpet::parallel_for(team, section, {0, 4096}, mpet::Dynamic{1}, uneven);
         }},
        {"recursive tasks, 1 us each", [] { results[0] = fibonacci(30); },
         [](mpet::Team& team, mpet::Section& section) {
             mpet::run_tasks(team, section, [] { results[0] = spawned_fibonacci(30); });
         }},
        {"lock, 0.3 us inside it",
         [] {
             for (std::int64_t i = 0; i < 20000; i++) add_to_histogram(i);
         },
         [](mpet::Team& team, mpet::Section& section) {
             static mpet::Lock lock;
             mpet::parallel_for(team, section, {0, 20000}, mpet::Static{}, [](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; i++) {
                     const mpet::LockGuard guard(lock);
                     add_to_histogram(i);
                 }
             });
         }},
        {"wavefront, 1.5 us a block", [] { uneven(0, 4096); },
         [](mpet::Team& team, mpet::Section& section) {
             mpet::wavefront(team, section, {64, 64}, [](std::int64_t row, std::int64_t column) {
                 uneven(row * 64 + column, row * 64 + column + 1);
             });
         }},
    };
    return all;
}

template <class Body>
std::uint64_t time_of(Body&& body) {
    const std::uint64_t begin = mpet_now();
    body();
    return mpet_now() - begin;
}

}  // namespace

int main(int count, char** arguments) {
    const int threads = count > 1 ? std::max(1, std::atoi(arguments[1])) : 1;
    mpet::Team team(threads);
    for (const Kernel& kernel : kernels()) {
        std::uint64_t plain = UINT64_MAX, with_kit = UINT64_MAX;
        for (int repeat = 0; repeat < 7; repeat++) {
            mpet::Section section("");
            plain = std::min(plain, time_of(kernel.plain));
            kernel.with_kit(team, section);
            with_kit = std::min(with_kit, section.time_ns);
        }
        std::printf("%s\t%d\t%" PRIu64 "\t%" PRIu64 "\n", kernel.name, threads, plain, with_kit);
    }
    return 0;
}
