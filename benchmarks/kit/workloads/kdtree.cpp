// computes: a k-d tree over random points in space, then the nearest neighbour of many other points
// stresses: build: selection, data movement, recursive tasks; query: cache misses and branches, uneven loop
// here because: nearest neighbour search as in the paper; building scales worse than searching
#include <algorithm>
#include <array>

#include "mpet/workload.hpp"

namespace {

struct Point {
    std::array<std::int32_t, 3> at;
    std::int32_t id;
};

class KdTree final : public mpet::Application {
public:
    KdTree(mpet::Team&, mpet::Scale scale)
        : count_(mpet::scaled<std::int64_t>(scale, 500, 200000, 2400000)),
          queries_(mpet::scaled<std::int64_t>(scale, 200, 80000, 800000)),
          tree_(static_cast<std::size_t>(count_)),
          nearest_(static_cast<std::size_t>(queries_)) {}

    std::string input() const override {
        return std::to_string(count_) + " points, " + std::to_string(queries_) + " queries";
    }

    void run(mpet::Team& team) override {
        for (std::int64_t i = 0; i < count_; i++) tree_[static_cast<std::size_t>(i)] = random_point(i, 1);
        mpet::run_tasks(team, sections[0], [this] { build({0, count_}, 0); });
        mpet::parallel_for(team, sections[1], {0, queries_}, mpet::Dynamic{64},
                           [this](std::int64_t begin, std::int64_t end) {
                               for (std::int64_t query = begin; query < end; query++)
                                   nearest_[static_cast<std::size_t>(query)] = find(query);
                           });
    }

    // The order of the medians defines the shape of the tree and is unique. The order of points inside a leaf is
    // ignored.
    std::uint64_t checksum(std::size_t section) const override {
        if (section == 1) return mpet::checksum_of(nearest_);
        mpet::Checksum checksum;
        add_medians({0, count_}, checksum);
        return checksum.value();
    }

private:
    static constexpr std::int64_t leaf = 16, sequential_below = 2048;

    struct Best {
        std::int64_t distance = INT64_MAX;
        std::int32_t id = -1;

        void offer(const Point& point, const Point& query) {
            std::int64_t square = 0;
            for (std::size_t axis = 0; axis < 3; axis++) {
                const std::int64_t difference = std::int64_t{point.at[axis]} - query.at[axis];
                square += difference * difference;
            }
            if (square < distance || (square == distance && point.id < id)) *this = {square, point.id};
        }
    };

    static Point random_point(std::int64_t id, std::uint64_t seed) {
        const std::uint64_t bits = mpet::hash64(static_cast<std::uint64_t>(id) * 2 + (seed << 40));
        const auto coordinate = [bits](int shift) { return static_cast<std::int32_t>(bits >> shift & 0xfffff); };
        return {{coordinate(0), coordinate(20), coordinate(40)}, static_cast<std::int32_t>(id)};
    }

    void build(mpet::Range part, std::size_t axis) {
        if (part.size() <= leaf) return;
        const std::int64_t middle = part.begin + part.size() / 2;
        Point* points = tree_.data();
        std::nth_element(points + part.begin, points + middle, points + part.end,
                         [axis](const Point& a, const Point& b) {
                             return a.at[axis] != b.at[axis] ? a.at[axis] < b.at[axis] : a.id < b.id;
                         });
        const mpet::Range below{part.begin, middle}, above{middle + 1, part.end};
        const std::size_t next = (axis + 1) % 3;
        if (part.size() < sequential_below) {
            build(below, next);
            build(above, next);
            return;
        }
        mpet::TaskGroup halves;
        halves.spawn([=] { build(below, next); });
        halves.spawn([=] { build(above, next); });
        halves.wait();
    }

    std::int32_t find(std::int64_t number) const {
        Best best;
        search({0, count_}, 0, random_point(number, 2), best);
        return best.id;
    }

    void search(mpet::Range part, std::size_t axis, const Point& query, Best& best) const {
        if (part.size() <= leaf) {
            for (std::int64_t i = part.begin; i < part.end; i++) best.offer(tree_[static_cast<std::size_t>(i)], query);
            return;
        }
        const std::int64_t middle = part.begin + part.size() / 2;
        const Point& median = tree_[static_cast<std::size_t>(middle)];
        best.offer(median, query);
        const std::int64_t offset = std::int64_t{query.at[axis]} - median.at[axis];
        const mpet::Range below{part.begin, middle}, above{middle + 1, part.end};
        search(offset < 0 ? below : above, (axis + 1) % 3, query, best);
        if (offset * offset <= best.distance) search(offset < 0 ? above : below, (axis + 1) % 3, query, best);
    }

    void add_medians(mpet::Range part, mpet::Checksum& checksum) const {
        if (part.size() <= leaf) return;
        const std::int64_t middle = part.begin + part.size() / 2;
        checksum.add(tree_[static_cast<std::size_t>(middle)].id);
        add_medians({part.begin, middle}, checksum);
        add_medians({middle + 1, part.end}, checksum);
    }

    const std::int64_t count_, queries_;
    std::vector<Point> tree_;
    std::vector<std::int32_t> nearest_;
};

const mpet::Registration registration{
    {"kdtree",
     "1",
     {{"build", "recursive", "memory", "Building a k-d tree by recursive selection of medians"},
      {"query", "dynamic_loop", "memory", "Nearest neighbours in a k-d tree"}},
     mpet::make_application<KdTree>}};

}  // namespace
