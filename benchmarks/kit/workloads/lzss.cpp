// computes: a compressed text by LZSS with hash chains, one byte position after the other
// stresses: one core: branches, short dependent memory accesses; there is nothing to run in parallel
// here because: the kit's sequential workload: what a machine does when a program has not been parallelised
#include <algorithm>

#include "mpet/workload.hpp"

namespace {

class Lzss final : public mpet::Application {
public:
    Lzss(mpet::Team&, mpet::Scale scale) : text_(mpet::scaled<std::size_t>(scale, 1 << 12, 2 << 20, 24 << 20)) {
        mpet::Random random(3);
        std::size_t length = 0;
        while (length < text_.size()) {
            const std::uint64_t word = random.below(random.below(1500) + 1);  // frequent words have low numbers
            const std::uint64_t letters = 2 + mpet::hash64(word) % 8;
            for (std::uint64_t i = 0; i < letters && length < text_.size(); i++) {
                text_[length++] = static_cast<std::uint8_t>('a' + mpet::hash64(word * 16 + i + 1) % 26);
            }
            if (length < text_.size()) text_[length++] = ' ';
        }
    }

    std::string input() const override { return std::to_string(text_.size()) + " bytes"; }

    void run(mpet::Team& team) override {
        team.run(sections[0], [this](mpet::Worker& me) {
            if (me.id == 0) compress();
        });
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(coded_); }

private:
    static constexpr std::size_t window = 1 << 15, shortest = 3, longest = 66;
    static constexpr int tries = 24;

    std::size_t key_at(std::size_t position) const {
        const std::uint32_t bytes = text_[position] | text_[position + 1] << 8 | text_[position + 2] << 16;
        return (bytes * UINT32_C(2654435761)) >> 17;
    }

    std::size_t match_length(std::size_t a, std::size_t b) const {
        const std::size_t limit = std::min(longest, text_.size() - b);
        std::size_t length = 0;
        while (length < limit && text_[a + length] == text_[b + length]) length++;
        return length;
    }

    void compress() {
        std::vector<std::int64_t> newest(window, -1), older(window, -1);
        coded_.clear();
        for (std::size_t position = 0; position < text_.size();) {
            std::size_t best = 0, distance = 0;
            if (position + shortest <= text_.size()) find(newest, older, position, best, distance);
            const std::size_t step = best >= shortest ? best : 1;
            coded_.push_back(static_cast<std::uint32_t>(best >= shortest ? distance << 8 | best : text_[position]));
            for (std::size_t i = position; i < position + step && i + shortest <= text_.size(); i++) {
                older[i % window] = newest[key_at(i)];
                newest[key_at(i)] = static_cast<std::int64_t>(i);
            }
            position += step;
        }
    }

    void find(const std::vector<std::int64_t>& newest, const std::vector<std::int64_t>& older, std::size_t position,
              std::size_t& best, std::size_t& distance) const {
        std::int64_t candidate = newest[key_at(position)];
        for (int attempt = 0; attempt < tries && candidate >= 0; attempt++) {
            const auto at = static_cast<std::size_t>(candidate);
            if (position - at >= window) return;
            const std::size_t length = match_length(at, position);
            if (length > best) {
                best = length;
                distance = position - at;
            }
            candidate = older[at % window];
        }
    }

    std::vector<std::uint8_t> text_;
    std::vector<std::uint32_t> coded_;
};

const mpet::Registration registration{
    {"lzss", "1", {{nullptr, "sequential", "computation", "LZSS text compression"}}, mpet::make_application<Lzss>}};

}  // namespace
