// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/null_test.h"

#include <gtest/gtest.h>

#include <vector>

#include "colltune/decide/statistics.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;

/// A key whose twin takes `of_twin` where the baseline takes 1000.
void add_key(std::vector<Measurement>& all, std::uint64_t bytes, double of_twin) {
  all.push_back(trial({"base", 1000, true}, key(bytes)));
  all.push_back(trial({"base", of_twin, true}, key(bytes)));
  all.back().is_twin = true;
}

TEST(NullTest, CountsTwinsThatWouldHaveWonAndLost) {
  std::vector<Measurement> all;
  add_key(all, 64, 1000);
  add_key(all, 128, 900);
  add_key(all, 256, 1100);
  add_key(all, 512, 990);                                 // within the margin
  all.push_back(trial({"base", 1000, true}, key(1024)));  // no twin
  const NullTest test = null_test(all, {});
  EXPECT_EQ(test.keys, 4u);
  EXPECT_EQ(test.wins, 1u);
  EXPECT_EQ(test.losses, 1u);
  EXPECT_NEAR(test.upper_bound, rate_upper_bound(1, 4, 0.95), 1e-12);
}

TEST(NullTest, TheTwinIsJudgedAtTheRiskOfARival) {
  std::vector<Measurement> all;
  all.push_back(trial({"base", 1000, true, "mpi", 0, 8}));
  all.push_back(trial({"base", 900, true, "mpi", 0, 8}));
  all.back().is_twin = true;
  EXPECT_EQ(null_test(all, {}).wins, 1u);
  for (int i = 0; i < 20; ++i)
    all.push_back(trial({"r" + std::to_string(i), 5000, false, "mpi", 0, 8}));
  EXPECT_EQ(null_test(all, {}).wins, 0u);
}

TEST(NullTest, HeldOutSizesTakePart) {
  std::vector<Measurement> all;
  add_key(all, 64, 900);
  for (Measurement& one : all) one.is_holdout = true;
  EXPECT_EQ(null_test(all, {}).keys, 1u);
}

TEST(NullTest, ATwinThatFailedIsNoKey) {
  std::vector<Measurement> all;
  add_key(all, 64, 900);
  all.back().outcome = Outcome::failed;
  EXPECT_EQ(null_test(all, {}), NullTest{});
  EXPECT_EQ(describe(NullTest{}), "no key had a twin");
  EXPECT_EQ(describe(NullTest{.keys = 100, .wins = 1, .losses = 2, .upper_bound = 0.0466}),
            "the twin won in 1 of 100 keys (at most 4.7 % by the upper 95 % bound) and lost in 2");
}

}  // namespace
}  // namespace colltune
