// Tests how counters are read. On machines without hardware counters, the kernel's software events are used.
#include <sys/mman.h>

#include <vector>

#include "check.hpp"
#include "mpet/mpal.hpp"

namespace {

const mpet::CounterEvent task_clock{"TASK-CLOCK", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};
const mpet::CounterEvent page_faults{"PAGE-FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};
const mpet::CounterEvent no_such_event{"NONE", PERF_TYPE_HARDWARE, 0xffff};

// Uses a new mapping, because memory kept by an allocator causes no further page faults.
void touch_pages(std::size_t pages) {
    const std::size_t bytes = pages * 4096;
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(memory)[i] = 1;
    munmap(memory, bytes);
}

bool software_events_work() {
    mpet::ThreadCounters counters;
    counters.open({page_faults});
    counters.start();
    touch_pages(64);
    return counters.stop()[0].status == mpet::CounterStatus::ok;
}

TEST(sections_sum_the_counters_of_their_threads) {
    if (!software_events_work()) return;
    mpet::Team team(2);
    mpet::Section counted("counted"), uncounted("uncounted");
    team.count({page_faults, task_clock});
    for (int round = 0; round < 2; round++) team.run(counted, [](mpet::Worker&) { touch_pages(300); });
    team.count({});
    team.run(uncounted, [](mpet::Worker&) { touch_pages(300); });
    CHECK_EQUAL(counted.counters.size(), 2u);
    CHECK(counted.counters[0].value >= 2 * 2 * 250 && counted.counters[0].value < 2 * 2 * 2000);
    CHECK(counted.counters[1].value > 0);
    CHECK(uncounted.counters.empty());
}

TEST(a_counter_that_does_not_exist_has_a_status_and_the_others_their_values) {
    if (!software_events_work()) return;
    mpet::ThreadCounters counters;
    counters.open({no_such_event, page_faults});
    counters.start();
    touch_pages(64);
    const std::vector<mpet::CounterReading> readings = counters.stop();
    CHECK(readings[0].status == mpet::CounterStatus::unsupported ||
          readings[0].status == mpet::CounterStatus::no_permission);
    CHECK_EQUAL(readings[0].value, 0u);
    CHECK(readings[1].status == mpet::CounterStatus::ok);
    CHECK(readings[1].value > 0);
}

TEST(the_worst_status_of_a_sum_counts) {
    mpet::CounterReading sum{5, mpet::CounterStatus::ok};
    sum.add({7, mpet::CounterStatus::multiplexed});
    CHECK_EQUAL(sum.value, 12u);
    CHECK_EQUAL(std::string(name_of(sum.status)), "multiplexed");
    sum.add({0, mpet::CounterStatus::unsupported});
    CHECK_EQUAL(std::string(name_of(sum.status)), "unsupported");
}

TEST(groups_are_small_and_hold_instructions) {
    for (const auto& group : mpet::counter_groups()) {
        CHECK(group.size() <= 4);
        CHECK_EQUAL(std::string(group[0].name), "INSTR");
    }
}

}  // namespace

CHECK_MAIN
