// computes: run-length coded edge images of a sequence of frames: capture, blur, gradient, coding
// stresses: several cores on one stream of data: frames move between caches from stage to stage
// here because: camera software is built so; the two serial stages bound the throughput whatever the cores
#include <array>
#include <cstdlib>

#include "mpet/workload.hpp"

namespace {

using Frame = std::vector<std::uint8_t>;

class EdgePipeline final : public mpet::Application {
public:
    EdgePipeline(mpet::Team&, mpet::Scale scale)
        : width_(mpet::scaled<std::int64_t>(scale, 48, 320, 640)),
          height_(mpet::scaled<std::int64_t>(scale, 32, 240, 480)),
          frames_(mpet::scaled<std::int64_t>(scale, 6, 48, 160)),
          codes_(static_cast<std::size_t>(frames_)) {
        for (auto& ring : {&captured_, &blurred_, &edges_}) {
            for (Frame& frame : *ring) frame.assign(static_cast<std::size_t>(width_ * height_), 0);
        }
    }

    std::string input() const override {
        return std::to_string(frames_) + " frames of " + std::to_string(width_) + "x" + std::to_string(height_);
    }

    void run(mpet::Team& team) override {
        using mpet::StageKind;
        mpet::Pipeline pipeline(
            {{StageKind::serial, [this](std::int64_t frame) { capture(frame); }},
             {StageKind::parallel, [this](std::int64_t frame) { blur(slot(captured_, frame), slot(blurred_, frame)); }},
             {StageKind::parallel,
              [this](std::int64_t frame) { gradient(slot(blurred_, frame), slot(edges_, frame)); }},
             {StageKind::serial,
              [this](std::int64_t frame) { codes_[static_cast<std::size_t>(frame)] = code(slot(edges_, frame)); }}},
            frames_, window);
        pipeline.run(team, sections[0]);
    }

    std::uint64_t checksum(std::size_t) const override { return mpet::checksum_of(codes_); }

private:
    static constexpr std::int64_t window = 64;
    using Ring = std::array<Frame, window>;

    static Frame& slot(Ring& ring, std::int64_t frame) { return ring[static_cast<std::size_t>(frame % window)]; }

    void capture(std::int64_t number) {
        Frame& frame = slot(captured_, number);
        for (std::int64_t i = 0; i < width_ * height_; i++) {
            const std::int64_t x = i % width_ + 3 * number, y = i / width_;
            const std::int64_t scene = (x / 40 + y / 30) % 2 * 120 + (x * y / 500) % 64;
            frame[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(scene + (i * 7 + number) % 16);
        }
    }

    // A 5 x 5 binomial filter. The margin of the frame is left unchanged.
    void blur(const Frame& from, Frame& to) const {
        static constexpr std::array<std::int32_t, 5> weight{1, 4, 6, 4, 1};
        for (std::int64_t y = 2; y < height_ - 2; y++) {
            for (std::int64_t x = 2; x < width_ - 2; x++) {
                std::int32_t sum = 0;
                for (std::int64_t dy = -2; dy <= 2; dy++) {
                    const std::uint8_t* row = from.data() + (y + dy) * width_ + x;
                    std::int32_t row_sum = 0;
                    for (std::int64_t dx = -2; dx <= 2; dx++)
                        row_sum += weight[static_cast<std::size_t>(dx + 2)] * row[dx];
                    sum += weight[static_cast<std::size_t>(dy + 2)] * row_sum;
                }
                to[static_cast<std::size_t>(y * width_ + x)] = static_cast<std::uint8_t>(sum >> 8);
            }
        }
    }

    void gradient(const Frame& from, Frame& to) const {
        for (std::int64_t y = 3; y < height_ - 3; y++) {
            for (std::int64_t x = 3; x < width_ - 3; x++) {
                const std::uint8_t* at = from.data() + y * width_ + x;
                const std::int32_t dx =
                    at[1 - width_] + 2 * at[1] + at[1 + width_] - at[-1 - width_] - 2 * at[-1] - at[width_ - 1];
                const std::int32_t dy = at[width_ - 1] + 2 * at[width_] + at[width_ + 1] - at[-1 - width_] -
                                        2 * at[-width_] - at[1 - width_];
                to[static_cast<std::size_t>(y * width_ + x)] = std::abs(dx) + std::abs(dy) > 60 ? 1 : 0;
            }
        }
    }

    static std::uint64_t code(const Frame& edges) {
        mpet::Checksum runs;
        std::uint32_t length = 0;
        for (std::size_t i = 1; i < edges.size(); i++) {
            length++;
            if (edges[i] == edges[i - 1]) continue;
            runs.add(length);
            length = 0;
        }
        return runs.value();
    }

    const std::int64_t width_, height_, frames_;
    Ring captured_, blurred_, edges_;
    std::vector<std::uint64_t> codes_;
};

const mpet::Registration registration{{"edge_pipeline",
                                       "1",
                                       {{nullptr, "pipeline", "computation", "Edge images of a sequence of frames"}},
                                       mpet::make_application<EdgePipeline>}};

}  // namespace
