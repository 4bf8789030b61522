// computes: walks along one random cycle through a large memory, from many starting points
// stresses: memory latency; every load depends on the one before, each goes to another cache line
// here because: what linked structures cost; shows latency, and how many misses all cores can have under way
#include <numeric>

#include "mpet/workload.hpp"

namespace {

class PointerChase final : public mpet::Application {
public:
    PointerChase(mpet::Team&, mpet::Scale scale)
        : nodes_(mpet::scaled<std::size_t>(scale, 1 << 9, 1 << 16, 1 << 20)),
          hops_(mpet::scaled<std::int64_t>(scale, 32, 6000, 12000)),
          node_(nodes_),
          end_(walks) {
        std::vector<std::uint32_t> order(nodes_);
        std::iota(order.begin(), order.end(), 0u);
        mpet::Random random(7);
        for (std::size_t i = nodes_ - 1; i > 0; i--) std::swap(order[i], order[random.below(i + 1)]);
        for (std::size_t i = 0; i < nodes_; i++) node_[order[i]].next = order[(i + 1) % nodes_];
    }

    std::string input() const override {
        return std::to_string(nodes_) + " lines, " + std::to_string(walks) + "x" + std::to_string(hops_) + " hops";
    }

    void run(mpet::Team& team) override {
        mpet::parallel_for(team, sections[0], {0, walks}, mpet::Static{}, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t walk = begin; walk < end; walk++) end_[static_cast<std::size_t>(walk)] = follow(walk);
        });
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(end_); }

private:
    static constexpr std::int64_t walks = 240;  // divisible by most core counts

    struct alignas(64) Node {
        std::uint32_t next;
    };

    std::uint32_t follow(std::int64_t walk) const {
        auto at = static_cast<std::uint32_t>(static_cast<std::size_t>(walk) * nodes_ / walks);
        for (std::int64_t hop = 0; hop < hops_; hop++) at = node_[at].next;
        return at;
    }

    const std::size_t nodes_;
    const std::int64_t hops_;
    std::vector<Node> node_;
    std::vector<std::uint32_t> end_;
};

const mpet::Registration registration{
    {"pointer_chase",
     "1",
     {{nullptr, "domain_decomposition", "memory", "Walks along a random cycle of cache lines"}},
     mpet::make_application<PointerChase>}};

}  // namespace
