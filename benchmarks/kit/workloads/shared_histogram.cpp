// computes: a histogram of hashed values in bins that all threads share, under locks
// stresses: lock transfers and cache lines that move between cores: an acquisition for every 16 values
// here because: communication-bound on purpose; the lock delay grows with every thread
#include <array>

#include "mpet/workload.hpp"

namespace {

class SharedHistogram final : public mpet::Application {
public:
    SharedHistogram(mpet::Team&, mpet::Scale scale)
        : batches_(mpet::scaled<std::int64_t>(scale, 500, 1000000, 8000000)) {}

    std::string input() const override { return std::to_string(batches_) + "x" + std::to_string(batch); }

    void run(mpet::Team& team) override {
        for (Stripe& stripe : stripes_) stripe.bins.fill(0);
        mpet::parallel_for(team, sections[0], {0, batches_}, mpet::Static{},
                           [this](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t i = begin; i < end; i++) add_batch(i);
                           });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const Stripe& stripe : stripes_) checksum.add_all(stripe.bins);
        return checksum.value();
    }

private:
    static constexpr std::int64_t batch = 16;

    struct alignas(128) Stripe {
        mpet::Lock lock;
        std::array<std::uint64_t, 64> bins;
    };

    // Does some work without a lock, then acquires one stripe's lock for the whole batch.
    void add_batch(std::int64_t number) {
        std::array<std::uint64_t, batch> values;
        for (std::int64_t i = 0; i < batch; i++) {
            values[static_cast<std::size_t>(i)] = mpet::hash64(static_cast<std::uint64_t>(number * batch + i));
        }
        Stripe& stripe = stripes_[values[0] % stripes_.size()];
        const mpet::LockGuard guard(stripe.lock);
        for (const std::uint64_t value : values) stripe.bins[(value >> 32) % stripe.bins.size()]++;
    }

    const std::int64_t batches_;
    std::array<Stripe, 8> stripes_;
};

const mpet::Registration registration{{"shared_histogram",
                                       "1",
                                       {{nullptr, "locks", "communication", "Histogram in shared bins under locks"}},
                                       mpet::make_application<SharedHistogram>}};

}  // namespace
