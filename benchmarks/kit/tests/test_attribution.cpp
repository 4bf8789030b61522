// Tests that time is charged to the right part, with kernels of known behaviour, on one and two threads.
//
// Each test takes some milliseconds. It is repeated while other programs disturb it, until three attempts have met the
// stated tolerance or the time limit is reached. Tolerances are never relaxed. If permitted, the tests run with
// real-time priority.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "check.hpp"
#include "mpet/mpal.hpp"
#include "mpet/random.hpp"

namespace {

constexpr int needed = 3;
constexpr std::chrono::seconds time_limit{20};
constexpr std::int64_t iterations = 256;

// Returns two processors that this program may use, or fewer if there are no two. Called only once, because a team pins
// the calling thread.
std::vector<int> find_two_processors() {
    cpu_set_t set;
    std::vector<int> processors;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;
    for (int id = 0; id < CPU_SETSIZE && processors.size() < 2; id++) {
        if (CPU_ISSET(static_cast<unsigned>(id), &set)) processors.push_back(id);
    }
    return processors;
}

const std::vector<int>& two_processors() {
    static const std::vector<int> processors = find_two_processors();
    return processors;
}

// Work that takes time in proportion to `units`, about four microseconds for 1000 units. Each step depends on the
// previous step.
std::uint64_t work(std::int64_t units) {
    std::uint64_t value = 1;
    for (std::int64_t i = 0; i < units; i++) value = mpet::hash64(value);
    return value;
}

void keep(std::uint64_t value) {
    if (value == 0) std::printf("a hash of zero\n");
}

using Kernel = std::function<void(mpet::Team&, mpet::Section&)>;
using Cost = std::function<std::int64_t(std::int64_t iteration)>;

template <class Schedule>
Kernel loop(Schedule schedule, Cost cost) {
    return [=](mpet::Team& team, mpet::Section& section) {
        mpet::parallel_for(team, section, {0, iterations}, schedule, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; i++) keep(work(cost(i)));
        });
    };
}

struct Measured {
    double redundancy, utilisation;
    double part[MPET_PARTS];  // fractions of n * time
};

// R and U as computed by the server (docs/method), relative to the fastest of all runs on one thread.
class Measurement {
public:
    explicit Measurement(Kernel kernel) : kernel_(std::move(kernel)) {}

    Measured attempt() {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a thread that has slept is not preempted soon
        const mpet::Section one = run(single_), two = run(pair_);
        fastest_ns_ = std::min(fastest_ns_, static_cast<double>(one.time_ns));
        Measured measured{};
        const double total = 2.0 * static_cast<double>(two.time_ns);
        for (int i = 0; i < MPET_PARTS; i++)
            measured.part[i] = static_cast<double>(two.parts[static_cast<std::size_t>(i)]) / total;
        measured.utilisation = measured.part[MPET_USE];
        measured.redundancy = total * measured.utilisation / fastest_ns_;
        return measured;
    }

private:
    mpet::Section run(mpet::Team& team) {
        mpet::Section section("kernel");
        kernel_(team, section);
        return section;
    }

    Kernel kernel_;
    mpet::Team single_{1, two_processors()}, pair_{2, two_processors()};
    double fastest_ns_ = 1e18;
};

bool near(double value, double expected, double tolerance) { return std::abs(value - expected) <= tolerance; }

void print(const Measured& m) {
    std::fprintf(stderr, "  last attempt: R %.3f U %.3f l %.3f w %.3f c %.3f d %.3f s %.3f j %.3f\n", m.redundancy,
                 m.utilisation, m.part[MPET_LOCK], m.part[MPET_IMBALANCE], m.part[MPET_CREATION],
                 m.part[MPET_DISTRIBUTION], m.part[MPET_SWITCHING], m.part[MPET_JOIN]);
}

void check_kernel(const Kernel& kernel, const std::function<bool(const Measured&)>& as_known) {
    Measurement measurement(kernel);
    Measured last{};
    int met = 0;
    const auto ends = std::chrono::steady_clock::now() + time_limit;
    while (met < needed && std::chrono::steady_clock::now() < ends) {
        last = measurement.attempt();
        met += as_known(last) ? 1 : 0;
    }
    CHECK_EQUAL(met, needed);
    if (met < needed) print(last);
}

// Iteration i costs i: the first half of a static loop is a quarter of the work, so w = (3/4 - 1/4) / (2 * 3/4).
TEST(a_triangular_static_loop_is_a_third_imbalance) {
    check_kernel(loop(mpet::Static{}, [](std::int64_t i) { return 4 * i; }), [](const Measured& m) {
        return near(m.part[MPET_IMBALANCE], 1.0 / 3, 0.02) && near(m.redundancy, 1, 0.05) &&
               m.part[MPET_DISTRIBUTION] < 0.02;
    });
}

