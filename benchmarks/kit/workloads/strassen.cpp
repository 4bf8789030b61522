// computes: the product of two dense matrices by Strassen's seven recursive products
// stresses: arithmetic in the leaves, memory in the sums of quadrants; seven tasks a level
// here because: recursion with much data per task: what a task touches moves between caches when it is stolen
#include <array>

#include "mpet/workload.hpp"

namespace {

// A square part of a matrix.
struct View {
    double* data;
    std::int64_t stride;

    View quadrant(std::int64_t row, std::int64_t column, std::int64_t half) const {
        return {data + row * half * stride + column * half, stride};
    }
    double* row(std::int64_t i) const { return data + i * stride; }
};

struct Square {
    explicit Square(std::int64_t side) : values(static_cast<std::size_t>(side * side)), view{values.data(), side} {}
    std::vector<double> values;
    View view;
};

class Strassen final : public mpet::Application {
public:
    // The side must be divisible by two at every level of the recursion, down to the leaf.
    Strassen(mpet::Team&, mpet::Scale scale, std::int64_t side)
        : side_(side),
          leaf_(mpet::scaled<std::int64_t>(scale, 8, 64, 192)),
          a_(side_),
          b_(side_),
          c_(side_) {
        mpet::Random random(5);
        for (double& value : a_.values) value = random.unit() - 0.5;
        for (double& value : b_.values) value = random.unit() - 0.5;
    }

    std::string input() const override { return std::to_string(side_) + "x" + std::to_string(side_); }

    void run(mpet::Team& team) override {
        mpet::run_tasks(team, sections[0], [this] { multiply(a_.view, b_.view, c_.view, side_); });
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(c_.values); }

private:
    static void multiply_leaf(View a, View b, View c, std::int64_t side) {
        for (std::int64_t i = 0; i < side; i++) {
            for (std::int64_t j = 0; j < side; j++) c.row(i)[j] = 0;
            for (std::int64_t k = 0; k < side; k++) {
                const double factor = a.row(i)[k];
                for (std::int64_t j = 0; j < side; j++) c.row(i)[j] += factor * b.row(k)[j];
            }
        }
    }

    static void combine(View a, double sign, View b, View out, std::int64_t side) {
        for (std::int64_t i = 0; i < side; i++) {
            for (std::int64_t j = 0; j < side; j++) out.row(i)[j] = a.row(i)[j] + sign * b.row(i)[j];
        }
    }

    struct Operand {
        View first;
        double sign;  // 0 = only the first quadrant
        View second;
    };

    void product(Operand left, Operand right, View out, std::int64_t side) const {
        Square sum_left(left.sign != 0 ? side : 0), sum_right(right.sign != 0 ? side : 0);
        if (left.sign != 0) combine(left.first, left.sign, left.second, sum_left.view, side);
        if (right.sign != 0) combine(right.first, right.sign, right.second, sum_right.view, side);
        multiply(left.sign != 0 ? sum_left.view : left.first, right.sign != 0 ? sum_right.view : right.first, out,
                 side);
    }

    void multiply(View a, View b, View c, std::int64_t side) const {
        if (side <= leaf_) return multiply_leaf(a, b, c, side);
        const std::int64_t half = side / 2;
        const View a11 = a.quadrant(0, 0, half), a12 = a.quadrant(0, 1, half), a21 = a.quadrant(1, 0, half),
                   a22 = a.quadrant(1, 1, half);
        const View b11 = b.quadrant(0, 0, half), b12 = b.quadrant(0, 1, half), b21 = b.quadrant(1, 0, half),
                   b22 = b.quadrant(1, 1, half);
        const std::array<Operand, 7> left{{{a11, 1, a22},
                                           {a21, 1, a22},
                                           {a11, 0, a11},
                                           {a22, 0, a22},
                                           {a11, 1, a12},
                                           {a21, -1, a11},
                                           {a12, -1, a22}}};
        const std::array<Operand, 7> right{{{b11, 1, b22},
                                            {b11, 0, b11},
                                            {b12, -1, b22},
                                            {b21, -1, b11},
                                            {b22, 0, b22},
                                            {b11, 1, b12},
                                            {b21, 1, b22}}};
        std::vector<Square> m;
        for (int i = 0; i < 7; i++) m.emplace_back(half);
        mpet::TaskGroup products;
        for (std::size_t i = 0; i < 7; i++) {
            products.spawn([this, &m, &left, &right, i, half] { product(left[i], right[i], m[i].view, half); });
        }
        products.wait();
        assemble(m, c, half);
    }

    static void assemble(const std::vector<Square>& m, View c, std::int64_t half) {
        const View c11 = c.quadrant(0, 0, half), c12 = c.quadrant(0, 1, half), c21 = c.quadrant(1, 0, half),
                   c22 = c.quadrant(1, 1, half);
        combine(m[0].view, 1, m[3].view, c11, half);
        combine(c11, -1, m[4].view, c11, half);
        combine(c11, 1, m[6].view, c11, half);
        combine(m[2].view, 1, m[4].view, c12, half);
        combine(m[1].view, 1, m[3].view, c21, half);
        combine(m[0].view, -1, m[1].view, c22, half);
        combine(c22, 1, m[2].view, c22, half);
        combine(c22, 1, m[5].view, c22, half);
    }

    const std::int64_t side_, leaf_;
    Square a_, b_, c_;
};

const mpet::Registration registration{{"strassen",
                                       "1",
                                       {{nullptr, "recursive", "computation", "Strassen's matrix product"}},
                                       mpet::make_application<Strassen>,
                                       {"matrix rows",
                                        {32, 512, 1536},
                                        {16, 24},
                                        {256, 320, 384, 512, 640, 768, 896, 1024, 1152, 1280}}}};

}  // namespace
