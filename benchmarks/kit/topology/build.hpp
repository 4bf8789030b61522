// How this program was built, and where it runs.
#pragma once

#include <unistd.h>

#include <ctime>
#include <string>

#include "topology.hpp"

#ifndef MPET_COMPILER_FLAGS
#define MPET_COMPILER_FLAGS ""
#endif
#ifndef MPET_KIT_VERSION
#define MPET_KIT_VERSION "unknown"
#endif

namespace mpet {

inline Build this_build() {
#if defined(__clang__)
    return {"clang++ " __clang_version__, MPET_COMPILER_FLAGS};
#else
    return {"g++ " __VERSION__, MPET_COMPILER_FLAGS};
#endif
}

inline std::string host_name() {
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unnamed";
    return name;
}

inline std::string utc_now(const char* format = "%Y-%m-%dT%H:%M:%SZ") {
    const std::time_t now = std::time(nullptr);
    std::tm broken_down{};
    gmtime_r(&now, &broken_down);
    char text[32];
    std::strftime(text, sizeof text, format, &broken_down);
    return text;
}

}  // namespace mpet
