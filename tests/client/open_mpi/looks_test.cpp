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
  // The call at which ranks look is not over yet.
  while (static_cast<std::int64_t>(at.back() - 1) * each < patience)
    at.push_back(
        colltune_next_look(at.back(), static_cast<std::int64_t>(at.back() - 1) * each, patience));
  return at;
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

TEST(Looks, NothingSpentIsNoDivisor) { EXPECT_EQ(colltune_next_look(3, 0, patience), 24U); }

}  // namespace
}  // namespace colltune
