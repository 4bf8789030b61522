// computes: the LU factors of a sparse matrix of dense blocks, without pivoting
// stresses: arithmetic in blocks; a graph of dependent tasks whose width shrinks towards the end
// here because: irregular task graphs: which task is ready depends on which have ended, not on phases
#include <memory>

#include "mpet/workload.hpp"

namespace {

class SparseLu final : public mpet::Application {
public:
    SparseLu(mpet::Team&, mpet::Scale scale, std::int64_t blocks)
        : blocks_(blocks), side_(mpet::scaled<std::int64_t>(scale, 6, 48, 64)) {
        reset();
    }

    std::string input() const override {
        return std::to_string(blocks_) + "x" + std::to_string(blocks_) + " blocks of " + std::to_string(side_);
    }

    void run(mpet::Team& team) override {
        reset();
        mpet::TaskGraph graph = make_graph();
        graph.run(team, sections[0]);
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const auto& block : matrix_) checksum.add_all(block);
        return checksum.value();
    }

private:
    using Block = std::vector<double>;

    Block& at(std::int64_t row, std::int64_t column) {
        return matrix_[static_cast<std::size_t>(row * blocks_ + column)];
    }

    bool starts_filled(std::int64_t row, std::int64_t column) const {
        const std::int64_t distance = row > column ? row - column : column - row;
        return distance <= 1 || (row * 7 + column * 3) % 4 == 0 || row == 0;
    }

    void reset() {
        matrix_.assign(static_cast<std::size_t>(blocks_ * blocks_), Block());
        for (std::int64_t row = 0; row < blocks_; row++) {
            for (std::int64_t column = 0; column < blocks_; column++) {
                if (starts_filled(row, column)) fill(row, column);
            }
        }
    }

    // The matrix is diagonally dominant, so that no pivoting is needed.
    void fill(std::int64_t row, std::int64_t column) {
        Block& block = at(row, column);
        block.resize(static_cast<std::size_t>(side_ * side_));
        mpet::Random random(static_cast<std::uint64_t>(row * blocks_ + column));
        for (double& value : block) value = random.unit() - 0.5;
        if (row != column) return;
        for (std::int64_t i = 0; i < side_; i++)
            block[static_cast<std::size_t>(i * side_ + i)] += static_cast<double>(blocks_ * side_);
    }

    // Creates the block operations in the order of the sequential algorithm. Each depends on the last writers of its
    // inputs.
    mpet::TaskGraph make_graph() {
        mpet::TaskGraph graph;
        std::vector<std::int64_t> last_writer(matrix_.size(), -1);
        const auto index = [this](std::int64_t row, std::int64_t column) {
            return static_cast<std::size_t>(row * blocks_ + column);
        };
        const auto add = [&](std::size_t writes, std::vector<std::size_t> reads, std::function<void()> work) {
            const mpet::TaskGraph::Node node = graph.add(std::move(work));
            reads.push_back(writes);
            for (const std::size_t block : reads) {
                if (last_writer[block] >= 0)
                    graph.precede(static_cast<mpet::TaskGraph::Node>(last_writer[block]), node);
            }
            last_writer[writes] = static_cast<std::int64_t>(node);
        };
        for (std::int64_t k = 0; k < blocks_; k++) {
            add(index(k, k), {}, [this, k] { factorise(at(k, k)); });
            for (std::int64_t j = k + 1; j < blocks_; j++) {
                if (!at(k, j).empty())
                    add(index(k, j), {index(k, k)}, [this, k, j] { solve_lower(at(k, k), at(k, j)); });
            }
            for (std::int64_t i = k + 1; i < blocks_; i++) {
                if (at(i, k).empty()) continue;
                add(index(i, k), {index(k, k)}, [this, k, i] { solve_upper(at(k, k), at(i, k)); });
                for (std::int64_t j = k + 1; j < blocks_; j++) {
                    if (at(k, j).empty()) continue;
                    at(i, j).resize(static_cast<std::size_t>(side_ * side_));  // fill-in
                    add(index(i, j), {index(i, k), index(k, j)},
                        [this, i, j, k] { update(at(i, k), at(k, j), at(i, j)); });
                }
            }
        }
        return graph;
    }

    void factorise(Block& block) const {
        double* const a = block.data();
        for (std::int64_t k = 0; k < side_; k++) {
            for (std::int64_t i = k + 1; i < side_; i++) {
                a[i * side_ + k] /= a[k * side_ + k];
                for (std::int64_t j = k + 1; j < side_; j++) a[i * side_ + j] -= a[i * side_ + k] * a[k * side_ + j];
            }
        }
    }

    void solve_lower(const Block& diagonal, Block& block) const {
        const double* const l = diagonal.data();
        double* const b = block.data();
        for (std::int64_t k = 0; k < side_; k++) {
            for (std::int64_t i = k + 1; i < side_; i++) {
                for (std::int64_t j = 0; j < side_; j++) b[i * side_ + j] -= l[i * side_ + k] * b[k * side_ + j];
            }
        }
    }

    void solve_upper(const Block& diagonal, Block& block) const {
        const double* const u = diagonal.data();
        double* const b = block.data();
        for (std::int64_t i = 0; i < side_; i++) {
            for (std::int64_t k = 0; k < side_; k++) {
                b[i * side_ + k] /= u[k * side_ + k];
                for (std::int64_t j = k + 1; j < side_; j++) b[i * side_ + j] -= b[i * side_ + k] * u[k * side_ + j];
            }
        }
    }

    void update(const Block& left, const Block& upper, Block& block) const {
        double* const c = block.data();
        for (std::int64_t i = 0; i < side_; i++) {
            for (std::int64_t k = 0; k < side_; k++) {
                const double factor = left.data()[i * side_ + k];
                const double* const b = upper.data() + k * side_;
                for (std::int64_t j = 0; j < side_; j++) c[i * side_ + j] -= factor * b[j];
            }
        }
    }

    const std::int64_t blocks_, side_;
    std::vector<Block> matrix_;
};

const mpet::Registration registration{{"sparselu",
                                       "1",
                                       {{nullptr, "task_graph", "computation", "Blocked sparse LU factorisation"}},
                                       mpet::make_application<SparseLu>,
                                       {"rows of blocks",
                                        {6, 16, 32},
                                        {3, 5},
                                        {6, 8, 10, 12, 14, 16, 18, 20, 24, 28}}}};

}  // namespace
