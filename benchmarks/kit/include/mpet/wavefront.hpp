// A grid of blocks in which each block depends on its left and its upper neighbour, and thus on the upper left one.
// With `lead` = 2 it also depends on the upper right one. Threads take rows from the top, and follow the row above at a
// distance.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "loops.hpp"

namespace mpet {

struct Grid {
    std::int64_t rows;
    std::int64_t columns;
    std::int64_t lead = 1;  // number of blocks by which the row above must be ahead
};

// Executes body(row, column) for all blocks. Waiting for the row above is charged to imbalance, taking a row to
// distribution.
template <class Body>
void wavefront(Team& team, Section& section, Grid grid, Body&& body) {
    struct alignas(128) Progress {
        std::atomic<std::int64_t> columns{0};
    };
    std::vector<Progress> done(static_cast<std::size_t>(grid.rows));
    ChunkSource rows({0, grid.rows}, Dynamic{1});
    const auto wait_for = [&](Worker& me, const Progress& above, std::int64_t columns) {
        if (above.columns.load(std::memory_order_acquire) >= columns) return;
        me.probe.charge(MPET_USE);
        for (Backoff backoff; above.columns.load(std::memory_order_acquire) < columns;) backoff.pause();
        me.probe.charge(MPET_IMBALANCE);
    };
    team.run(section, [&](Worker& me) {
        for (Range row{}; rows.fetch(me.probe, row);) {
            Progress& mine = done[static_cast<std::size_t>(row.begin)];
            for (std::int64_t column = 0; column < grid.columns; column++) {
                if (row.begin > 0) {
                    wait_for(me, done[static_cast<std::size_t>(row.begin - 1)],
                             std::min(column + grid.lead, grid.columns));
                }
                body(row.begin, column);
                mine.columns.store(column + 1, std::memory_order_release);
            }
        }
    });
}

}  // namespace mpet
