// computes: a disparity image from a stereo pair by semi-global matching
// stresses: census: integers; cost: memory; aggregate: a wavefront with four-way dependencies; disparity: scans
// here because: stereo vision in cars, as in the paper: four parallel sections of different kinds, each a workload
#include <algorithm>
#include <array>

#include "mpet/workload.hpp"

namespace {

constexpr std::int64_t directions = 4;
constexpr std::int32_t penalty_small = 4, penalty_large = 24;

class Sgm final : public mpet::Application {
public:
    Sgm(mpet::Team&, mpet::Scale scale)
        : width_(mpet::scaled<std::int64_t>(scale, 48, 320, 640)),
          height_(mpet::scaled<std::int64_t>(scale, 32, 240, 480)),
          range_(mpet::scaled<std::int64_t>(scale, 16, 32, 64)),
          block_(mpet::scaled<std::int64_t>(scale, 8, 20, 20)),
          rounds_(mpet::scaled(scale, 1, 3, 6)),
          left_(make_image(0)),
          right_(make_image(1)),
          left_census_(pixels()),
          right_census_(pixels()),
          cost_(pixels() * static_cast<std::size_t>(range_)),
          path_(cost_.size() * directions),
          total_(cost_.size()),
          disparity_(pixels()) {}

    std::string input() const override {
        return std::to_string(width_) + "x" + std::to_string(height_) + "x" + std::to_string(range_) + " x" +
               std::to_string(rounds_);
    }

    void run(mpet::Team& team) override {
        for (int round = 0; round < rounds_; round++) match(team);
    }

    std::uint64_t checksum(std::size_t section) const override {
        if (section == 0) return mpet::checksum_of(left_census_) ^ mpet::checksum_of(right_census_);
        if (section == 1) return mpet::checksum_of(cost_);
        return section == 2 ? mpet::checksum_of(total_) : mpet::checksum_of(disparity_);
    }

private:
    std::size_t pixels() const { return static_cast<std::size_t>(width_ * height_); }

    void match(mpet::Team& team) {
        const mpet::Range rows{0, height_};
        mpet::parallel_for(team, sections[0], rows, mpet::Static{}, [this](std::int64_t begin, std::int64_t end) {
            for (std::int64_t y = begin; y < end; y++) {
                census_row(left_, left_census_, y);
                census_row(right_, right_census_, y);
            }
        });
        mpet::parallel_for(team, sections[1], rows, mpet::Static{}, [this](std::int64_t begin, std::int64_t end) {
            for (std::int64_t y = begin; y < end; y++) cost_row(y);
        });
        const mpet::Grid grid{height_ / block_, (width_ + 2 * block_ - 2) / block_, 2};
        mpet::wavefront(team, sections[2], grid,
                        [this](std::int64_t row, std::int64_t column) { aggregate_block(row, column); });
        mpet::parallel_for(team, sections[3], rows, mpet::Dynamic{4}, [this](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin * width_; i < end * width_; i++)
                disparity_[static_cast<std::size_t>(i)] = cheapest(i);
        });
    }

    // The right camera sees the pattern shifted by a distance that depends on the row: a tilted plane.
    std::vector<std::uint8_t> make_image(int camera) const {
        std::vector<std::uint8_t> image(pixels());
        for (std::int64_t y = 0; y < height_; y++) {
            const std::int64_t shift = camera * (y * (range_ - 2) / height_);
            for (std::int64_t x = 0; x < width_; x++) {
                image[static_cast<std::size_t>(y * width_ + x)] =
                    static_cast<std::uint8_t>(mpet::hash64(static_cast<std::uint64_t>(y * 4096 + (x + shift) / 2)));
            }
        }
        return image;
    }

    void census_row(const std::vector<std::uint8_t>& image, std::vector<std::uint32_t>& census, std::int64_t y) const {
        for (std::int64_t x = 0; x < width_; x++) {
            std::uint32_t signature = 0;
            const std::uint8_t centre = image[static_cast<std::size_t>(y * width_ + x)];
            for (std::int64_t dy = -2; dy <= 2; dy++) {
                const std::int64_t near_y = std::clamp<std::int64_t>(y + dy, 0, height_ - 1);
                for (std::int64_t dx = -2; dx <= 2; dx++) {
                    const std::int64_t near_x = std::clamp<std::int64_t>(x + dx, 0, width_ - 1);
                    signature =
                        signature << 1 | (image[static_cast<std::size_t>(near_y * width_ + near_x)] < centre ? 1u : 0u);
                }
            }
            census[static_cast<std::size_t>(y * width_ + x)] = signature;
        }
    }

