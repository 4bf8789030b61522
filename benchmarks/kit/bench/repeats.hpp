// When to stop repeating disturbed measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpet {

// Returns the spread of the `wanted` best repeats: the largest share of its time, in permille, that one of them lost to
// other programs.
inline std::int64_t spread_permille(std::vector<std::int64_t> lost_permille, std::size_t wanted) {
    std::sort(lost_permille.begin(), lost_permille.end());
    return lost_permille[std::min(wanted, lost_permille.size()) - 1];
}

// Returns whether the last repeat reduced the spread. Returns true while there are no more repeats than wanted, because
// there is no earlier spread to compare with.
inline bool narrows(const std::vector<std::int64_t>& lost_permille, std::size_t wanted) {
    if (lost_permille.size() <= wanted) return true;
    const std::vector<std::int64_t> before(lost_permille.begin(), lost_permille.end() - 1);
    return spread_permille(lost_permille, wanted) < spread_permille(before, wanted);
}

}  // namespace mpet
