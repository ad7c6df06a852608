// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "bridge/looks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bridge/clock.h"

namespace colltune {
namespace {

constexpr std::int64_t patience = 10'000'000;

/// The calls at which a communicator looks whose calls take `each` ns, up to the look that sets it
/// up.
std::vector<std::uint64_t> looks(std::int64_t each) {
  std::vector<std::uint64_t> at{COLLTUNE_FIRST_LOOK};
  for (;;) {
    // The call at which ranks look is not over yet.
    const colltune_look found{.spent = static_cast<std::int64_t>(at.back() - 1) * each,
                              .spent_wanted = patience};
    if (colltune_is_enough(found)) return at;
    at.push_back(colltune_next_look(at.back(), found));
  }
}

TEST(Looks, LongCallsAreSetUpAtTheFirstLook) {
  EXPECT_EQ(looks(5'000'000), (std::vector<std::uint64_t>{3}));
}

TEST(Looks, ComeSoonerTheNearerTheEnd) {
  EXPECT_EQ(looks(1'000'000), (std::vector<std::uint64_t>{3, 9, 18}));
  EXPECT_EQ(looks(20'000), (std::vector<std::uint64_t>{3, 24, 192, 384, 768}));
}

TEST(Looks, AreFewWhereCallsAreShort) {
  const std::vector<std::uint64_t> at = looks(1'000);
  EXPECT_LE(at.size(), 6U);
  for (std::size_t i = 1; i < at.size(); ++i) {
    EXPECT_GE(at[i], 2 * at[i - 1]);
    EXPECT_LE(at[i], 8 * at[i - 1]);
  }
  EXPECT_LT(at.back(), 3 * patience / 1'000);
}

TEST(Looks, NothingSpentIsNoDivisor) {
  EXPECT_EQ(colltune_next_look(3, {.spent = 0, .spent_wanted = patience}), 24U);
}

TEST(Spending, IsThatOfSomeCallsForAll) {
  colltune_spending spending{};
  std::int64_t weights = 0;
  int timed = 0;
  for (std::uint64_t call = 1; call <= 17'000; ++call) {
    spending.begun = -1;
    colltune_call_begins(&spending, call);
    weights += spending.weight;
    EXPECT_EQ(spending.begun != -1, spending.weight != 0);
    if (spending.weight != 0) ++timed;
    const std::int64_t before = spending.spent;
    if (spending.weight != 0) spending.begun = colltune_now() - 1'000'000;
    colltune_call_ends(&spending);
    EXPECT_GE(spending.spent, before + spending.weight * 1'000'000);
    if (call <= 64) {
      EXPECT_EQ(spending.weight, 1) << "most communicators have no more calls";
    }
  }
  EXPECT_NEAR(static_cast<double>(weights), 17'000, 17);
  EXPECT_LT(timed, 1'100);
}

TEST(Looks, WaitForWhatIsMissingMost) {
  const colltune_look soon{.spent = 9, .spent_wanted = 10, .run = 50, .run_wanted = 60};
  EXPECT_EQ(colltune_next_look(100, soon), 200U);
  colltune_look late = soon;
  late.run_wanted = 500;
  EXPECT_EQ(colltune_next_look(100, late), 550U);
  late.run = 0;
  EXPECT_EQ(colltune_next_look(100, late), 800U);
  EXPECT_FALSE(colltune_is_enough({.spent = 10, .spent_wanted = 10, .run = 59, .run_wanted = 60}));
  EXPECT_FALSE(colltune_is_enough({.spent = 9, .spent_wanted = 10, .run = 60, .run_wanted = 60}));
  EXPECT_TRUE(colltune_is_enough({.spent = 10, .spent_wanted = 10, .run = 60, .run_wanted = 60}));
}

TEST(Looks, MoreIsWantedWhereSettingUpTakesLonger) {
  const auto wanted = [](std::int64_t of_patience, bool share_cores, std::int64_t latest) {
    return colltune_look_of(
               7, 9, {.patience = of_patience, .share_cores = share_cores, .latest_set_up = latest})
        .spent_wanted;
  };
  EXPECT_EQ(wanted(patience, false, 0), patience);
  EXPECT_EQ(wanted(patience, false, 2'000'000), patience);
  EXPECT_EQ(wanted(patience, false, 5'000'000), 15'000'000);
  EXPECT_EQ(wanted(patience, true, 0), 40'000'000);
  EXPECT_EQ(wanted(patience, true, 30'000'000), 90'000'000);
  EXPECT_EQ(wanted(0, true, 30'000'000), 0);
}

TEST(Looks, AllSetUpsAreAHundredthOfTheRun) {
  const auto wanted = [](colltune_looking by) {
    const colltune_look look = colltune_look_of(7, 9, by);
    EXPECT_EQ(look.spent, 7);
    EXPECT_EQ(look.run, 9);
    return look.run_wanted;
  };
  EXPECT_EQ(wanted({.patience = patience}), 500'000'000) << "5 ms are expected";
  EXPECT_EQ(wanted({.patience = patience, .share_cores = true}), 2'000'000'000);
  EXPECT_EQ(wanted({.patience = patience, .latest_set_up = 1'000'000, .all_set_ups = 5'000'000}),
            600'000'000);
  EXPECT_EQ(wanted({.patience = patience / 10, .latest_set_up = 1'000'000}), 10'000'000);
  EXPECT_EQ(wanted({.latest_set_up = 1'000'000, .all_set_ups = 5'000'000}), 0) << "no patience";
  EXPECT_LE(wanted({.patience = 3'600'000'000'000, .all_set_ups = std::int64_t{1} << 50}),
            100'000'000'000'000);
}

}  // namespace
}  // namespace colltune
