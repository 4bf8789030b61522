// computes: motion vectors between two images by block matching, with an early exit for blocks that match at once
// stresses: integer units and caches; tasks for rows of blocks that spawn tasks for the blocks
// here because: optical flow as in the paper; nested spawning of two levels, with very uneven inner tasks
#include <cstdlib>

#include "mpet/workload.hpp"

namespace {

constexpr std::int64_t block = 16;

struct Motion {
    std::int32_t x, y;
};

class BlockMotion final : public mpet::Application {
public:
    BlockMotion(mpet::Team&, mpet::Scale scale)
        : width_(mpet::scaled<std::int64_t>(scale, 64, 960, 1920)),
          height_(mpet::scaled<std::int64_t>(scale, 48, 544, 1088)),
          reach_(mpet::scaled<std::int64_t>(scale, 3, 12, 24)),
          before_(static_cast<std::size_t>(width_ * height_)),
          after_(before_.size()),
          motion_(static_cast<std::size_t>(columns() * rows())) {
        for (std::int64_t i = 0; i < width_ * height_; i++) {
            const std::int64_t x = i % width_, y = i / width_;
            before_[static_cast<std::size_t>(i)] = texture(x, y);
            const bool moving = x > width_ / 3 && y > height_ / 4;
            after_[static_cast<std::size_t>(i)] = moving ? texture(x + 2, y - 1) : texture(x, y);
        }
    }

    std::string input() const override {
        return std::to_string(width_) + "x" + std::to_string(height_) + " reach " + std::to_string(reach_);
    }

    void run(mpet::Team& team) override {
        mpet::run_tasks(team, sections[0], [this] {
            mpet::TaskGroup all_rows;
            for (std::int64_t row = 0; row < rows(); row++) all_rows.spawn([this, row] { match_row(row); });
            all_rows.wait();
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const Motion& motion : motion_) {
            checksum.add(motion.x);
            checksum.add(motion.y);
        }
        return checksum.value();
    }

private:
    std::int64_t columns() const { return width_ / block; }
    std::int64_t rows() const { return height_ / block; }

    static std::uint8_t texture(std::int64_t x, std::int64_t y) {
        return static_cast<std::uint8_t>(mpet::hash64(static_cast<std::uint64_t>((y + 8) / 3 * 100000 + x / 2)));
    }

    void match_row(std::int64_t row) {
        mpet::TaskGroup blocks;
        for (std::int64_t column = 0; column < columns(); column++) {
            blocks.spawn([this, row, column] {
                motion_[static_cast<std::size_t>(row * columns() + column)] = match(column * block, row * block);
            });
        }
        blocks.wait();
    }

    Motion match(std::int64_t x, std::int64_t y) const {
        std::int64_t least = difference(x, y, x, y, INT64_MAX);
        Motion best{0, 0};
        if (least < block * block) return best;
        for (std::int64_t dy = -reach_; dy <= reach_; dy++) {
            for (std::int64_t dx = -reach_; dx <= reach_; dx++) {
                const std::int64_t to_x = x + dx, to_y = y + dy;
                if (to_x < 0 || to_y < 0 || to_x + block > width_ || to_y + block > height_) continue;
                const std::int64_t sum = difference(x, y, to_x, to_y, least);
                if (sum < least) {
                    least = sum;
                    best = {static_cast<std::int32_t>(dx), static_cast<std::int32_t>(dy)};
                }
            }
        }
        return best;
    }

    // Returns the sum of absolute differences. Returns the partial sum as soon as it exceeds the limit.
    std::int64_t difference(std::int64_t x, std::int64_t y, std::int64_t to_x, std::int64_t to_y,
                            std::int64_t limit) const {
        std::int64_t sum = 0;
        for (std::int64_t row = 0; row < block && sum <= limit; row++) {
            const std::uint8_t* from = before_.data() + (y + row) * width_ + x;
            const std::uint8_t* to = after_.data() + (to_y + row) * width_ + to_x;
            for (std::int64_t i = 0; i < block; i++) sum += std::abs(from[i] - to[i]);
        }
        return sum;
    }

    const std::int64_t width_, height_, reach_;
    std::vector<std::uint8_t> before_, after_;
    std::vector<Motion> motion_;
};

const mpet::Registration registration{{"block_motion",
                                       "1",
                                       {{nullptr, "nested", "computation", "Block matching between two images"}},
                                       mpet::make_application<BlockMotion>}};

}  // namespace
