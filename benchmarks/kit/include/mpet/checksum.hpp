// Checksums of results (FNV-1a with 64 bits per step). Floating-point results contribute their bits: the kit is built
// without fused or reordered arithmetic, so IEEE 754 yields the same bits on every machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mpet {

class Checksum {
public:
    template <class Number>
    void add(Number number) {
        static_assert(std::is_arithmetic_v<Number>);
        std::uint64_t bits = 0;
        if constexpr (std::is_floating_point_v<Number>) {
            const double widened = static_cast<double>(number);
            std::memcpy(&bits, &widened, sizeof bits);
        } else {
            bits = static_cast<std::uint64_t>(number);
        }
        value_ = (value_ ^ bits) * UINT64_C(0x100000001b3);
        value_ ^= value_ >> 29;
    }

    template <class Container>
    void add_all(const Container& numbers) {
        for (const auto number : numbers) add(number);
    }

    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = UINT64_C(0xcbf29ce484222325);
};

template <class Container>
std::uint64_t checksum_of(const Container& numbers) {
    Checksum checksum;
    checksum.add_all(numbers);
    return checksum.value();
}

}  // namespace mpet
