// A fair lock: threads acquire it in the order of their requests. The time from request to acquisition is charged to
// lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "team.hpp"

namespace mpet {

class Lock {
public:
    void acquire() {
        if constexpr (probing) current_worker->probe.charge(MPET_USE);
        const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        for (Backoff backoff; serving_.load(std::memory_order_acquire) != ticket;) backoff.pause();
        if constexpr (probing) current_worker->probe.charge(MPET_LOCK);
    }

    void release() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> next_{0};
    std::atomic<std::uint32_t> serving_{0};
};

class LockGuard {
public:
    explicit LockGuard(Lock& lock) : lock_(lock) { lock_.acquire(); }
    ~LockGuard() { lock_.release(); }
    LockGuard(const LockGuard&) = delete;
    LockGuard& operator=(const LockGuard&) = delete;

private:
    Lock& lock_;
};

}  // namespace mpet
