// The OpenMP runtime's own function behind one that this library stands in front of.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace mpet {
namespace {

// A runtime that came with dlopen() is out of the global scope.
inline void* find_in_runtime(const char* name) {
    for (const char* file : {"libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so"}) {
        void* runtime = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
        void* function = runtime != nullptr ? dlsym(runtime, name) : nullptr;
        if (function != nullptr) return function;
    }
    return nullptr;
}

inline void* find_next(const char* name) {
    void* function = dlsym(RTLD_NEXT, name);
    if (function == nullptr) function = find_in_runtime(name);
    if (function == nullptr) {
        std::fprintf(stderr, "mpet-profile: the program calls %s, which its OpenMP runtime does not have\n", name);
        std::abort();
    }
    return function;
}

template <class Function>
Function* next_function(std::atomic<Function*>& found, const char* name) {
    Function* function = found.load(std::memory_order_relaxed);
    if (__builtin_expect(function == nullptr, 0)) {
        function = reinterpret_cast<Function*>(find_next(name));
        found.store(function, std::memory_order_relaxed);
    }
    return function;
}

}  // namespace
}  // namespace mpet

#define NEXT(name)                                          \
    ([]() {                                                 \
        static std::atomic<decltype(name)*> found{nullptr}; \
        return next_function<decltype(name)>(found, #name); \
    }())

#define EXPORT extern "C" __attribute__((visibility("default")))
