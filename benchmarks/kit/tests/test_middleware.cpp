// Tests of the middleware's guarantees: every index is executed once, dependencies are respected, and the parts always
// add up to n * time.
#include <array>
#include <atomic>
#include <chrono>
#include <initializer_list>
#include <numeric>
#include <thread>

#include "check.hpp"
#include "mpet/mpal.hpp"

namespace {

constexpr std::initializer_list<int> sizes{1, 2, 3};

void check_sum(const mpet::Section& section, int threads) {
    const std::uint64_t total = std::accumulate(section.parts.begin(), section.parts.end(), std::uint64_t{0});
    CHECK_EQUAL(total, static_cast<std::uint64_t>(threads) * section.time_ns);
    CHECK(section.time_ns > 0);
}

template <class Schedule>
void check_loop(Schedule schedule) {
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("loop");
        for (const std::int64_t length : {0, 1, 2, 1000}) {
            std::vector<std::atomic<int>> seen(static_cast<std::size_t>(length));
            mpet::parallel_for(team, section, {100, 100 + length}, schedule, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; i++) seen[static_cast<std::size_t>(i - 100)]++;
            });
            for (const auto& times : seen) CHECK_EQUAL(times.load(), 1);
        }
        CHECK_EQUAL(section.instances, 4u);
        check_sum(section, size);
    }
}

TEST(static_loops_visit_every_index_once) { check_loop(mpet::Static{}); }
TEST(dynamic_loops_visit_every_index_once) { check_loop(mpet::Dynamic{7}); }
TEST(guided_loops_visit_every_index_once) { check_loop(mpet::Guided{3}); }

TEST(shares_are_contiguous_and_even) {
    mpet::Team team(3);
    std::int64_t next = 5;
    for (int id = 0; id < 3; id++) {
        const mpet::Range mine = team.worker(id).share({5, 15});
        CHECK_EQUAL(mine.begin, next);
        CHECK(mine.size() == 3 || mine.size() == 4);
        next = mine.end;
    }
    CHECK_EQUAL(next, 15);
}

std::uint64_t fibonacci(int number) {
    if (number < 2) return static_cast<std::uint64_t>(number);
    std::uint64_t left = 0, right = 0;
    mpet::TaskGroup group;
    group.spawn([number, &left] { left = fibonacci(number - 1); });
    group.spawn([number, &right] { right = fibonacci(number - 2); });
    group.wait();
    return left + right;
}

TEST(tasks_spawn_tasks) {
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("tasks");
        std::uint64_t result = 0;
        mpet::run_tasks(team, section, [&] { result = fibonacci(15); });
        CHECK_EQUAL(result, 610u);
        check_sum(section, size);
        CHECK(section.parts[MPET_CREATION] > 0);
        if (size == 1) CHECK_EQUAL(section.parts[MPET_IMBALANCE], 0u);
    }
}

TEST(tasks_are_stolen) {
    mpet::Team team(2);
    mpet::Section section("steal");
    std::atomic<bool> other_came{false};
    mpet::run_tasks(team, section, [&] {
        mpet::TaskGroup group;
        group.spawn([&] { other_came = true; });
        while (!other_came) std::this_thread::yield();  // the master executes nothing meanwhile
        group.wait();
    });
    CHECK(section.parts[MPET_DISTRIBUTION] > 0);
    check_sum(section, 2);
}

TEST(barriers_hold_everybody_back) {
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("barrier");
        std::atomic<int> arrived{0}, wrong{0};
        team.run(section, [&](mpet::Worker& me) {
            for (int round = 1; round <= 200; round++) {
                arrived++;
                me.barrier();
                if (arrived.load() < round * size) wrong++;
                me.barrier();
            }
        });
        CHECK_EQUAL(wrong.load(), 0);
        check_sum(section, size);
    }
}

TEST(locks_exclude) {
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("lock");
        mpet::Lock lock;
        std::int64_t unprotected = 0;
        team.run(section, [&](mpet::Worker&) {
            for (int i = 0; i < 1000; i++) {
                const mpet::LockGuard guard(lock);
                unprotected++;
            }
        });
        CHECK_EQUAL(unprotected, 1000 * size);
        CHECK(section.parts[MPET_LOCK] > 0);
        check_sum(section, size);
    }
}

