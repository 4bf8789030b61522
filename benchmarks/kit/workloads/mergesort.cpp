// computes: a sorted copy of random integers by recursive merge sort with parallel merges
// stresses: memory bandwidth and unpredictable branches; halves split into tasks, large merges split too
// here because: divide and conquer over memory: parallelism grows down the tree and shrinks again
#include <algorithm>

#include "mpet/workload.hpp"

namespace {

using Iterator = std::uint32_t*;

class MergeSort final : public mpet::Application {
public:
    MergeSort(mpet::Team&, mpet::Scale scale, std::int64_t count)
        : count_(count),
          leaf_(mpet::scaled<std::int64_t>(scale, 64, 4096, 16384)),
          numbers_(static_cast<std::size_t>(count_)),
          buffer_(static_cast<std::size_t>(count_)) {}

    std::string input() const override { return std::to_string(count_); }

    void run(mpet::Team& team) override {
        for (std::size_t i = 0; i < numbers_.size(); i++) numbers_[i] = static_cast<std::uint32_t>(mpet::hash64(i));
        mpet::run_tasks(team, sections[0], [this] { sort(numbers_.data(), buffer_.data(), count_); });
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(numbers_); }

private:
    void sort(Iterator data, Iterator buffer, std::int64_t count) const {
        if (count <= leaf_) {
            std::sort(data, data + count);
            return;
        }
        const std::int64_t half = count / 2;
        mpet::TaskGroup halves;
        halves.spawn([=] { sort(data, buffer, half); });
        halves.spawn([=] { sort(data + half, buffer + half, count - half); });
        halves.wait();
        merge(data, half, data + half, count - half, buffer);
        copy(buffer, data, count);
    }

    // Splits both runs at the median of the larger one: all elements left of it precede all elements right of it.
    void merge(Iterator a, std::int64_t size_a, Iterator b, std::int64_t size_b, Iterator out) const {
        if (size_a < size_b) {
            std::swap(a, b);
            std::swap(size_a, size_b);
        }
        if (size_a + size_b <= 4 * leaf_) {
            std::merge(a, a + size_a, b, b + size_b, out);
            return;
        }
        const std::int64_t cut_a = size_a / 2, cut_b = std::lower_bound(b, b + size_b, a[cut_a]) - b;
        mpet::TaskGroup halves;
        halves.spawn([=] { merge(a, cut_a, b, cut_b, out); });
        halves.spawn([=] { merge(a + cut_a, size_a - cut_a, b + cut_b, size_b - cut_b, out + cut_a + cut_b); });
        halves.wait();
    }

    void copy(const std::uint32_t* from, Iterator to, std::int64_t count) const {
        mpet::TaskGroup pieces;
        for (std::int64_t begin = 0; begin < count; begin += 8 * leaf_) {
            const std::int64_t end = std::min(begin + 8 * leaf_, count);
            pieces.spawn([=] { std::copy(from + begin, from + end, to + begin); });
        }
        pieces.wait();
    }

    const std::int64_t count_, leaf_;
    std::vector<std::uint32_t> numbers_, buffer_;
};

const mpet::Registration registration{{"mergesort",
                                       "1",
                                       {{nullptr, "recursive", "memory", "Merge sort with parallel merges"}},
                                       mpet::make_application<MergeSort>,
                                       {"elements",
                                        {1 << 10, 1 << 19, 7 << 20},
                                        {300, 700},
                                        {100000, 200000, 400000, 700000, 1000000, 1500000, 2000000, 3000000, 4000000,
                                         5500000}}}};

}  // namespace
