// How a thread waits for another thread: it spins, and yields its processor if the wait is long.
#pragma once

#include <sched.h>

#include <atomic>

namespace mpet {

inline void spin_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

// Large if every thread has its own processor. Small if threads share processors, so that the awaited thread runs soon.
inline std::atomic<int> spins_before_yield{4000};

class Backoff {
public:
    void pause() {
        if (spins_ < spins_before_yield.load(std::memory_order_relaxed)) {
            spins_++;
            spin_pause();
        } else {
            sched_yield();  // on a loaded machine, the awaited thread may need this processor
        }
    }
    void reset() { spins_ = 0; }

private:
    int spins_ = 0;
};

// Guards the short critical sections of the middleware itself. Programs use Lock, which is fair and accounted for.
class SpinLock {
public:
    bool try_lock() {
        return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
    }
    void lock() {
        for (Backoff backoff; !try_lock();) backoff.pause();
    }
    void unlock() { held_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> held_{false};
};

}  // namespace mpet
