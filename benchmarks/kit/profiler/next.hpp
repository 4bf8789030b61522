// Finds the OpenMP runtime's own function for a function that this library intercepts.
#pragma once

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace mpet {
namespace {

// The loaded files that have the name of an OpenMP runtime, with any suffix: libgomp.so.1, libgomp-a34b3233.so.1.0.0
// (as in Python wheels), libomp.so.5.
struct Runtimes {
    static constexpr int most = 16;
    char paths[most][PATH_MAX];
    int count = 0;

    static int add(dl_phdr_info* info, std::size_t, void* context) {
        Runtimes& runtimes = *static_cast<Runtimes*>(context);
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
        for (const char* begin : {"libgomp", "libomp", "libiomp"}) {
            if (std::strncmp(file, begin, std::strlen(begin)) != 0 || runtimes.count == most) continue;
            std::snprintf(runtimes.paths[runtimes.count++], PATH_MAX, "%s", info->dlpi_name);
        }
        return 0;
    }
};

// Finds the function in a runtime that was loaded with dlopen() and is therefore not in the global scope.
inline void* find_in_runtime(const char* name) {
    static Runtimes runtimes;  // too large for the stack of a small thread
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    runtimes.count = 0;
    dl_iterate_phdr(Runtimes::add, &runtimes);
    void* function = nullptr;
    for (int i = 0; i < runtimes.count && function == nullptr; i++) {
        void* runtime = dlopen(runtimes.paths[i], RTLD_LAZY | RTLD_NOLOAD);
        if (runtime != nullptr) function = dlsym(runtime, name);
    }
    pthread_mutex_unlock(&mutex);
    return function;
}

inline void* find_next(const char* name) {
    void* function = dlsym(RTLD_NEXT, name);
    if (function == nullptr) function = find_in_runtime(name);
    if (function == nullptr) {
        std::fprintf(stderr, "mpet-profile: the program calls %s, which its OpenMP runtime does not provide\n", name);
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
