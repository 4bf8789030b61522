// Deterministic inputs: the same numbers on every machine.
#pragma once

#include <cstdint>

namespace mpet {

// SplitMix64 (Steele, Lea, Flood 2014) hashes a counter bijectively, so value i does not depend on earlier values.
inline std::uint64_t hash64(std::uint64_t value) {
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

// Returns a number in [0, 1). It is a multiple of 2^-53 and thus exact in a double.
inline double unit_double(std::uint64_t key) { return static_cast<double>(hash64(key) >> 11) * 0x1p-53; }

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(hash64(seed)) {}

    std::uint64_t next() { return hash64(state_++); }
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
    std::uint64_t state_;
};

}  // namespace mpet
