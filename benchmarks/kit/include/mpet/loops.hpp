// Parallel loops: static (one contiguous part per thread), dynamic (chunks, first come first served) and guided (chunks
// whose size shrinks with the remaining iterations). A loop body receives a half-open range: body(begin, end).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "team.hpp"

namespace mpet {

struct Static {};

struct Dynamic {
    std::int64_t chunk = 1;
};

struct Guided {
    std::int64_t smallest_chunk = 1;
};

// Distributes the chunks of one loop. Fetching a chunk is charged to distribution.
class ChunkSource {
public:
    ChunkSource(Range whole, Dynamic schedule) : whole_(whole), next_(whole.begin), chunk_(schedule.chunk) {}
    ChunkSource(Range whole, Guided schedule, int threads)
        : whole_(whole), next_(whole.begin), chunk_(schedule.smallest_chunk), shares_(2 * threads) {}

    // Returns false when the loop has no iterations left.
    bool fetch(Probe& probe, Range& chunk) {
        probe.charge(MPET_USE);
        const bool found = shares_ == 0 ? fetch_fixed(chunk) : fetch_shrinking(chunk);
        probe.charge(MPET_DISTRIBUTION);
        return found;
    }

private:
    bool fetch_fixed(Range& chunk) {
        chunk.begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
        chunk.end = std::min(chunk.begin + chunk_, whole_.end);
        return chunk.begin < whole_.end;
    }

    bool fetch_shrinking(Range& chunk) {
        chunk.begin = next_.load(std::memory_order_relaxed);
        do {
            if (chunk.begin >= whole_.end) return false;
            const std::int64_t size = std::max(chunk_, (whole_.end - chunk.begin) / shares_);
            chunk.end = std::min(chunk.begin + size, whole_.end);
        } while (!next_.compare_exchange_weak(chunk.begin, chunk.end, std::memory_order_relaxed));
        return true;
    }

    const Range whole_;
    alignas(128) std::atomic<std::int64_t> next_;
    const std::int64_t chunk_;
    const std::int64_t shares_ = 0;
};

template <class Body>
void parallel_for(Team& team, Section& section, Range range, Static, Body&& body) {
    team.run(section, [&](Worker& me) {
        const Range mine = me.share(range);
        if (mine.size() > 0) body(mine.begin, mine.end);
    });
}

template <class Body>
void for_chunks(Team& team, Section& section, ChunkSource& chunks, Body&& body) {
    team.run(section, [&](Worker& me) {
        for (Range chunk{}; chunks.fetch(me.probe, chunk);) body(chunk.begin, chunk.end);
    });
}

template <class Body>
void parallel_for(Team& team, Section& section, Range range, Dynamic schedule, Body&& body) {
    ChunkSource chunks(range, schedule);
    for_chunks(team, section, chunks, body);
}

template <class Body>
void parallel_for(Team& team, Section& section, Range range, Guided schedule, Body&& body) {
    ChunkSource chunks(range, schedule, team.size());
    for_chunks(team, section, chunks, body);
}

}  // namespace mpet
