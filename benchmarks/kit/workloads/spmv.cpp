// computes: repeated products of a sparse matrix (CSR, uneven rows) with a vector
// stresses: memory bandwidth and irregular reads; rows of 4 to 60 entries spread over the whole vector
// here because: the core of iterative solvers and graph ranking; its access pattern defeats prefetching
#include "mpet/workload.hpp"

namespace {

class Spmv final : public mpet::Application {
public:
    Spmv(mpet::Team& team, mpet::Scale scale)
        : rows_(mpet::scaled<std::int64_t>(scale, 1 << 9, 1 << 16, 1 << 19)),
          rounds_(mpet::scaled(scale, 2, 24, 32)),
          row_begin_(static_cast<std::size_t>(rows_) + 1) {
        for (std::int64_t row = 0; row < rows_; row++) {
            row_begin_[static_cast<std::size_t>(row) + 1] = row_begin_[static_cast<std::size_t>(row)] + length_of(row);
        }
        const auto entries = static_cast<std::size_t>(row_begin_.back());
        column_.reset(new std::int32_t[entries]);
        x_.reset(new double[static_cast<std::size_t>(rows_)]);
        y_.reset(new double[static_cast<std::size_t>(rows_)]);
        fill(team);
    }

    std::string input() const override {
        return std::to_string(rows_) + " rows, " + std::to_string(row_begin_.back()) + " entries, x" +
               std::to_string(rounds_);
    }

    void run(mpet::Team& team) override {
        fill(team);
        team.run(sections[0], [&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, rows_});
            const double* from = x_.get();
            double* to = y_.get();
            for (int round = 0; round < rounds_; round++) {
                for (std::int64_t row = mine.begin; row < mine.end; row++) to[row] = product(row, from);
                me.barrier();
                double* const written = to;
                to = const_cast<double*>(from);
                from = written;
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        const double* result = rounds_ % 2 == 0 ? x_.get() : y_.get();
        mpet::Checksum checksum;
        for (std::int64_t row = 0; row < rows_; row++) checksum.add(result[row]);
        return checksum.value();
    }

private:
    static std::int64_t length_of(std::int64_t row) {
        const std::uint64_t random = mpet::hash64(static_cast<std::uint64_t>(row));
        return random % 16 == 0 ? 60 : 4 + static_cast<std::int64_t>((random >> 8) % 17);
    }

    // Every entry of a row is 1 / length, so that the vector stays bounded and the values need not be stored.
    double product(std::int64_t row, const double* x) const {
        const std::int64_t begin = row_begin_[static_cast<std::size_t>(row)],
                           end = row_begin_[static_cast<std::size_t>(row) + 1];
        double sum = 0;
        for (std::int64_t entry = begin; entry < end; entry++) sum += x[column_[entry]];
        return sum / static_cast<double>(end - begin);
    }

    void fill(mpet::Team& team) {
        team.run_unmeasured([&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, rows_});
            for (std::int64_t row = mine.begin; row < mine.end; row++) {
                x_[row] = mpet::unit_double(static_cast<std::uint64_t>(row) + 1000);
                y_[row] = 0;
                const auto at = static_cast<std::size_t>(row);
                for (std::int64_t entry = row_begin_[at]; entry < row_begin_[at + 1]; entry++) {
                    const std::uint64_t random = mpet::hash64(static_cast<std::uint64_t>(entry) * 3 + 1);
                    column_[entry] = static_cast<std::int32_t>(random % static_cast<std::uint64_t>(rows_));
                }
            }
        });
    }

    const std::int64_t rows_;
    const int rounds_;
    std::vector<std::int64_t> row_begin_;
    std::unique_ptr<std::int32_t[]> column_;
    std::unique_ptr<double[]> x_, y_;
};

const mpet::Registration registration{{"spmv",
                                       "1",
                                       {{nullptr, "domain_decomposition", "memory", "Sparse matrix times vector, CSR"}},
                                       mpet::make_application<Spmv>}};

}  // namespace
