// computes: the product of two dense matrices, once by the definition and once in cache-sized blocks
// stresses: naive: caches and memory, by strided reads of a column; blocked: arithmetic units
// here because: the same arithmetic with and without locality: the two differ most between machines
#include <algorithm>

#include "mpet/workload.hpp"

namespace {

using Matrix = std::vector<double>;

Matrix random_matrix(std::int64_t side, std::uint64_t seed) {
    Matrix matrix(static_cast<std::size_t>(side * side));
    mpet::Random random(seed);
    for (double& value : matrix) value = random.unit() - 0.5;
    return matrix;
}

class Matmul : public mpet::Application {
public:
    explicit Matmul(std::int64_t side)
        : side_(side),
          a_(random_matrix(side, 1)),
          b_(random_matrix(side, 2)),
          c_(static_cast<std::size_t>(side * side)) {}

    std::string input() const override { return std::to_string(side_) + "x" + std::to_string(side_); }
    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(c_); }

protected:
    const std::int64_t side_;
    Matrix a_, b_, c_;
};

class Naive final : public Matmul {
public:
    Naive(mpet::Team&, mpet::Scale, std::int64_t side) : Matmul(side) {}

    void run(mpet::Team& team) override {
        mpet::parallel_for(team, sections[0], {0, side_}, mpet::Static{}, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; row++) {
                for (std::int64_t column = 0; column < side_; column++) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < side_; k++)
                        sum += a_.data()[row * side_ + k] * b_.data()[k * side_ + column];
                    c_.data()[row * side_ + column] = sum;
                }
            }
        });
    }
};

class Blocked final : public Matmul {
public:
    Blocked(mpet::Team&, mpet::Scale, std::int64_t side) : Matmul(side) {}

    void run(mpet::Team& team) override {
        mpet::parallel_for(team, sections[0], {0, side_}, mpet::Static{}, [&](std::int64_t begin, std::int64_t end) {
            std::fill(c_.begin() + begin * side_, c_.begin() + end * side_, 0.0);
            for (std::int64_t row = begin; row < end; row += rows_of_block) {
                const std::int64_t row_end = std::min(row + rows_of_block, end);
                for (std::int64_t k = 0; k < side_; k += block) {
                    for (std::int64_t column = 0; column < side_; column += block) {
                        multiply_block({row, row_end}, {k, std::min(k + block, side_)},
                                       {column, std::min(column + block, side_)});
                    }
                }
            }
        });
    }

private:
    static constexpr std::int64_t block = 96, rows_of_block = 48;

    void multiply_block(mpet::Range rows, mpet::Range inner, mpet::Range columns) {
        for (std::int64_t row = rows.begin; row < rows.end; row++) {
            double* const c = c_.data() + row * side_;
            for (std::int64_t k = inner.begin; k < inner.end; k++) {
                const double a = a_.data()[row * side_ + k];
                const double* const b = b_.data() + k * side_;
                for (std::int64_t column = columns.begin; column < columns.end; column++) c[column] += a * b[column];
            }
        }
    }
};

constexpr const char* unit = "matrix rows";
const std::vector<std::int64_t> sides{64, 120, 184, 248, 312, 376, 440, 504, 568, 640, 960, 1200};

const mpet::Registration naive{{"matmul_naive",
                                "1",
                                {{nullptr, "domain_decomposition", "memory", "Dense matrix product by the definition"}},
                                mpet::make_application<Naive>,
                                {unit, {24, 352, 768}, {8, 16}, sides}}};
const mpet::Registration blocked{{"matmul_blocked",
                                  "1",
                                  {{nullptr, "domain_decomposition", "computation", "Dense matrix product in blocks"}},
                                  mpet::make_application<Blocked>,
                                  {unit, {40, 576, 1440}, {8, 24}, sides}}};

}  // namespace
