// computes: steps of a gravitational n-body simulation, all pairs
// stresses: floating-point units, with division and square root; the data fit into the first cache
// here because: the purest compute-bound loop: what scales badly here is not memory
#include <cmath>

#include "mpet/workload.hpp"

namespace {

class NBody final : public mpet::Application {
public:
    NBody(mpet::Team&, mpet::Scale scale)
        : bodies_(mpet::scaled<std::int64_t>(scale, 48, 1000, 2400)), steps_(mpet::scaled(scale, 2, 14, 32)) {
        reset();
    }

    std::string input() const override { return std::to_string(bodies_) + "x" + std::to_string(steps_); }

    void run(mpet::Team& team) override {
        reset();
        team.run(sections[0], [&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, bodies_});
            for (int step = 0; step < steps_; step++) {
                for (std::int64_t body = mine.begin; body < mine.end; body++) accelerate(body);
                me.barrier();
                for (std::int64_t body = mine.begin; body < mine.end; body++) move(body);
                me.barrier();
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const auto& axis : position_) checksum.add_all(axis);
        return checksum.value();
    }

private:
    static constexpr double time_step = 0.001, softening = 0.01;

    void reset() {
        for (std::size_t axis = 0; axis < 3; axis++) {
            position_[axis].resize(static_cast<std::size_t>(bodies_));
            velocity_[axis].assign(static_cast<std::size_t>(bodies_), 0.0);
            mpet::Random random(axis + 1);
            for (double& coordinate : position_[axis]) coordinate = random.unit();
        }
    }

    void accelerate(std::int64_t body) {
        const double *x = position_[0].data(), *y = position_[1].data(), *z = position_[2].data();
        double ax = 0, ay = 0, az = 0;
        for (std::int64_t other = 0; other < bodies_; other++) {
            const double dx = x[other] - x[body], dy = y[other] - y[body], dz = z[other] - z[body];
            const double square = dx * dx + dy * dy + dz * dz + softening;
            const double force = 1.0 / (square * std::sqrt(square));
            ax += dx * force;
            ay += dy * force;
            az += dz * force;
        }
        velocity_[0].data()[body] += ax * time_step / static_cast<double>(bodies_);
        velocity_[1].data()[body] += ay * time_step / static_cast<double>(bodies_);
        velocity_[2].data()[body] += az * time_step / static_cast<double>(bodies_);
    }

    void move(std::int64_t body) {
        for (std::size_t axis = 0; axis < 3; axis++) {
            position_[axis].data()[body] += velocity_[axis].data()[body] * time_step;
        }
    }

    const std::int64_t bodies_;
    const int steps_;
    std::vector<double> position_[3], velocity_[3];
};

const mpet::Registration registration{
    {"nbody",
     "1",
     {{nullptr, "domain_decomposition", "computation", "Gravitational n-body simulation, all pairs"}},
     mpet::make_application<NBody>}};

}  // namespace
