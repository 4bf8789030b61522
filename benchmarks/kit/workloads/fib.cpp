// computes: a Fibonacci number by its recursive definition, sequentially below a cut-off
// stresses: the task system itself: small tasks, deep recursion, hardly any memory
// here because: the classic test of task creation and switching costs
#include "mpet/workload.hpp"

namespace {

class Fib final : public mpet::Application {
public:
    Fib(mpet::Team&, mpet::Scale scale)
        : number_(mpet::scaled(scale, 18, 37, 43)), cutoff_(mpet::scaled(scale, 10, 16, 18)) {}

    std::string input() const override { return std::to_string(number_) + " cut-off " + std::to_string(cutoff_); }

    void run(mpet::Team& team) override {
        mpet::run_tasks(team, sections[0], [this] { result_ = parallel(number_); });
    }

    std::uint64_t checksum(std::size_t) const override { return result_; }

private:
    static std::uint64_t sequential(int number) {
        if (number < 2) return static_cast<std::uint64_t>(number);
        return sequential(number - 1) + sequential(number - 2);
    }

    std::uint64_t parallel(int number) const {
        if (number < cutoff_) return sequential(number);
        std::uint64_t left = 0, right = 0;
        mpet::TaskGroup group;
        group.spawn([this, number, &left] { left = parallel(number - 1); });
        group.spawn([this, number, &right] { right = parallel(number - 2); });
        group.wait();
        return left + right;
    }

    const int number_, cutoff_;
    std::uint64_t result_ = 0;
};

const mpet::Registration registration{{"fib",
                                       "1",
                                       {{nullptr, "recursive", "computation", "Recursive Fibonacci with a cut-off"}},
                                       mpet::make_application<Fib>}};

}  // namespace
