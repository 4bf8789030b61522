// computes: Jacobi iterations for Laplace's equation on a square grid with a hot edge
// stresses: memory bandwidth and caches; four neighbours a point, a barrier a sweep
// here because: the model of every stencil code: regular, memory-bound, one synchronisation an iteration
#include "mpet/workload.hpp"

namespace {

class Jacobi final : public mpet::Application {
public:
    Jacobi(mpet::Team& team, mpet::Scale scale)
        : side_(mpet::scaled<std::int64_t>(scale, 66, 1026, 2050)),
          sweeps_(mpet::scaled(scale, 4, 60, 200)),
          grid_(new double[static_cast<std::size_t>(side_ * side_)]),
          next_(new double[static_cast<std::size_t>(side_ * side_)]) {
        fill(team);
    }

    std::string input() const override { return std::to_string(side_) + "x" + std::to_string(sweeps_); }

    void run(mpet::Team& team) override {
        fill(team);
        team.run(sections[0], [&](mpet::Worker& me) {
            const mpet::Range rows = me.share({1, side_ - 1});
            double *from = grid_.get(), *to = next_.get();
            for (int sweep = 0; sweep < sweeps_; sweep++) {
                for (std::int64_t row = rows.begin; row < rows.end; row++) relax(from + row * side_, to + row * side_);
                me.barrier();
                std::swap(from, to);
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        const double* result = sweeps_ % 2 == 0 ? grid_.get() : next_.get();
        mpet::Checksum checksum;
        for (std::int64_t i = 0; i < side_ * side_; i += 3) checksum.add(result[i]);
        return checksum.value();
    }

private:
    void relax(const double* from, double* to) const {
        for (std::int64_t i = 1; i < side_ - 1; i++) {
            to[i] = 0.25 * ((from[i - side_] + from[i + side_]) + (from[i - 1] + from[i + 1]));
        }
    }

    void fill(mpet::Team& team) {
        team.run_unmeasured([&](mpet::Worker& me) {
            const mpet::Range rows = me.share({0, side_});
            for (std::int64_t i = rows.begin * side_; i < rows.end * side_; i++) {
                grid_[i] = next_[i] = i < side_ ? 100.0 : 0.0;
            }
        });
    }

    const std::int64_t side_;
    const int sweeps_;
    std::unique_ptr<double[]> grid_, next_;
};

const mpet::Registration registration{{"jacobi",
                                       "1",
                                       {{nullptr, "domain_decomposition", "memory", "Jacobi sweeps over a 2D grid"}},
                                       mpet::make_application<Jacobi>}};

}  // namespace
