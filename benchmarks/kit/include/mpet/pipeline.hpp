// A pipeline: every item passes through all stages in order. A serial stage processes the items one at a time in their
// order, a parallel stage several at once. At most `window` items are in progress, so that buffers can be reused modulo
// window.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "team.hpp"

namespace mpet {

enum class StageKind { serial, parallel };

struct Stage {
    StageKind kind;
    std::function<void(std::int64_t item)> work;
};

class Pipeline {
public:
    Pipeline(std::vector<Stage> stages, std::int64_t items, std::int64_t window)
        : stages_(std::move(stages)), items_(items), window_(window), states_(stages_.size()) {
        for (State& state : states_) state.done.assign(static_cast<std::size_t>(items), false);
    }

    // Executes the pipeline. Finding the next piece of work is charged to distribution, and waiting for one to
    // imbalance. May be called only once.
    void run(Team& team, Section& section) {
        team.run(section, [this](Worker& me) {
            Backoff backoff;
            Piece piece{};
            for (Offer offer = take(piece); offer != Offer::finished; offer = take(piece)) {
                me.probe.charge(offer == Offer::piece ? MPET_DISTRIBUTION : MPET_IMBALANCE);
                if (offer == Offer::nothing_yet) {
                    backoff.pause();
                    continue;
                }
                stages_[piece.stage].work(piece.item);
                me.probe.charge(MPET_USE);
                give_back(piece);
                backoff.reset();
            }
            me.probe.charge(MPET_DISTRIBUTION);
        });
    }

private:
    enum class Offer { piece, nothing_yet, finished };

    struct Piece {
        std::size_t stage;
        std::int64_t item;
    };

    struct State {
        std::int64_t next = 0;       // the next item for this stage
        std::int64_t completed = 0;  // all items below this one are done
        bool busy = false;           // a serial stage is processing an item
        std::vector<bool> done;
    };

    // Tries the last stage first, because finishing an item makes room for another one.
    Offer take(Piece& piece) {
        const std::lock_guard<SpinLock> guard(lock_);
        if (states_.back().next == items_) return Offer::finished;
        for (std::size_t stage = stages_.size(); stage-- > 0;) {
            if (!ready(stage)) continue;
            piece = {stage, states_[stage].next++};
            states_[stage].busy = true;
            return Offer::piece;
        }
        return Offer::nothing_yet;
    }

    bool ready(std::size_t stage) const {
        const State& state = states_[stage];
        if (state.next == items_ || (stages_[stage].kind == StageKind::serial && state.busy)) return false;
        if (stage == 0) return state.next < states_.back().completed + window_;
        return states_[stage - 1].done[static_cast<std::size_t>(state.next)];
    }

    void give_back(const Piece& piece) {
        const std::lock_guard<SpinLock> guard(lock_);
        State& state = states_[piece.stage];
        state.busy = false;
        state.done[static_cast<std::size_t>(piece.item)] = true;
        while (state.completed < items_ && state.done[static_cast<std::size_t>(state.completed)]) state.completed++;
    }

    const std::vector<Stage> stages_;
    const std::int64_t items_;
    const std::int64_t window_;
    std::vector<State> states_;
    SpinLock lock_;
};

}  // namespace mpet
