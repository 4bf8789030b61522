// mpet-roofline: the machine's ceilings, as a JSON object for environment.json.
//
//     peak_flops      floating-point operations per second (multiply-adds in registers), by thread count
//     bandwidth       bytes per second (triad over vectors larger than the caches), by thread count
//     handover        core-to-core latency in picoseconds: half the round trip of a cache line, for some pairs of cores
//     lock_handover   lock-transfer latency in picoseconds: from one thread's release to the next one's acquisition,
//                     by thread count
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../include/mpet/json.hpp"
#include "../include/mpet/mpal.hpp"
#include "../topology/files.hpp"

namespace {

namespace json = mpet::json;

struct Sizes {
    std::int64_t flop_rounds, vector_length, handovers, lock_rounds;
};

Sizes sizes_of(const std::string& scale) {
    if (scale == "tiny") return {2000, 1 << 12, 200, 200};
    if (scale == "quick") return {4000000, 1 << 22, 20000, 20000};
    return {20000000, 1 << 24, 100000, 100000};
}

constexpr int tries = 3;

// Returns the shortest time of several attempts, because a ceiling is the performance of an undisturbed machine.
template <class Body>
std::uint64_t best_time_ns(mpet::Team& team, Body&& body) {
    std::uint64_t best = UINT64_MAX;
    for (int attempt = 0; attempt < tries; attempt++) {
        mpet::Section section("");
        team.run(section, body);
        best = std::min(best, section.time_ns);
    }
    return std::max<std::uint64_t>(best, 1);
}

std::uint64_t per_second(std::uint64_t amount, std::uint64_t time_ns) {
    return static_cast<std::uint64_t>(static_cast<long double>(amount) * 1e9L / static_cast<long double>(time_ns));
}

// Twelve independent chains of vector multiply-adds keep the pipelines of all known processors full.
constexpr int chains = 12, lanes = 8;
typedef double Lanes __attribute__((vector_size(lanes * sizeof(double))));

double multiply_adds(std::int64_t rounds) {
    Lanes value[chains];
    for (int chain = 0; chain < chains; chain++) {
        for (int lane = 0; lane < lanes; lane++) value[chain][lane] = 1.0 + 0.001 * chain + 0.0001 * lane;
    }
    const Lanes factor = Lanes{} + 0.999, term = Lanes{} + 0.001;
    for (std::int64_t round = 0; round < rounds; round++) {
        for (int chain = 0; chain < chains; chain++) value[chain] = value[chain] * factor + term;
    }
    double sum = 0;
    for (int chain = 0; chain < chains; chain++) sum += value[chain][0];
    return sum;
}

std::uint64_t peak_flops(mpet::Team& team, std::int64_t rounds) {
    volatile double sink = 0;
    const std::uint64_t time_ns = best_time_ns(team, [&](mpet::Worker& me) {
        const double sum = multiply_adds(rounds);
        if (me.id == 0) sink = sum;
    });
    return per_second(static_cast<std::uint64_t>(rounds) * chains * lanes * 2 * static_cast<std::uint64_t>(team.size()),
                      time_ns);
}

std::uint64_t bandwidth(mpet::Team& team, std::int64_t length) {
    const auto size = static_cast<std::size_t>(length);
    std::unique_ptr<double[]> a(new double[size]), b(new double[size]), c(new double[size]);
    team.run_unmeasured([&](mpet::Worker& me) {
        const mpet::Range mine = me.share({0, length});
        for (std::int64_t i = mine.begin; i < mine.end; i++) a[i] = b[i] = c[i] = 1;
    });
    const std::uint64_t time_ns = best_time_ns(team, [&](mpet::Worker& me) {
        const mpet::Range mine = me.share({0, length});
        for (std::int64_t i = mine.begin; i < mine.end; i++) a[i] = b[i] + 3.0 * c[i];
    });
    return per_second(3 * sizeof(double) * size, time_ns);
}

std::uint64_t handover_ps(int from, int to, std::int64_t rounds) {
    mpet::Team pair(2, {from, to});
    alignas(128) std::atomic<std::int64_t> ball{0};
    const std::uint64_t time_ns = best_time_ns(pair, [&](mpet::Worker& me) {
        if (me.id == 0) ball.store(0, std::memory_order_relaxed);
        me.barrier();
        for (std::int64_t i = me.id; i < 2 * rounds; i += 2) {
            for (mpet::Backoff backoff; ball.load(std::memory_order_acquire) != i;) backoff.pause();
            ball.store(i + 1, std::memory_order_release);
        }
    });
    return time_ns * 1000 / static_cast<std::uint64_t>(2 * rounds);
}

std::uint64_t lock_handover_ps(mpet::Team& team, std::int64_t rounds) {
    mpet::Lock lock;
    const std::uint64_t time_ns = best_time_ns(team, [&](mpet::Worker&) {
        for (std::int64_t i = 0; i < rounds; i++) {
            const mpet::LockGuard guard(lock);
        }
    });
    return time_ns * 1000 / static_cast<std::uint64_t>(rounds * team.size());
}

std::string by_threads(int n, const char* unit, std::uint64_t value) {
    return "{\"n\": " + std::to_string(n) + ", \"" + unit + "\": " + std::to_string(value) + "}";
}

// Measures the first core with other cores at increasing distance in the placement: neighbours, other NUMA nodes, SMT
// siblings.
std::vector<std::string> handovers(const std::vector<int>& placement, std::int64_t rounds) {
    std::vector<std::string> pairs;
    for (std::size_t other = 1; other < placement.size(); other *= 2) {
        pairs.push_back("{\"from\": " + std::to_string(placement[0]) + ", \"to\": " + std::to_string(placement[other]) +
                        ", \"one_way_ps\": " + std::to_string(handover_ps(placement[0], placement[other], rounds)) +
                        "}");
    }
    return pairs;
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<int> placement{0}, threads{1};
    std::string scale = "full";
    for (int i = 1; i + 1 < count; i += 2) {
        const std::string option = arguments[i];
        if (option == "--cpus") placement = mpet::number_list(arguments[i + 1]);
        else if (option == "--threads") threads = mpet::number_list(arguments[i + 1]);
        else if (option == "--scale") scale = arguments[i + 1];
        else
            return std::fprintf(stderr, "mpet-roofline [--cpus 0,2,1,3] [--threads 1,2,4] [--scale tiny|quick|full]\n"),
                   2;
    }
    const Sizes sizes = sizes_of(scale);
    std::vector<std::string> flops, bytes, locks;
    for (const int n : threads) {
        mpet::Team team(n, placement);
        flops.push_back(by_threads(n, "flop_per_s", peak_flops(team, sizes.flop_rounds)));
        bytes.push_back(by_threads(n, "bytes_per_s", bandwidth(team, sizes.vector_length)));
        locks.push_back(by_threads(n, "ps", lock_handover_ps(team, sizes.lock_rounds)));
    }
    json::Object all(2);
    all.add("peak_flops", json::array(flops)).add("bandwidth", json::array(bytes));
    all.add("handover", json::array(handovers(placement, sizes.handovers))).add("lock_handover", json::array(locks));
    std::printf("%s\n", all.str().c_str());
    return 0;
}
