// computes: k-means clustering of integer points, with cluster sums shared under one lock each
// stresses: distances in integers between lock acquisitions; barriers, and short work for one thread alone
// here because: locks in an algorithm that mostly computes: contention appears only with many threads
#include <array>

#include "mpet/workload.hpp"

namespace {

constexpr std::size_t dimensions = 8, clusters = 24;
using Vector = std::array<std::int32_t, dimensions>;

class KMeans final : public mpet::Application {
public:
    KMeans(mpet::Team&, mpet::Scale scale)
        : points_(mpet::scaled<std::size_t>(scale, 400, 30000, 200000)), rounds_(mpet::scaled(scale, 2, 12, 24)) {
        for (std::size_t i = 0; i < points_.size(); i++) {
            const std::uint64_t around = mpet::hash64(i) % clusters;
            for (std::size_t d = 0; d < dimensions; d++) {
                const std::uint64_t centre = mpet::hash64(around * dimensions + d + 5000) % 8000;
                points_[i][d] = static_cast<std::int32_t>(centre + mpet::hash64(i * dimensions + d) % 1500);
            }
        }
    }

    std::string input() const override {
        return std::to_string(points_.size()) + " points x" + std::to_string(rounds_);
    }

    void run(mpet::Team& team) override {
        for (std::size_t c = 0; c < clusters; c++) clusters_[c].centre = points_[c * 16];
        team.run(sections[0], [&](mpet::Worker& me) {
            const mpet::Range mine = me.share({0, static_cast<std::int64_t>(points_.size())});
            for (int round = 0; round < rounds_; round++) {
                for (std::int64_t i = mine.begin; i < mine.end; i++) assign(points_[static_cast<std::size_t>(i)]);
                me.barrier();
                if (me.id == 0) move_centres();
                me.barrier();
            }
        });
    }

    std::uint64_t checksum(std::size_t) const override {
        mpet::Checksum checksum;
        for (const Cluster& cluster : clusters_) checksum.add_all(cluster.centre);
        return checksum.value();
    }

private:
    struct alignas(128) Cluster {
        Vector centre{};
        mpet::Lock lock;
        std::array<std::int64_t, dimensions> sum{};
        std::int64_t count = 0;
    };

    void assign(const Vector& point) {
        std::size_t nearest = 0;
        std::int64_t least = INT64_MAX;
        for (std::size_t c = 0; c < clusters; c++) {
            std::int64_t square = 0;
            for (std::size_t d = 0; d < dimensions; d++) {
                const std::int64_t difference = point[d] - clusters_[c].centre[d];
                square += difference * difference;
            }
            if (square < least) {
                least = square;
                nearest = c;
            }
        }
        Cluster& cluster = clusters_[nearest];
        const mpet::LockGuard guard(cluster.lock);
        cluster.count++;
        for (std::size_t d = 0; d < dimensions; d++) cluster.sum[d] += point[d];
    }

    void move_centres() {
        for (Cluster& cluster : clusters_) {
            for (std::size_t d = 0; d < dimensions; d++) {
                if (cluster.count > 0) cluster.centre[d] = static_cast<std::int32_t>(cluster.sum[d] / cluster.count);
                cluster.sum[d] = 0;
            }
            cluster.count = 0;
        }
    }

    std::vector<Vector> points_;
    const int rounds_;
    std::array<Cluster, clusters> clusters_;
};

const mpet::Registration registration{{"kmeans",
                                       "1",
                                       {{nullptr, "locks", "computation", "k-means clustering with shared sums"}},
                                       mpet::make_application<KMeans>}};

}  // namespace
