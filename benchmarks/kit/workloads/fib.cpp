// computes: a Fibonacci number by its recursive definition, sequentially below a cut-off
// stresses: the task system itself: small tasks, deep recursion, hardly any memory
// here because: the classic test of task creation and switching costs
#include <utility>

#include "mpet/workload.hpp"

namespace {

class Fib final : public mpet::Application {
public:
    Fib(mpet::Team&, mpet::Scale scale, std::int64_t size)
        : number_(number_of(size)), cutoff_(mpet::scaled(scale, 10, 16, 18)) {}

    std::string input() const override { return std::to_string(number_) + " cut-off " + std::to_string(cutoff_); }

    void run(mpet::Team& team) override {
        mpet::run_tasks(team, sections[0], [this] { result_ = parallel(number_); });
    }

    std::uint64_t checksum(std::size_t) const override { return result_; }

private:
    // The size is the Fibonacci number itself, because the work is proportional to it.
    static int number_of(std::int64_t size) {
        int number = 1;
        for (std::int64_t last = 0, value = 1; value < size; number++) {
            last = std::exchange(value, last + value);
        }
        return number;
    }

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
                                       mpet::make_application<Fib>,
                                       {"Fibonacci number",
                                        {2584, 24157817, 433494437},
                                        {233, 987},
                                        {514229, 1346269, 3524578, 9227465, 24157817, 39088169, 63245986, 102334155,
                                         165580141, 267914296}}}};

}  // namespace
