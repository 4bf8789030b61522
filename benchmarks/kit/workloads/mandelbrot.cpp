// computes: the Mandelbrot set's escape times, with the rows dealt out statically and dynamically
// stresses: arithmetic in registers; rows differ in work by orders of magnitude
// here because: the same loop shows work imbalance when static and task distribution when dynamic
#include "mpet/workload.hpp"

namespace {

class Mandelbrot : public mpet::Application {
public:
    explicit Mandelbrot(mpet::Scale scale)
        : width_(mpet::scaled<std::int64_t>(scale, 48, 240, 480)),
          height_(mpet::scaled<std::int64_t>(scale, 32, 160, 320)),
          limit_(mpet::scaled(scale, 60, 1500, 6000)),
          escape_(static_cast<std::size_t>(width_ * height_)) {}

    std::string input() const override {
        return std::to_string(width_) + "x" + std::to_string(height_) + "x" + std::to_string(limit_);
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(escape_); }

protected:
    void rows(std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; row++) {
            for (std::int64_t column = 0; column < width_; column++) {
                escape_[static_cast<std::size_t>(row * width_ + column)] = escape_time(column, row);
            }
        }
    }

    std::int64_t height() const { return height_; }

private:
    // Covers only the upper half plane, from the set's fullest row to an empty one.
    std::int32_t escape_time(std::int64_t column, std::int64_t row) const {
        const double re = static_cast<double>(column) * 3.0 / static_cast<double>(width_) - 2.0;
        const double im = static_cast<double>(row) * 1.25 / static_cast<double>(height_);
        double x = 0, y = 0;
        std::int32_t steps = 0;
        for (; steps < limit_ && x * x + y * y < 4.0; steps++) {
            const double next = x * x - y * y + re;
            y = 2.0 * x * y + im;
            x = next;
        }
        return steps;
    }

    const std::int64_t width_, height_;
    const std::int32_t limit_;
    std::vector<std::int32_t> escape_;
};

class StaticRows final : public Mandelbrot {
public:
    StaticRows(mpet::Team&, mpet::Scale scale) : Mandelbrot(scale) {}
    void run(mpet::Team& team) override {
        mpet::parallel_for(team, sections[0], {0, height()}, mpet::Static{},
                           [this](std::int64_t begin, std::int64_t end) { rows(begin, end); });
    }
};

class DynamicRows final : public Mandelbrot {
public:
    DynamicRows(mpet::Team&, mpet::Scale scale) : Mandelbrot(scale) {}
    void run(mpet::Team& team) override {
        mpet::parallel_for(team, sections[0], {0, height()}, mpet::Dynamic{1},
                           [this](std::int64_t begin, std::int64_t end) { rows(begin, end); });
    }
};

const mpet::Registration static_rows{
    {"mandelbrot_static",
     "1",
     {{nullptr, "domain_decomposition", "computation", "Mandelbrot set, rows in one contiguous part a thread"}},
     mpet::make_application<StaticRows>}};
const mpet::Registration dynamic_rows{
    {"mandelbrot_dynamic",
     "1",
     {{nullptr, "dynamic_loop", "computation", "Mandelbrot set, rows first come first served"}},
     mpet::make_application<DynamicRows>}};

}  // namespace