// Costs x + 1.5 x^2 at x = i / iterations split 3 : 13, so w = (13 - 3) / (2 * 13) = 0.385.
TEST(a_steeper_static_loop_is_0_385_imbalance) {
    const Cost cost = [](std::int64_t i) { return 4 * i + 6 * i * i / iterations; };
    check_kernel(loop(mpet::Static{}, cost), [](const Measured& m) {
        return near(m.part[MPET_IMBALANCE], 0.385, 0.02) && near(m.redundancy, 1, 0.05);
    });
}

TEST(equal_independent_work_is_all_use) {
    check_kernel(loop(mpet::Static{}, [](std::int64_t) { return 600; }),
                 [](const Measured& m) { return near(m.redundancy, 1, 0.03) && near(m.utilisation, 1, 0.03); });
}

TEST(one_thread_alone_waits_for_nobody) {
    mpet::Team single(1, two_processors());
    mpet::Section section("alone");
    for (int round = 0; round < 20; round++)
        loop(mpet::Static{}, [](std::int64_t i) { return 4 * i; })(single, section);
    CHECK_EQUAL(section.parts[MPET_IMBALANCE], 0u);
    CHECK_EQUAL(section.parts[MPET_LOCK], 0u);
    CHECK(section.parts[MPET_USE] * 100 > section.time_ns * 97);
}

// The lock is fair: the threads take turns, and each thread waits while the other one works.
TEST(one_lock_held_throughout_delays_half_the_time) {
    const Kernel kernel = [](mpet::Team& team, mpet::Section& section) {
        mpet::Lock lock;
        mpet::parallel_for(team, section, {0, iterations}, mpet::Static{}, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; i++) {
                const mpet::LockGuard guard(lock);
                keep(work(4000));  // long compared with the transfer of a cache line
            }
        });
    };
    check_kernel(kernel,
                 [](const Measured& m) { return near(m.part[MPET_LOCK], 0.5, 0.03) && near(m.redundancy, 1, 0.06); });
}

TEST(chunks_of_one_show_in_distribution_not_in_redundancy) {
    const Kernel kernel = [](mpet::Team& team, mpet::Section& section) {
        mpet::parallel_for(team, section, {0, 16 * iterations}, mpet::Dynamic{1},
                           [&](std::int64_t, std::int64_t) { keep(work(60)); });
    };
    check_kernel(kernel, [](const Measured& m) {
        return m.part[MPET_DISTRIBUTION] > 0.03 && near(m.redundancy, 1, 0.1) &&
               m.part[MPET_DISTRIBUTION] > 3 * m.part[MPET_IMBALANCE];
    });
}

TEST(a_second_thread_without_a_task_is_imbalance) {
    const Kernel kernel = [](mpet::Team& team, mpet::Section& section) {
        mpet::run_tasks(team, section, [] { keep(work(400000)); });
    };
    check_kernel(kernel, [](const Measured& m) {
        return near(m.part[MPET_IMBALANCE], 0.5, 0.02) && near(m.redundancy, 1, 0.05);
    });
}

TEST(small_tasks_show_in_creation_and_switching) {
    const Kernel kernel = [](mpet::Team& team, mpet::Section& section) {
        mpet::run_tasks(team, section, [] {
            mpet::TaskGroup group;
            for (int i = 0; i < 4000; i++) group.spawn([] { keep(work(20)); });
            group.wait();
        });
    };
    check_kernel(kernel, [](const Measured& m) {
        return m.part[MPET_CREATION] > 0.03 && m.part[MPET_SWITCHING] + m.part[MPET_DISTRIBUTION] > 0.03 &&
               m.part[MPET_LOCK] == 0;
    });
}

TEST(a_serial_pipeline_keeps_one_of_two_threads_idle) {
    const Kernel kernel = [](mpet::Team& team, mpet::Section& section) {
        mpet::Pipeline({{mpet::StageKind::serial, [](std::int64_t) { keep(work(2000)); }}}, 200, 4).run(team, section);
    };
    check_kernel(kernel, [](const Measured& m) {
        return near(m.part[MPET_IMBALANCE], 0.5, 0.03) && near(m.redundancy, 1, 0.05);
    });
}

}  // namespace

int main(int count, char** arguments) {
    if (two_processors().size() < 2) {
        std::printf("skipped: attribution needs two processors\n");
        return 0;
    }
    alarm(240);  // a deadlock with real-time priority would block the machine
    const sched_param lowest{sched_get_priority_min(SCHED_FIFO)};
    if (sched_setscheduler(0, SCHED_FIFO, &lowest) != 0) std::printf("without real-time priority\n");
    return check::run(count, arguments);
}
