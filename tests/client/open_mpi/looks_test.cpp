// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "bridge/looks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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
                              .wanted = patience};
    if (found.spent >= found.wanted) return at;
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
  EXPECT_EQ(colltune_next_look(3, {.spent = 0, .wanted = patience}), 24U);
}

TEST(Looks, MoreIsWantedWhereSettingUpTakesLonger) {
  EXPECT_EQ(colltune_wanted(patience, false, 0), patience);
  EXPECT_EQ(colltune_wanted(patience, false, 2'000'000), patience);
  EXPECT_EQ(colltune_wanted(patience, false, 5'000'000), 15'000'000);
  EXPECT_EQ(colltune_wanted(patience, true, 0), 40'000'000);
  EXPECT_EQ(colltune_wanted(patience, true, 30'000'000), 90'000'000);
  EXPECT_EQ(colltune_wanted(0, true, 30'000'000), 0);
}

}  // namespace
}  // namespace colltune
