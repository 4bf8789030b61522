// computes: the best local alignment score of two long sequences (Smith-Waterman, affine gaps)
// stresses: integer units with long dependence chains; a wavefront of small blocks
// here because: sequence alignment; a wavefront that computes where sgm/aggregate moves memory
#include <algorithm>

#include "mpet/workload.hpp"

namespace {

class SmithWaterman final : public mpet::Application {
public:
    SmithWaterman(mpet::Team&, mpet::Scale scale)
        : length_(mpet::scaled<std::int64_t>(scale, 96, 4096, 18432)),
          block_(mpet::scaled<std::int64_t>(scale, 16, 64, 128)),
          a_(sequence(1)),
          b_(sequence(2)),
          bottom_(static_cast<std::size_t>(length_)),
          bottom_gap_(bottom_.size()),
          right_(static_cast<std::size_t>(length_)),
          right_gap_(right_.size()),
          corner_(static_cast<std::size_t>((blocks() + 1) * (blocks() + 1))),
          best_(static_cast<std::size_t>(blocks())) {}

    std::string input() const override { return std::to_string(length_) + "x" + std::to_string(length_); }

    void run(mpet::Team& team) override {
        for (auto* edge : {&bottom_, &bottom_gap_, &right_, &right_gap_, &corner_, &best_})
            std::fill(edge->begin(), edge->end(), 0);
        mpet::wavefront(team, sections[0], {blocks(), blocks()},
                        [this](std::int64_t row, std::int64_t column) { align(row, column); });
    }

    std::uint64_t checksum(std::size_t) const override {
        return static_cast<std::uint64_t>(*std::max_element(best_.begin(), best_.end()));
    }

private:
    using Scores = std::vector<std::int32_t>;
    static constexpr std::int32_t match = 3, mismatch = -2, gap_open = 5, gap_extend = 1;

    std::int64_t blocks() const { return length_ / block_; }

    // The second sequence repeats pieces of the first, with changes.
    std::vector<std::uint8_t> sequence(std::uint64_t seed) const {
        std::vector<std::uint8_t> bases(static_cast<std::size_t>(length_));
        for (std::size_t i = 0; i < bases.size(); i++) {
            const bool shared = seed == 1 || (i / 200) % 3 == 0;
            const bool changed = seed == 2 && mpet::hash64(i + 77) % 10 == 0;
            bases[i] = static_cast<std::uint8_t>(mpet::hash64(i + (shared && !changed ? 0 : seed << 40)) % 4);
        }
        return bases;
    }

    std::int32_t& corner(std::int64_t row, std::int64_t column) {
        return corner_[static_cast<std::size_t>(row * (blocks() + 1) + column)];
    }

    // Only the last rows and columns of the blocks are stored between blocks.
    void align(std::int64_t block_row, std::int64_t block_column) {
        const std::int64_t top = block_row * block_, left = block_column * block_;
        std::int32_t* const above = bottom_.data() + left;
        std::int32_t* const above_gap = bottom_gap_.data() + left;
        std::int32_t best = best_[static_cast<std::size_t>(block_row)], upper_left = corner(block_row, block_column);
        corner(block_row, block_column + 1) = above[block_ - 1];
        for (std::int64_t i = top; i < top + block_; i++) {
            std::int32_t& edge = right_[static_cast<std::size_t>(i)];
            std::int32_t& edge_gap = right_gap_[static_cast<std::size_t>(i)];
            std::int32_t diagonal = upper_left, before = edge, gap = edge_gap;
            upper_left = edge;
            for (std::int64_t j = 0; j < block_; j++) {
                above_gap[j] = std::max(above_gap[j] - gap_extend, above[j] - gap_open);
                gap = std::max(gap - gap_extend, before - gap_open);
                const bool same = a_[static_cast<std::size_t>(i)] == b_[static_cast<std::size_t>(left + j)];
                const std::int32_t score = std::max({0, diagonal + (same ? match : mismatch), above_gap[j], gap});
                diagonal = above[j];
                above[j] = before = score;
                best = std::max(best, score);
            }
            edge = before;
            edge_gap = gap;
        }
        best_[static_cast<std::size_t>(block_row)] = best;
    }

    const std::int64_t length_, block_;
    const std::vector<std::uint8_t> a_, b_;
    Scores bottom_, bottom_gap_, right_, right_gap_, corner_, best_;
};

const mpet::Registration registration{{"smith_waterman",
                                       "1",
                                       {{nullptr, "wavefront", "computation", "Local alignment of two sequences"}},
                                       mpet::make_application<SmithWaterman>}};

}  // namespace
