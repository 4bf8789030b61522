// computes: speckle reducing anisotropic diffusion (SRAD) of an ultrasound-like image
// stresses: memory bandwidth and division; a reduction and two stencils an iteration, four barriers
// here because: a medical imaging kernel named in the paper; its reduction makes a part of the work redundant
#include "mpet/workload.hpp"

namespace {

class Srad final : public mpet::Application {
public:
    Srad(mpet::Team& team, mpet::Scale scale)
        : side_(mpet::scaled<std::int64_t>(scale, 64, 512, 1024)),
          iterations_(mpet::scaled(scale, 2, 40, 160)),
          image_(new float[static_cast<std::size_t>(side_ * side_)]),
          next_(new float[static_cast<std::size_t>(side_ * side_)]),
          coefficient_(new float[static_cast<std::size_t>(side_ * side_)]),
          row_sum_(static_cast<std::size_t>(side_)),
          row_square_sum_(static_cast<std::size_t>(side_)) {
        fill(team);
    }

    std::string input() const override { return std::to_string(side_) + "x" + std::to_string(iterations_); }

    void run(mpet::Team& team) override {
        fill(team);
        team.run(sections[0], [&](mpet::Worker& me) {
            const mpet::Range rows = me.share({0, side_});
            for (int iteration = 0; iteration < iterations_; iteration++) {
                for (std::int64_t row = rows.begin; row < rows.end; row++) sum_row(row);
                me.barrier();
                const float speckle = speckle_scale();
                for (std::int64_t row = rows.begin; row < rows.end; row++) diffusion_row(row, speckle);
                me.barrier();
                for (std::int64_t row = rows.begin; row < rows.end; row++) update_row(row);
                me.barrier();
                if (me.id == 0) image_.swap(next_);
                me.barrier();
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (std::int64_t i = 0; i < side_ * side_; i++) checksum.add(image_[i]);
        return checksum.value();
    }

private:
    void fill(mpet::Team& team) {
        team.run_unmeasured([&](mpet::Worker& me) {
            const mpet::Range rows = me.share({0, side_});
            for (std::int64_t i = rows.begin * side_; i < rows.end * side_; i++) {
                const std::int64_t row = i / side_, column = i % side_;
                const float tissue = ((row / 32 + column / 32) % 2 == 0) ? 1.0f : 2.0f;
                image_[i] = tissue * (0.5f + static_cast<float>(mpet::unit_double(static_cast<std::uint64_t>(i))));
                next_[i] = coefficient_[i] = 0;
            }
        });
    }

    // Sums one row at a time, so that the total does not depend on the thread count.
    void sum_row(std::int64_t row) {
        float sum = 0, squares = 0;
        for (std::int64_t i = row * side_; i < (row + 1) * side_; i++) {
            sum += image_[i];
            squares += image_[i] * image_[i];
        }
        row_sum_[static_cast<std::size_t>(row)] = sum;
        row_square_sum_[static_cast<std::size_t>(row)] = squares;
    }

    float speckle_scale() const {
        double sum = 0, squares = 0;
        for (const float value : row_sum_) sum += static_cast<double>(value);
        for (const float value : row_square_sum_) squares += static_cast<double>(value);
        const double count = static_cast<double>(side_ * side_), mean = sum / count;
        return static_cast<float>((squares / count - mean * mean) / (mean * mean));
    }

    struct Gradient {
        float north, south, west, east, centre;
    };

    Gradient gradient(std::int64_t row, std::int64_t column) const {
        const float* at = image_.get() + row * side_ + column;
        const float centre = *at;
        return {(row > 0 ? at[-side_] : centre) - centre, (row + 1 < side_ ? at[side_] : centre) - centre,
                (column > 0 ? at[-1] : centre) - centre, (column + 1 < side_ ? at[1] : centre) - centre, centre};
    }

    void diffusion_row(std::int64_t row, float speckle) {
        for (std::int64_t column = 0; column < side_; column++) {
            const Gradient g = gradient(row, column);
            const float squares = g.north * g.north + g.south * g.south + g.west * g.west + g.east * g.east;
            const float magnitude = squares / (g.centre * g.centre);
            const float laplacian = (g.north + g.south + g.west + g.east) / g.centre;
            const float denominator = 1.0f + 0.25f * laplacian;
            const float variation = (0.5f * magnitude - 0.0625f * laplacian * laplacian) / (denominator * denominator);
            const float c = 1.0f / (1.0f + (variation - speckle) / (speckle * (1.0f + speckle)));
            coefficient_[row * side_ + column] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
        }
    }

    void update_row(std::int64_t row) {
        for (std::int64_t column = 0; column < side_; column++) {
            const std::int64_t i = row * side_ + column;
            const Gradient g = gradient(row, column);
            const float here = coefficient_[i];
            const float south = row + 1 < side_ ? coefficient_[i + side_] : here;
            const float east = column + 1 < side_ ? coefficient_[i + 1] : here;
            next_[i] = g.centre + 0.125f * (here * (g.north + g.west) + south * g.south + east * g.east);
        }
    }

    const std::int64_t side_;
    const int iterations_;
    std::unique_ptr<float[]> image_, next_, coefficient_;
    std::vector<float> row_sum_, row_square_sum_;
};

const mpet::Registration registration{
    {"srad",
     "1",
     {{nullptr, "domain_decomposition", "memory", "Speckle reducing anisotropic diffusion"}},
     mpet::make_application<Srad>}};

}  // namespace
