// computes: a[i] = b[i] + 3 c[i] over three large vectors, several times (STREAM triad)
// stresses: memory bandwidth; two loads and a store for two arithmetic operations, no reuse
// here because: it shows at which thread count a machine's memory is saturated
#include "mpet/workload.hpp"

namespace {

class Triad final : public mpet::Application {
public:
    Triad(mpet::Team& team, mpet::Scale scale)
        : length_(mpet::scaled<std::int64_t>(scale, 1 << 12, 1 << 20, 1 << 23)),
          rounds_(mpet::scaled(scale, 2, 40, 40)),
          a_(new double[static_cast<std::size_t>(length_)]),
          b_(new double[static_cast<std::size_t>(length_)]),
          c_(new double[static_cast<std::size_t>(length_)]) {
        team.run_unmeasured([&](mpet::Worker& me) {  // each thread first touches the elements on which it works
            const mpet::Range mine = me.share({0, length_});
            for (std::int64_t i = mine.begin; i < mine.end; i++) {
                a_[i] = 0;
                b_[i] = static_cast<double>(i % 1000);
                c_[i] = static_cast<double>(i % 77);
            }
        });
    }

    std::string input() const override { return std::to_string(length_) + "x" + std::to_string(rounds_); }

    void run(mpet::Team& team) override {
        team.run(sections[0], [&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, length_});
            double* const a = a_.get();
            const double *const b = b_.get(), *const c = c_.get();
            for (int round = 0; round < rounds_; round++) {
                for (std::int64_t i = mine.begin; i < mine.end; i++) a[i] = b[i] + 3.0 * c[i];
                me.barrier();
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (std::int64_t i = 0; i < length_; i += 7) checksum.add(a_[i]);
        return checksum.value();
    }

private:
    const std::int64_t length_;
    const int rounds_;
    std::unique_ptr<double[]> a_, b_, c_;
};

const mpet::Registration registration{
    {"triad",
     "1",
     {{nullptr, "domain_decomposition", "memory", "STREAM triad: sum of a vector and a scaled vector"}},
     mpet::make_application<Triad>}};

}  // namespace
