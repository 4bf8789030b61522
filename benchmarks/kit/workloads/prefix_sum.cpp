// computes: inclusive prefix sums of a large vector of integers, in two passes
// stresses: memory bandwidth, with a short sequential step between two barriers
// here because: the building block of parallel packing and sorting; it does twice the sequential work when parallel
#include "mpet/workload.hpp"

namespace {

class PrefixSum final : public mpet::Application {
public:
    PrefixSum(mpet::Team& team, mpet::Scale scale)
        : length_(mpet::scaled<std::int64_t>(scale, 1 << 12, 1 << 21, 1 << 24)),
          rounds_(mpet::scaled(scale, 2, 30, 40)),
          in_(new std::uint32_t[static_cast<std::size_t>(length_)]),
          out_(new std::uint32_t[static_cast<std::size_t>(length_)]),
          offset_(static_cast<std::size_t>(team.size()) + 1) {
        team.run_unmeasured([&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, length_});
            for (std::int64_t i = mine.begin; i < mine.end; i++) {
                in_[i] = static_cast<std::uint32_t>(mpet::hash64(static_cast<std::uint64_t>(i)) % 100);
                out_[i] = 0;
            }
        });
    }

    std::string input() const override { return std::to_string(length_) + "x" + std::to_string(rounds_); }

    void run(mpet::Team& team) override {
        team.run(sections[0], [&](mpet::Worker& me) {
            for (int round = 0; round < rounds_; round++) {
                if (me.team.size() > 1) offsets(me);
                scan(me);
                me.barrier();
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (std::int64_t i = 0; i < length_; i += 5) checksum.add(out_[i]);
        return checksum.value();
    }

private:
    // Computes, for each thread, the sum of all parts before its own.
    void offsets(mpet::Worker& me) {
        const mpet::Range mine = me.share({0, length_});
        std::uint32_t sum = 0;
        for (std::int64_t i = mine.begin; i < mine.end; i++) sum += in_[i];
        offset_[static_cast<std::size_t>(me.id) + 1] = sum;
        me.barrier();
        if (me.id == 0) {
            for (std::size_t i = 1; i < offset_.size(); i++) offset_[i] += offset_[i - 1];
        }
        me.barrier();
    }

    void scan(const mpet::Worker& me) {
        const mpet::Range mine = me.share({0, length_});
        std::uint32_t sum = offset_[static_cast<std::size_t>(me.id)];
        for (std::int64_t i = mine.begin; i < mine.end; i++) out_[i] = sum += in_[i];
    }

    const std::int64_t length_;
    const int rounds_;
    std::unique_ptr<std::uint32_t[]> in_, out_;
    std::vector<std::uint32_t> offset_;
};

const mpet::Registration registration{{"prefix_sum",
                                       "1",
                                       {{nullptr, "domain_decomposition", "memory", "Prefix sums in two passes"}},
                                       mpet::make_application<PrefixSum>}};

}  // namespace