TEST(wavefronts_keep_their_lead) {
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("wavefront");
        const mpet::Grid grid{12, 9, 2};
        std::vector<std::atomic<int>> done(12 * 9);
        std::atomic<int> wrong{0};
        const auto is_done = [&](std::int64_t row, std::int64_t column) {
            return done[static_cast<std::size_t>(row * 9 + column)].load() == 1;
        };
        mpet::wavefront(team, section, grid, [&](std::int64_t row, std::int64_t column) {
            if (column > 0 && !is_done(row, column - 1)) wrong++;
            if (row > 0 && !is_done(row - 1, column)) wrong++;
            if (row > 0 && column + 1 < 9 && !is_done(row - 1, column + 1)) wrong++;
            done[static_cast<std::size_t>(row * 9 + column)]++;
        });
        CHECK_EQUAL(wrong.load(), 0);
        for (const auto& times : done) CHECK_EQUAL(times.load(), 1);
        check_sum(section, size);
    }
}

TEST(pipelines_keep_order_and_window) {
    constexpr std::int64_t items = 60, window = 4;
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("pipeline");
        std::array<std::atomic<int>, window> slots{};
        std::vector<std::int64_t> put_out;
        std::atomic<int> wrong{0};
        mpet::Pipeline pipeline({{mpet::StageKind::serial,
                                  [&](std::int64_t item) {
                                      if (slots[static_cast<std::size_t>(item % window)]++ != 0) wrong++;
                                  }},
                                 {mpet::StageKind::parallel,
                                  [&](std::int64_t item) {
                                      if (slots[static_cast<std::size_t>(item % window)] != 1) wrong++;
                                  }},
                                 {mpet::StageKind::serial,
                                  [&](std::int64_t item) {
                                      slots[static_cast<std::size_t>(item % window)]--;
                                      put_out.push_back(item);
                                  }}},
                                items, window);
        pipeline.run(team, section);
        CHECK_EQUAL(wrong.load(), 0);
        CHECK_EQUAL(put_out.size(), static_cast<std::size_t>(items));
        for (std::int64_t i = 0; i < static_cast<std::int64_t>(put_out.size()); i++)
            CHECK_EQUAL(put_out[static_cast<std::size_t>(i)], i);
        check_sum(section, size);
    }
}

TEST(task_graphs_keep_dependencies) {
    for (const int size : sizes) {
        mpet::Team team(size);
        mpet::Section section("graph");
        mpet::TaskGraph graph;
        constexpr std::size_t nodes = 200;
        std::vector<std::atomic<int>> done(nodes);
        std::atomic<int> wrong{0};
        for (std::size_t node = 0; node < nodes; node++) {
            graph.add([&done, &wrong, node] {
                if (node >= 3 && (done[node - 3] == 0 || done[node / 2] == 0)) wrong++;
                done[node]++;
            });
            if (node >= 3) graph.precede(node - 3, node);
            if (node >= 3) graph.precede(node / 2, node);
        }
        graph.run(team, section);
        CHECK_EQUAL(wrong.load(), 0);
        for (const auto& times : done) CHECK_EQUAL(times.load(), 1);
        check_sum(section, size);
    }
}

TEST(threads_that_fell_asleep_wake_up) {
    mpet::Team team(3);
    mpet::Section section("naps");
    for (int round = 0; round < 8; round++) {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(round));  // around the two milliseconds for which threads spin
        std::atomic<int> came{0};
        team.run(section, [&](mpet::Worker&) { came++; });
        CHECK_EQUAL(came.load(), 3);
    }
    check_sum(section, 3);
}

TEST(many_short_sections_add_up) {
    mpet::Team team(2);
    mpet::Section section("short");
    for (int round = 0; round < 2000; round++) team.run(section, [](mpet::Worker&) {});
    CHECK_EQUAL(section.instances, 2000u);
    check_sum(section, 2);
}

TEST(a_cleared_section_starts_again) {
    mpet::Team team(1);
    mpet::Section section("again");
    team.run(section, [](mpet::Worker&) {});
    section.clear();
    CHECK_EQUAL(section.time_ns, 0u);
    CHECK_EQUAL(section.name, std::string("again"));
}

}  // namespace

CHECK_MAIN