    void cost_row(std::int64_t y) {
        for (std::int64_t x = 0; x < width_; x++) {
            const std::int64_t i = y * width_ + x;
            for (std::int64_t d = 0; d < range_; d++) {
                const std::int64_t match = x >= d ? i - d : y * width_;
                const std::uint32_t difference =
                    left_census_[static_cast<std::size_t>(i)] ^ right_census_[static_cast<std::size_t>(match)];
                cost_[static_cast<std::size_t>(i * range_ + d)] =
                    static_cast<std::uint8_t>(__builtin_popcount(difference));
            }
        }
    }

    // Blocks are slanted to the left by one pixel per row, so that a pixel's upper right neighbour is in the same block
    // or in the row of blocks above, which is two blocks ahead.
    void aggregate_block(std::int64_t row, std::int64_t column) {
        for (std::int64_t line = 0; line < block_; line++) {
            const std::int64_t begin = std::max<std::int64_t>(column * block_ - line, 0);
            const std::int64_t end = std::min((column + 1) * block_ - line, width_);
            for (std::int64_t x = begin; x < end; x++) aggregate(x, row * block_ + line);
        }
    }

    void aggregate(std::int64_t x, std::int64_t y) {
        static constexpr std::array<std::array<std::int64_t, 2>, directions> from{
            {{-1, 0}, {-1, -1}, {0, -1}, {1, -1}}};
        const std::int64_t i = y * width_ + x;
        std::uint16_t* const total = total_.data() + i * range_;
        std::fill(total, total + range_, std::uint16_t{0});
        for (std::int64_t direction = 0; direction < directions; direction++) {
            const std::int64_t from_x = x + from[static_cast<std::size_t>(direction)][0],
                               from_y = y + from[static_cast<std::size_t>(direction)][1];
            const bool inside = from_x >= 0 && from_x < width_ && from_y >= 0;
            std::uint16_t* const path = path_at(i, direction);
            extend_path(cost_.data() + i * range_, inside ? path_at(from_y * width_ + from_x, direction) : nullptr,
                        path);
            for (std::int64_t d = 0; d < range_; d++) total[d] = static_cast<std::uint16_t>(total[d] + path[d]);
        }
    }

    std::uint16_t* path_at(std::int64_t pixel, std::int64_t direction) {
        return path_.data() + (pixel * directions + direction) * range_;
    }

    void extend_path(const std::uint8_t* cost, const std::uint16_t* before, std::uint16_t* path) const {
        if (before == nullptr) {
            std::copy(cost, cost + range_, path);
            return;
        }
        const std::int32_t least = *std::min_element(before, before + range_);
        for (std::int64_t d = 0; d < range_; d++) {
            std::int32_t best = std::min<std::int32_t>(before[d], least + penalty_large);
            if (d > 0) best = std::min(best, before[d - 1] + penalty_small);
            if (d + 1 < range_) best = std::min(best, before[d + 1] + penalty_small);
            path[d] = static_cast<std::uint16_t>(cost[d] + best - least);
        }
    }

    std::uint8_t cheapest(std::int64_t pixel) const {
        const std::uint16_t* total = total_.data() + pixel * range_;
        return static_cast<std::uint8_t>(std::min_element(total, total + range_) - total);
    }

    const std::int64_t width_, height_, range_, block_;
    const int rounds_;
    std::vector<std::uint8_t> left_, right_;
    std::vector<std::uint32_t> left_census_, right_census_;
    std::vector<std::uint8_t> cost_;
    std::vector<std::uint16_t> path_, total_;
    std::vector<std::uint8_t> disparity_;
};

const mpet::Registration registration{
    {"sgm",
     "1",
     {{"census", "domain_decomposition", "computation", "Census transform of both images, 5 x 5"},
      {"cost", "domain_decomposition", "memory", "Hamming distances for all disparities"},
      {"aggregate", "wavefront", "memory", "Aggregation of costs along four paths"},
      {"disparity", "dynamic_loop", "memory", "The cheapest disparity of every pixel"}},
     mpet::make_application<Sgm>}};

}  // namespace
