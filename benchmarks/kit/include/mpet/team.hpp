// A team of pinned threads that execute parallel sections, and the measurements of a section.
//
//     mpet::Team team(4, {0, 2, 1, 3});                        // four threads on these processors
//     mpet::Section section("blur");
//     team.run(section, [&](mpet::Worker& me) { ... me.barrier(); ... });
//
// The master (worker 0, the thread that created the team) and the other workers all execute the body. In the profile
// build every nanosecond of every thread is charged to one part (see accounting.h; definitions: docs/kit-reference.md).
#pragma once

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "counters.hpp"
#include "probe.hpp"
#include "task.hpp"
#include "waiting.hpp"

namespace mpet {

class Team;

// The measurements of one parallel section, summed over its instances.
struct Section {
    explicit Section(std::string name_of_section) : name(std::move(name_of_section)) {}

    void clear() { *this = Section(std::move(name)); }

    std::string name;
    std::uint64_t instances = 0;
    std::uint64_t time_ns = 0;
    Parts parts{};      // zeros in the clean build
    TaskCounts counts;  // zeros in the clean build
    std::vector<CounterReading> counters;
};

struct Range {
    std::int64_t begin;
    std::int64_t end;

    std::int64_t size() const { return end - begin; }
};

// One thread of a team. It is aligned to 128 bytes: two cache lines, which processors fetch together.
struct alignas(128) Worker {
    Worker(Team& team_of_worker, int index) : team(team_of_worker), id(index) {}

    void barrier();
    Range share(Range whole) const;  // this worker's contiguous part; the sizes of the parts differ by at most one

    Team& team;
    const int id;
    Probe probe;
    TaskQueue queue;
    TaskPool pool;
    ThreadCounters counters;
    std::vector<CounterReading> counted;
};

// The worker of the calling thread while a section runs.
inline thread_local Worker* current_worker = nullptr;

// A barrier for all threads of a section. It records when the last thread arrives, which splits a wait into imbalance
// and join.
class Barrier {
public:
    explicit Barrier(int size) : size_(size) {}

    void wait(Probe& probe) {
        probe.charge(MPET_USE);
        const std::uint64_t generation = generation_.load(std::memory_order_relaxed);
        std::atomic<std::uint64_t>& last_arrival = last_arrival_[generation % slots];
        if constexpr (probing) raise(last_arrival, probe.last_ns());
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
            last_arrival_[(generation + 2) % slots].store(0, std::memory_order_relaxed);
            arrived_.store(0, std::memory_order_relaxed);
            generation_.store(generation + 1, std::memory_order_release);
        } else {
            for (Backoff backoff; generation_.load(std::memory_order_acquire) == generation;) backoff.pause();
        }
        if constexpr (probing) probe.charge_wait(last_arrival.load(std::memory_order_relaxed), mpet_now());
    }

private:
    static constexpr std::size_t slots = 4;  // one in use, one being read, one being cleared

    static void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) {
        std::uint64_t seen = highest.load(std::memory_order_relaxed);
        while (seen < value && !highest.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
        }
    }

    const int size_;
    alignas(128) std::atomic<int> arrived_{0};
    alignas(128) std::atomic<std::uint64_t> generation_{0};
    std::atomic<std::uint64_t> last_arrival_[slots] = {};
};

class Team {
public:
    // Runs thread i on processors[i]. With an empty list, the kernel decides the placement.
    explicit Team(int size, std::vector<int> processors = {}) : processors_(std::move(processors)), barrier_(size) {
        mpet_clock_start();
        sched_getaffinity(0, sizeof affinity_before_, &affinity_before_);
        if (size > CPU_COUNT(&affinity_before_)) spins_before_yield = 20;
        for (int id = 0; id < size; id++) workers_.push_back(std::make_unique<Worker>(*this, id));
        pin(0);
        for (int id = 1; id < size; id++)
            threads_.emplace_back([this, id] { serve(*workers_[static_cast<std::size_t>(id)]); });
    }

    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    ~Team() {
        stopping_ = true;
        publish_job();
        for (std::thread& thread : threads_) thread.join();
        if (!processors_.empty()) sched_setaffinity(0, sizeof affinity_before_, &affinity_before_);
    }

    int size() const { return static_cast<int>(workers_.size()); }
    Worker& worker(int id) { return *workers_[static_cast<std::size_t>(id)]; }

    // Executes body(worker) on every thread and adds the measurements to the section.
    template <class Body>
    void run(Section& section, Body&& body) {
        set_job(body);
        wake_all();
        begin_ns_ = mpet_now();
        std::uint64_t end_ns = execute_job();
        if constexpr (probing) end_ns = close_accounts(section, end_ns);
        section.time_ns += end_ns - begin_ns_;
        section.instances++;
        if (counting_) add_counters(section);
    }

    // Executes body(worker) without measuring, for example to let the threads touch their inputs first.
    template <class Body>
    void run_unmeasured(Body&& body) {
        Section ignored("");
        run(ignored, std::forward<Body>(body));
    }

