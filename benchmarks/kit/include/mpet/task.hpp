// Tasks of the scheduler: a task stores its closure in place, and each thread has a task queue and a pool of recycled
// tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "waiting.hpp"

namespace mpet {

struct Task {
    static constexpr std::size_t closure_bytes = 96;

    void (*run)(Task&) = nullptr;
    std::atomic<int>* pending = nullptr;  // counter of the group that the task belongs to
    Task* next_free = nullptr;
    alignas(16) unsigned char closure[closure_bytes];

    template <class Body>
    void set(Body&& body, std::atomic<int>* pending_of_group) {
        using Closure = std::decay_t<Body>;
        static_assert(sizeof(Closure) <= closure_bytes, "capture less, or by reference");
        static_assert(alignof(Closure) <= 16, "over-aligned capture");
        ::new (static_cast<void*>(closure)) Closure(std::forward<Body>(body));
        pending = pending_of_group;
        run = [](Task& task) {
            Closure* closure = std::launder(reinterpret_cast<Closure*>(task.closure));
            (*closure)();
            closure->~Closure();
        };
    }
};

// The owner pushes and pops at the back (depth first). Thieves steal from the front, where the largest tasks are.
class TaskQueue {
public:
    void push(Task* task) {
        const std::lock_guard<SpinLock> guard(lock_);
        tasks_.push_back(task);
        size_.store(tasks_.size() - front_, std::memory_order_relaxed);
    }

    Task* pop() {
        if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
        const std::lock_guard<SpinLock> guard(lock_);
        if (tasks_.size() == front_) return nullptr;
        Task* task = tasks_.back();
        tasks_.pop_back();
        shrink();
        return task;
    }

    Task* steal() {
        if (size_.load(std::memory_order_relaxed) == 0 || !lock_.try_lock()) return nullptr;
        const std::lock_guard<SpinLock> guard(lock_, std::adopt_lock);
        if (tasks_.size() == front_) return nullptr;
        Task* task = tasks_[front_++];
        shrink();
        return task;
    }

private:
    void shrink() {
        if (tasks_.size() == front_) {
            tasks_.clear();
            front_ = 0;
        } else if (front_ >= 1024) {
            tasks_.erase(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(front_));
            front_ = 0;
        }
        size_.store(tasks_.size() - front_, std::memory_order_relaxed);
    }

    SpinLock lock_;
    std::vector<Task*> tasks_;
    std::size_t front_ = 0;
    std::atomic<std::size_t> size_{0};
};

// A pool of one thread, which alone calls take() and give_back(). A stolen task is given back to the thief's pool.
class TaskPool {
public:
    Task* take() {
        if (free_ == nullptr) grow();
        Task* task = free_;
        free_ = task->next_free;
        return task;
    }
    void give_back(Task* task) {
        task->next_free = free_;
        free_ = task;
    }

private:
    static constexpr std::size_t block_tasks = 64;

    void grow() {
        blocks_.push_back(std::make_unique<Task[]>(block_tasks));
        for (std::size_t i = 0; i < block_tasks; i++) give_back(&blocks_.back()[i]);
    }

    Task* free_ = nullptr;
    std::vector<std::unique_ptr<Task[]>> blocks_;
};

}  // namespace mpet
