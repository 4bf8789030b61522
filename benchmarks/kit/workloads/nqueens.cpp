// computes: the number of ways to place n queens on a board so that none attacks another
// stresses: integer units, branch prediction, stealing of tasks whose sizes nobody knows beforehand
// here because: backtracking search: tasks spawn tasks down to a cut-off depth
#include <atomic>

#include "mpet/workload.hpp"

namespace {

struct Board {
    std::uint32_t columns = 0, rising = 0, falling = 0;  // attacked squares of the next row

    Board with(std::uint32_t queen) const { return {columns | queen, (rising | queen) << 1, (falling | queen) >> 1}; }
    std::uint32_t free(std::uint32_t all) const { return all & ~(columns | rising | falling); }
};

class NQueens final : public mpet::Application {
public:
    NQueens(mpet::Team&, mpet::Scale scale) : queens_(mpet::scaled(scale, 7, 13, 14)), all_((1u << queens_) - 1) {}

    std::string input() const override { return std::to_string(queens_); }

    void run(mpet::Team& team) override {
        mpet::run_tasks(team, sections[0], [this] { solutions_ = search(Board{}, 0); });
    }

    std::uint64_t checksum(std::size_t) const override { return solutions_; }

private:
    static constexpr int spawn_rows = 4;

    std::uint64_t search(Board board, int row) const {
        if (row >= spawn_rows) return count(board);
        std::atomic<std::uint64_t> found{0};
        mpet::TaskGroup group;
        for (std::uint32_t free = board.free(all_); free != 0; free &= free - 1) {
            const Board next = board.with(free & (0u - free));
            group.spawn(
                [this, next, row, &found] { found.fetch_add(search(next, row + 1), std::memory_order_relaxed); });
        }
        group.wait();
        return found.load();
    }

    std::uint64_t count(Board board) const {
        if (board.columns == all_) return 1;
        std::uint64_t found = 0;
        for (std::uint32_t free = board.free(all_); free != 0; free &= free - 1)
            found += count(board.with(free & (0u - free)));
        return found;
    }

    const int queens_;
    const std::uint32_t all_;
    std::uint64_t solutions_ = 0;
};

const mpet::Registration registration{{"nqueens",
                                       "1",
                                       {{nullptr, "recursive", "computation", "Backtracking search for n queens"}},
                                       mpet::make_application<NQueens>}};

}  // namespace
