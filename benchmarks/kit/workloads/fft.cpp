// computes: two-dimensional Fourier transforms of a complex image: rows, transposition, rows, transposition
// stresses: floating-point units in the rows, memory and all-to-all traffic between cores in the transpositions
// here because: it alternates compute-bound and communication-bound phases, four barriers a transform
#include <algorithm>
#include <cmath>

#include "mpet/workload.hpp"

namespace {

struct Complex {
    double re, im;
};

Complex times(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

class Fft final : public mpet::Application {
public:
    Fft(mpet::Team&, mpet::Scale scale)
        : bits_(mpet::scaled(scale, 5, 9, 10)),
          side_(std::int64_t{1} << bits_),
          rounds_(mpet::scaled(scale, 1, 6, 16)) {
        data_.resize(static_cast<std::size_t>(side_ * side_));
        transposed_.resize(data_.size());
        make_roots();
    }

    std::string input() const override {
        return std::to_string(side_) + "x" + std::to_string(side_) + "x" + std::to_string(rounds_);
    }

    void run(mpet::Team& team) override {
        for (std::size_t i = 0; i < data_.size(); i++)
            data_[i] = {mpet::unit_double(2 * i), mpet::unit_double(2 * i + 1)};
        team.run(sections[0], [&](mpet::Worker& me) {
            for (int round = 0; round < rounds_; round++) {
                half_transform(me, data_.data(), transposed_.data());
                half_transform(me, transposed_.data(), data_.data());
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const Complex& value : data_) {
            checksum.add(value.re);
            checksum.add(value.im);
        }
        return checksum.value();
    }

private:
    // Computes e^(-2 pi i k / side), from -1 by halving angles and then by products. It uses only + * / and square
    // roots, which are rounded identically everywhere, unlike the sine and cosine of a C library.
    void make_roots() {
        std::vector<Complex> halved{{-1.0, 0.0}, {0.0, -1.0}};
        while (static_cast<int>(halved.size()) < bits_) {
            const Complex last = halved.back();
            halved.push_back({std::sqrt((1.0 + last.re) / 2.0), -std::sqrt((1.0 - last.re) / 2.0)});
        }
        roots_.assign(static_cast<std::size_t>(side_ / 2), {1.0, 0.0});
        for (std::size_t k = 1; k < roots_.size(); k++) {
            for (int bit = 0; bit < bits_; bit++) {
                if (k >> bit & 1) roots_[k] = times(roots_[k], halved[static_cast<std::size_t>(bits_ - 1 - bit)]);
            }
        }
    }

    void half_transform(mpet::Worker& me, Complex* from, Complex* to) const {
        const mpet::Range rows = me.share({0, side_});
        for (std::int64_t row = rows.begin; row < rows.end; row++) transform_row(from + row * side_);
        me.barrier();
        for (std::int64_t row = rows.begin; row < rows.end; row++) {
            for (std::int64_t column = 0; column < side_; column++)
                to[row * side_ + column] = from[column * side_ + row];
        }
        me.barrier();
    }

    void transform_row(Complex* row) const {
        for (std::int64_t i = 1, reversed = 0; i < side_; i++) {
            std::int64_t bit = side_ >> 1;
            for (; reversed & bit; bit >>= 1) reversed ^= bit;
            reversed ^= bit;
            if (i < reversed) std::swap(row[i], row[reversed]);
        }
        for (std::int64_t half = 1; half < side_; half *= 2) {
            for (std::int64_t start = 0; start < side_; start += 2 * half) butterflies(row + start, half);
        }
    }

    // The results are halved, so that repeated transforms stay bounded.
    void butterflies(Complex* at, std::int64_t half) const {
        const std::int64_t stride = side_ / (2 * half);
        for (std::int64_t k = 0; k < half; k++) {
            const Complex odd = times(at[half + k], roots_[static_cast<std::size_t>(k * stride)]), even = at[k];
            at[k] = {0.5 * (even.re + odd.re), 0.5 * (even.im + odd.im)};
            at[half + k] = {0.5 * (even.re - odd.re), 0.5 * (even.im - odd.im)};
        }
    }

    const int bits_;
    const std::int64_t side_;
    const int rounds_;
    std::vector<Complex> data_, transposed_, roots_;
};

const mpet::Registration registration{
    {"fft",
     "1",
     {{nullptr, "domain_decomposition", "communication", "Two-dimensional FFT with transpositions"}},
     mpet::make_application<Fft>}};

}  // namespace
