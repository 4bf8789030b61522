// computes: the census transform of an image: a 62-bit signature of each pixel's 9 x 7 neighbourhood
// stresses: integer units and the first cache; 62 comparisons a pixel, rows in shrinking chunks
// here because: the first step of stereo matching and optical flow in cars; the kit's guided schedule
#include "mpet/workload.hpp"

namespace {

class Census final : public mpet::Application {
public:
    Census(mpet::Team&, mpet::Scale scale)
        : width_(mpet::scaled<std::int64_t>(scale, 64, 640, 1920)),
          height_(mpet::scaled<std::int64_t>(scale, 48, 480, 1080)),
          rounds_(mpet::scaled(scale, 1, 5, 10)),
          image_(static_cast<std::size_t>(width_ * height_)),
          signature_(static_cast<std::size_t>(width_ * height_)) {
        mpet::Random random(11);
        for (std::uint8_t& pixel : image_) pixel = static_cast<std::uint8_t>(random.next());
    }

    std::string input() const override {
        return std::to_string(width_) + "x" + std::to_string(height_) + "x" + std::to_string(rounds_);
    }

    void run(mpet::Team& team) override {
        for (int round = 0; round < rounds_; round++) {
            mpet::parallel_for(team, sections[0], {reach_y, height_ - reach_y}, mpet::Guided{4},
                               [&](std::int64_t begin, std::int64_t end) {
                                   for (std::int64_t row = begin; row < end; row++) transform_row(row);
                               });
        }
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(signature_); }

private:
    static constexpr std::int64_t reach_x = 4, reach_y = 3;

    void transform_row(std::int64_t row) {
        for (std::int64_t column = reach_x; column < width_ - reach_x; column++) {
            const std::uint8_t* centre = image_.data() + row * width_ + column;
            std::uint64_t signature = 0;
            for (std::int64_t y = -reach_y; y <= reach_y; y++) {
                for (std::int64_t x = -reach_x; x <= reach_x; x++) {
                    if (x == 0 && y == 0) continue;
                    signature = (signature << 1) | (centre[y * width_ + x] < *centre ? 1u : 0u);
                }
            }
            signature_[static_cast<std::size_t>(row * width_ + column)] = signature;
        }
    }

    const std::int64_t width_, height_;
    const int rounds_;
    std::vector<std::uint8_t> image_;
    std::vector<std::uint64_t> signature_;
};

const mpet::Registration registration{{"census",
                                       "1",
                                       {{nullptr, "dynamic_loop", "computation", "Census transform, 9 x 7"}},
                                       mpet::make_application<Census>}};

}  // namespace
