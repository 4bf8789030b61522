// computes: the distance of every vertex of a skewed random graph from one vertex, level by level
// stresses: memory latency and shared cache lines: atomic claims of vertices all over memory, uneven adjacency
// here because: graph analytics; levels of a few and of a million vertices, dealt out dynamically
#include <atomic>

#include "mpet/workload.hpp"

namespace {

class Bfs final : public mpet::Application {
public:
    Bfs(mpet::Team& team, mpet::Scale scale)
        : vertices_(mpet::scaled<std::uint32_t>(scale, 1 << 9, 1 << 18, 1 << 21)),
          first_(vertices_ + 1),
          level_(vertices_),
          found_(static_cast<std::size_t>(team.size())) {
        build();
    }

    std::string input() const override {
        return std::to_string(vertices_) + " vertices, " + std::to_string(neighbour_.size()) + " edges";
    }

    void run(mpet::Team& team) override {
        for (auto& level : level_) level.store(unreached, std::memory_order_relaxed);
        level_[0].store(0, std::memory_order_relaxed);
        std::vector<std::uint32_t> frontier{0};
        for (std::int32_t level = 1; !frontier.empty(); level++) {
            mpet::parallel_for(team, sections[0], {0, static_cast<std::int64_t>(frontier.size())}, mpet::Dynamic{256},
                               [&](std::int64_t begin, std::int64_t end) {
                                   auto& found = found_[static_cast<std::size_t>(mpet::current_worker->id)].vertices;
                                   for (std::int64_t i = begin; i < end; i++)
                                       expand(frontier[static_cast<std::size_t>(i)], level, found);
                               });
            frontier.clear();
            for (Found& found : found_) {
                frontier.insert(frontier.end(), found.vertices.begin(), found.vertices.end());
                found.vertices.clear();
            }
        }
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const auto& level : level_) checksum.add(level.load(std::memory_order_relaxed));
        return checksum.value();
    }

private:
    static constexpr std::int32_t unreached = -1;

    struct alignas(128) Found {
        std::vector<std::uint32_t> vertices;
    };

    // Squaring a random fraction makes the vertices with low numbers the hubs.
    std::uint32_t random_vertex(std::uint64_t key) const {
        const std::uint64_t fraction = mpet::hash64(key) >> 32;
        return static_cast<std::uint32_t>(((fraction * fraction) >> 32) * vertices_ >> 32);
    }

    void build() {
        const std::uint64_t edges = std::uint64_t{vertices_} * 8;
        const auto from = [&](std::uint64_t edge) {
            return edge < vertices_ ? static_cast<std::uint32_t>(edge / 2) : random_vertex(2 * edge);
        };
        const auto to = [&](std::uint64_t edge) {
            return edge < vertices_ ? static_cast<std::uint32_t>(edge) : random_vertex(2 * edge + 1);
        };
        for (std::uint64_t edge = 0; edge < edges; edge++) first_[from(edge) + 1]++;
        for (std::uint32_t vertex = 0; vertex < vertices_; vertex++) first_[vertex + 1] += first_[vertex];
        std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
        neighbour_.resize(edges);
        for (std::uint64_t edge = 0; edge < edges; edge++) neighbour_[next[from(edge)]++] = to(edge);
    }

    void expand(std::uint32_t vertex, std::int32_t level, std::vector<std::uint32_t>& found) {
        for (std::uint32_t edge = first_[vertex]; edge < first_[vertex + 1]; edge++) {
            std::atomic<std::int32_t>& seen = level_[neighbour_[edge]];
            std::int32_t expected = unreached;
            if (seen.load(std::memory_order_relaxed) != unreached) continue;
            if (seen.compare_exchange_strong(expected, level, std::memory_order_relaxed))
                found.push_back(neighbour_[edge]);
        }
    }

    const std::uint32_t vertices_;
    std::vector<std::uint32_t> first_, neighbour_;
    std::vector<std::atomic<std::int32_t>> level_;
    std::vector<Found> found_;
};

const mpet::Registration registration{
    {"bfs",
     "1",
     {{nullptr, "dynamic_loop", "communication", "Breadth-first search, level by level"}},
     mpet::make_application<Bfs>}};

}  // namespace
