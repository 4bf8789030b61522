// computes: histograms of oriented gradients of an image: gradients, cell histograms, normalised blocks
// stresses: gradient: memory streaming; histogram: scattered adds, uneven cells; normalise: division and square root
// here because: pedestrian detection, as in the paper: three parallel sections, each a workload of its own
#include <array>
#include <cmath>

#include "mpet/workload.hpp"

namespace {

constexpr std::int64_t cell = 8, bins = 9;

class Hog final : public mpet::Application {
public:
    Hog(mpet::Team& team, mpet::Scale scale)
        : width_(mpet::scaled<std::int64_t>(scale, 64, 640, 1920)),
          height_(mpet::scaled<std::int64_t>(scale, 48, 480, 1152)),
          rounds_(mpet::scaled(scale, 1, 12, 24)),
          image_(pixels()),
          magnitude_(pixels()),
          orientation_(pixels()),
          histogram_(static_cast<std::size_t>(cells_x() * cells_y() * bins)),
          block_(static_cast<std::size_t>((cells_x() - 1) * (cells_y() - 1) * 4 * bins)) {
        team.run_unmeasured([&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, width_ * height_});
            for (std::int64_t i = mine.begin; i < mine.end; i++) image_[static_cast<std::size_t>(i)] = pixel(i);
        });
    }

    std::string input() const override {
        return std::to_string(width_) + "x" + std::to_string(height_) + "x" + std::to_string(rounds_);
    }

    void run(mpet::Team& team) override {
        for (int round = 0; round < rounds_; round++) {
            mpet::parallel_for(team, sections[0], {0, height_}, mpet::Static{},
                               [this](std::int64_t begin, std::int64_t end) {
                                   for (std::int64_t row = begin; row < end; row++) gradient_row(row);
                               });
            mpet::parallel_for(team, sections[1], {0, cells_x() * cells_y()}, mpet::Dynamic{16},
                               [this](std::int64_t begin, std::int64_t end) {
                                   for (std::int64_t i = begin; i < end; i++)
                                       cell_histogram(i % cells_x(), i / cells_x());
                               });
            mpet::parallel_for(team, sections[2], {0, cells_y() - 1}, mpet::Static{},
                               [this](std::int64_t begin, std::int64_t end) {
                                   for (std::int64_t y = begin; y < end; y++) {
                                       for (std::int64_t x = 0; x + 1 < cells_x(); x++) normalise_block(x, y);
                                   }
                               });
        }
    }

    std::uint64_t checksum(std::size_t section) const override {
        if (section == 0) return mpet::checksum_of(magnitude_) ^ mpet::checksum_of(orientation_);
        return section == 1 ? mpet::checksum_of(histogram_) : mpet::checksum_of(block_);
    }

private:
    std::size_t pixels() const { return static_cast<std::size_t>(width_ * height_); }
    std::int64_t cells_x() const { return width_ / cell; }
    std::int64_t cells_y() const { return height_ / cell; }

    // Stripes and discs, with noise only on the left half: the cells differ in the number of their pixels that count.
    std::uint8_t pixel(std::int64_t i) const {
        const std::int64_t x = i % width_, y = i / width_;
        const std::int64_t pattern = ((x + 2 * y) / 24 + (x * x + y * y) / 9000) % 3 * 70;
        const std::int64_t noise =
            x < width_ / 2 ? static_cast<std::int64_t>(mpet::hash64(static_cast<std::uint64_t>(i)) % 32) : 0;
        return static_cast<std::uint8_t>(pattern + noise);
    }

    // Returns the direction's sector, by comparing slopes with tan(20 k degrees) in 1/1024: no arc tangent, no
    // rounding.
    static std::uint8_t sector(std::int32_t dx, std::int32_t dy) {
        static constexpr std::array<std::int32_t, 4> tangent{373, 859, 1774, 5807};
        if (dy < 0 || (dy == 0 && dx < 0)) {
            dx = -dx;
            dy = -dy;
        }
        const std::int32_t steep = dy * 1024, flat = dx < 0 ? -dx : dx;
        std::uint8_t k = 0;
        while (k < 4 && steep >= flat * tangent[k]) k++;
        return static_cast<std::uint8_t>(dx < 0 && k < 4 ? bins - 1 - k : k);
    }

    void gradient_row(std::int64_t y) {
        const std::uint8_t* row = image_.data() + y * width_;
        const std::uint8_t* above = y > 0 ? row - width_ : row;
        const std::uint8_t* below = y + 1 < height_ ? row + width_ : row;
        for (std::int64_t x = 0; x < width_; x++) {
            const std::int32_t dx = row[x + 1 < width_ ? x + 1 : x] - row[x > 0 ? x - 1 : x], dy = below[x] - above[x];
            magnitude_[static_cast<std::size_t>(y * width_ + x)] = std::sqrt(static_cast<float>(dx * dx + dy * dy));
            orientation_[static_cast<std::size_t>(y * width_ + x)] = sector(dx, dy);
        }
    }

    void cell_histogram(std::int64_t cell_x, std::int64_t cell_y) {
        std::array<float, bins> sum{};
        for (std::int64_t y = cell_y * cell; y < (cell_y + 1) * cell; y++) {
            for (std::int64_t i = y * width_ + cell_x * cell; i < y * width_ + (cell_x + 1) * cell; i++) {
                const auto at = static_cast<std::size_t>(i);
                if (magnitude_[at] >= 4.0f) sum[orientation_[at]] += magnitude_[at];
            }
        }
        std::copy(sum.begin(), sum.end(), histogram_.begin() + (cell_y * cells_x() + cell_x) * bins);
    }

    void normalise_block(std::int64_t x, std::int64_t y) {
        float* const out = block_.data() + (y * (cells_x() - 1) + x) * 4 * bins;
        float square = 1.0f;
        for (std::int64_t corner = 0; corner < 4; corner++) {
            const float* in = histogram_.data() + ((y + corner / 2) * cells_x() + x + corner % 2) * bins;
            for (std::int64_t bin = 0; bin < bins; bin++) {
                out[corner * bins + bin] = in[bin];
                square += in[bin] * in[bin];
            }
        }
        const float length = std::sqrt(square);
        for (std::int64_t i = 0; i < 4 * bins; i++) out[i] = out[i] / length < 0.2f ? out[i] / length : 0.2f;
    }

    const std::int64_t width_, height_;
    const int rounds_;
    std::vector<std::uint8_t> image_;
    std::vector<float> magnitude_;
    std::vector<std::uint8_t> orientation_;
    std::vector<float> histogram_, block_;
};

const mpet::Registration registration{
    {"hog",
     "1",
     {{"gradient", "domain_decomposition", "memory", "Gradient magnitude and direction of every pixel"},
      {"histogram", "dynamic_loop", "computation", "Histogram of directions of every cell"},
      {"normalise", "domain_decomposition", "computation", "Blocks of 2 x 2 cells, normalised to unit length"}},
     mpet::make_application<Hog>}};

}  // namespace
