// Tests of the accounts alone, with given times instead of a clock.
#include <initializer_list>

#include "check.hpp"
#include "mpet/accounting.h"

namespace {

mpet_account opened(std::uint64_t begin) {
    mpet_account account;
    mpet_account_open(&account, begin, MPET_USE);
    return account;
}

TEST(charges_add_up_to_the_time_that_passed) {
    mpet_account account = opened(1000);
    mpet_charge_at(&account, MPET_DISTRIBUTION, 1010);
    mpet_charge_at(&account, MPET_USE, 1500);
    mpet_charge_at(&account, MPET_LOCK, 1501);
    CHECK_EQUAL(account.ns[MPET_DISTRIBUTION], 10u);
    CHECK_EQUAL(account.ns[MPET_USE], 490u);
    CHECK_EQUAL(account.ns[MPET_LOCK], 1u);
    CHECK_EQUAL(mpet_account_total(&account), 501u);
}

TEST(entering_a_part_charges_the_one_before_and_returns_it) {
    mpet_account account = opened(0);
    CHECK_EQUAL(static_cast<int>(mpet_enter_at(&account, MPET_CREATION, 100)), static_cast<int>(MPET_USE));
    CHECK_EQUAL(static_cast<int>(mpet_enter_at(&account, MPET_USE, 130)), static_cast<int>(MPET_CREATION));
    CHECK_EQUAL(account.ns[MPET_USE], 100u);
    CHECK_EQUAL(account.ns[MPET_CREATION], 30u);
}

TEST(a_reading_from_the_past_charges_nothing) {
    mpet_account account = opened(1000);
    mpet_charge_at(&account, MPET_USE, 990);
    CHECK_EQUAL(mpet_account_total(&account), 0u);
    mpet_charge_at(&account, MPET_USE, 1005);
    CHECK_EQUAL(mpet_account_total(&account), 5u);
}

TEST(a_wait_is_imbalance_until_the_last_arrival_and_join_after_it) {
    mpet_account early = opened(0), last = opened(0);
    mpet_charge_at(&early, MPET_USE, 60);
    mpet_charge_at(&last, MPET_USE, 100);
    for (mpet_account* account : {&early, &last}) mpet_charge_wait(account, 100, 120);
    CHECK_EQUAL(early.ns[MPET_IMBALANCE], 40u);
    CHECK_EQUAL(early.ns[MPET_JOIN], 20u);
    CHECK_EQUAL(last.ns[MPET_IMBALANCE], 0u);
    CHECK_EQUAL(last.ns[MPET_JOIN], 20u);
}

TEST(a_wait_that_ends_before_the_last_arrival_was_seen_is_all_imbalance) {
    mpet_account account = opened(0);
    mpet_charge_wait(&account, 200, 150);
    CHECK_EQUAL(account.ns[MPET_IMBALANCE], 150u);
    CHECK_EQUAL(account.ns[MPET_JOIN], 0u);
}

TEST(a_thread_that_never_came_waited_for_work) {
    mpet_account account;
    mpet_account_absent(&account, 100, 350);
    CHECK_EQUAL(account.ns[MPET_DISTRIBUTION], 250u);
    CHECK_EQUAL(mpet_account_total(&account), 250u);
}

}  // namespace

CHECK_MAIN
