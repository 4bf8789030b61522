// Tests when the benchmark stops repeating disturbed measurements.
#include "../bench/repeats.hpp"
#include "check.hpp"

namespace {

TEST(the_spread_is_that_of_the_worst_repeat_that_is_kept) {
    CHECK_EQUAL(mpet::spread_permille({200, 50, 90}, 1), 50);
    CHECK_EQUAL(mpet::spread_permille({200, 50, 90}, 2), 90);
    CHECK_EQUAL(mpet::spread_permille({200, 50}, 3), 200);
}

TEST(repeating_ends_when_the_last_repeat_did_not_make_the_spread_smaller) {
    CHECK(mpet::narrows({}, 1));
    CHECK(mpet::narrows({200}, 1));  // there is nothing to compare with
    CHECK(mpet::narrows({200, 150}, 1));
    CHECK(!mpet::narrows({200, 200}, 1));
    CHECK(!mpet::narrows({200, 250}, 1));
    CHECK(!mpet::narrows({200, 150, 160}, 1));
}

TEST(with_several_repeats_wanted_only_what_would_be_kept_counts) {
    CHECK(mpet::narrows({300, 200, 100}, 3));
    CHECK(mpet::narrows({300, 200, 100, 250}, 3));
    CHECK(!mpet::narrows({300, 200, 100, 400}, 3));
}

}  // namespace

CHECK_MAIN
