// Tasks with work stealing. Tasks can spawn tasks, to any depth. A thread that waits for a group executes ready tasks.
//
//     mpet::run_tasks(team, section, [&] {
//         mpet::TaskGroup group;
//         group.spawn([&] { left(); });
//         group.spawn([&] { right(); });
//         group.wait();
//     });
#pragma once

#include <atomic>

#include "team.hpp"

namespace mpet {

// Returns the thread's own newest task, else the oldest task of another thread. Charges the time since the last event
// to switching if the thread had a task, to distribution if a steal succeeded, and to `idle` otherwise.
inline Task* next_task(Worker& me, mpet_part idle) {
    if (Task* task = me.queue.pop()) {
        me.probe.charge(MPET_SWITCHING);
        return task;
    }
    const int size = me.team.size();
    for (int distance = 1; distance < size; distance++) {
        if (Task* task = me.team.worker((me.id + distance) % size).queue.steal()) {
            me.probe.charge(MPET_DISTRIBUTION);
            return task;
        }
    }
    me.probe.charge(idle);
    return nullptr;
}

inline void execute_task(Worker& me, Task* task) {
    std::atomic<int>* pending = task->pending;
    task->run(*task);
    me.probe.charge(MPET_USE);
    me.pool.give_back(task);
    pending->fetch_sub(1, std::memory_order_acq_rel);
}

// A group of tasks to wait for together. Use it only inside run_tasks(), and call wait() before it goes out of scope.
class TaskGroup {
public:
    TaskGroup() = default;
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    template <class Body>
    void spawn(Body&& body) {
        Worker& me = *current_worker;
        me.probe.charge(MPET_USE);
        Task* task = me.pool.take();
        task->set(std::forward<Body>(body), &pending_);
        pending_.fetch_add(1, std::memory_order_relaxed);
        me.queue.push(task);
        me.probe.count_task();
        me.probe.charge(MPET_CREATION);
    }

    void wait() {
        Worker& me = *current_worker;
        me.probe.charge(MPET_USE);
        me.probe.count_wait();
        const mpet_part idle = me.team.size() > 1 ? MPET_IMBALANCE : MPET_JOIN;
        Backoff backoff;
        while (pending_.load(std::memory_order_acquire) > 0) {
            if (Task* task = next_task(me, idle)) {
                execute_task(me, task);
                backoff.reset();
            } else {
                backoff.pause();
            }
        }
        me.probe.charge(MPET_JOIN);
    }

private:
    std::atomic<int> pending_{0};
};

// Executes root() on the master, while the other threads execute the tasks that they can steal until root() returns.
template <class Root>
void run_tasks(Team& team, Section& section, Root&& root) {
    std::atomic<bool> finished{false};
    team.run(section, [&](Worker& me) {
        if (me.id == 0) {
            root();
            finished.store(true, std::memory_order_release);
            return;
        }
        for (Backoff backoff; !finished.load(std::memory_order_acquire);) {
            if (Task* task = next_task(me, MPET_IMBALANCE)) {
                execute_task(me, task);
                backoff.reset();
            } else {
                backoff.pause();
            }
        }
        me.probe.charge(MPET_IMBALANCE);
    });
}

}  // namespace mpet