    Barrier& barrier() { return barrier_; }

    // Counts these events in every following section. An empty list disables counting.
    void count(const std::vector<CounterEvent>& events) {
        counting_ = false;
        run_unmeasured([&](Worker& me) { me.counters.open(events); });
        counting_ = !events.empty();
    }

private:
    using Job = void (*)(void*, Worker&);

    template <class Body>
    void set_job(Body& body) {
        body_ = const_cast<void*>(static_cast<const void*>(&body));
        job_ = [](void* context, Worker& me) { (*static_cast<Body*>(context))(me); };
    }

    void pin(int id) const {
        if (processors_.empty()) return;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(static_cast<unsigned>(processors_[static_cast<std::size_t>(id) % processors_.size()]), &set);
        pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }

    std::uint64_t execute_job() {
        arrived_.store(0, std::memory_order_relaxed);
        publish_job();
        execute(*workers_[0]);
        for (Backoff backoff; arrived_.load(std::memory_order_acquire) < size();) backoff.pause();
        return mpet_now();
    }

    void execute(Worker& me) {
        current_worker = &me;  // set each time, because a thread may be the master of several teams
        me.probe.open(begin_ns_);
        if (counting_) me.counters.start();
        me.probe.charge(MPET_DISTRIBUTION);
        job_(body_, me);
        me.probe.charge(MPET_USE);
        if (counting_) me.counted = me.counters.stop();
        arrived_.fetch_add(1, std::memory_order_acq_rel);
    }

    // Returns the end of the section. It is later than the master's reading if the clock of another core is a tick
    // ahead.
    std::uint64_t close_accounts(Section& section, std::uint64_t end_ns) {
        std::uint64_t last_arrival = 0;
        for (const auto& worker : workers_) last_arrival = std::max(last_arrival, worker->probe.last_ns());
        end_ns = std::max(end_ns, last_arrival);
        for (const auto& worker : workers_) {
            worker->probe.charge_wait(last_arrival, end_ns);
            worker->probe.add_to(section.parts);
            section.counts.add(worker->probe.counts());
        }
        return end_ns;
    }

    void add_counters(Section& section) const {
        for (const auto& worker : workers_) {
            section.counters.resize(worker->counted.size());
            for (std::size_t i = 0; i < worker->counted.size(); i++) section.counters[i].add(worker->counted[i]);
        }
    }

    void serve(Worker& me) {
        pin(me.id);
        for (std::uint64_t seen = 0; !stopping_;) {
            wait_for_job(seen);
            seen++;
            if (!stopping_) execute(me);
        }
    }

    // Spins for two milliseconds, then sleeps until wake_all(). No thread is asleep when a section begins.
    void wait_for_job(std::uint64_t seen) {
        while (generation_.load(std::memory_order_acquire) == seen) {
            const std::uint64_t patience_ends = mpet_monotonic_ns() + 2000000;
            while (generation_.load(std::memory_order_acquire) == seen && mpet_monotonic_ns() < patience_ends) {
                for (int i = 0; i < 32; i++) spin_pause();
            }
            if (generation_.load(std::memory_order_acquire) == seen) sleep(seen);
        }
    }

    void sleep(std::uint64_t seen) {
        std::unique_lock<std::mutex> lock(mutex_);
        sleepers_.fetch_add(1);
        const std::uint64_t request = wake_requests_.load();
        wake_.wait(lock, [&] { return wake_requests_.load() != request || generation_.load() != seen || stopping_; });
        sleepers_.fetch_sub(1);
    }

    // A thread that fell asleep after wake_all() has incremented sleepers_ before it checked the generation.
    void publish_job() {
        generation_.fetch_add(1);
        if (sleepers_.load() > 0) notify();
    }

    // Notifies repeatedly, because a thread may go back to sleep before this thread sees that it woke up.
    void wake_all() {
        while (sleepers_.load() > 0) {
            notify();
            sched_yield();
        }
    }

    void notify() {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            wake_requests_.fetch_add(1);
        }
        wake_.notify_all();
    }

    const std::vector<int> processors_;
    cpu_set_t affinity_before_{};
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::thread> threads_;
    Barrier barrier_;
    Job job_ = nullptr;
    void* body_ = nullptr;
    std::uint64_t begin_ns_ = 0;
    bool counting_ = false;
    alignas(128) std::atomic<std::uint64_t> generation_{0};
    alignas(128) std::atomic<int> arrived_{0};
    std::atomic<bool> stopping_{false};
    std::atomic<int> sleepers_{0};
    std::atomic<std::uint64_t> wake_requests_{0};
    std::mutex mutex_;
    std::condition_variable wake_;
};

inline void Worker::barrier() { team.barrier().wait(probe); }

inline Range Worker::share(Range whole) const {
    const std::int64_t n = team.size();
    return {whole.begin + whole.size() * id / n, whole.begin + whole.size() * (id + 1) / n};
}

}  // namespace mpet
