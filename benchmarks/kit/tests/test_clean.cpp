// Tests that the clean build of the same code reads the clock only at the start and at the end of a section.
#undef MPET_PROBES
#define MPET_PROBES 0
#define MPET_CLOCK_HOOK counted_clock

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "check.hpp"

static std::atomic<std::uint64_t> readings{0};
extern "C" std::uint64_t counted_clock() { return ++readings; }

#include "mpet/mpal.hpp"

namespace {

static_assert(std::is_empty_v<mpet::Probe>, "a clean build keeps no accounts");

TEST(a_section_reads_the_clock_twice) {
    for (const int size : {1, 2}) {
        mpet::Team team(size);
        mpet::Section section("everything");
        mpet::Lock lock;
        const std::uint64_t before = readings.load();
        team.run(section, [&](mpet::Worker& me) {
            const mpet::LockGuard guard(lock);
            (void)me;
        });
        team.run(section, [](mpet::Worker& me) { me.barrier(); });
        mpet::parallel_for(team, section, {0, 100}, mpet::Dynamic{1}, [](std::int64_t, std::int64_t) {});
        mpet::run_tasks(team, section, [] {
            mpet::TaskGroup group;
            for (int i = 0; i < 100; i++) group.spawn([] {});
            group.wait();
        });
        mpet::wavefront(team, section, {4, 4}, [](std::int64_t, std::int64_t) {});
        mpet::Pipeline({{mpet::StageKind::serial, [](std::int64_t) {}}}, 10, 2).run(team, section);
        CHECK_EQUAL(section.instances, 6u);
        CHECK_EQUAL(readings.load() - before, 2 * section.instances);
        for (const std::uint64_t part : section.parts) CHECK_EQUAL(part, 0u);
    }
}

}  // namespace

CHECK_MAIN
