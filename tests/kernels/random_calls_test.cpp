// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls that change from one to the next, on ranks that are threads.

#include "random_calls.h"

#include <gtest/gtest.h>

#include <string>

#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

/// Some operations serve for as many calls; then others are prepared.
constexpr int calls_of_a_set = has_sanitizer ? 300 : 500;

void make_random_calls(int ranks, RandomCalls calls, const RankPlaces& places = {}) {
  const Implementations catalogue = make_catalogue();
  calls.calls = calls_of_a_set;
  for (int made = 0; made < number_of_random_calls(); made += calls_of_a_set) {
    calls.seed = static_cast<std::uint64_t>(ranks * 1'000'000 + made);
    run_ranks(
        ranks,
        [&](Communicator& communicator) {
          EXPECT_EQ(find_fault_in_random_calls(communicator, catalogue, calls), "");
        },
        places);
  }
}

class RandomCallsOverThreads : public testing::TestWithParam<int> {};

TEST_P(RandomCallsOverThreads, AreRight) { make_random_calls(GetParam(), {}); }

// A rank may only clear, or look at, a slot that is no longer in use, whoever was the root.
TEST_P(RandomCallsOverThreads, AreRightByMessagesWithoutNumbers) {
  make_random_calls(GetParam(), {.operations = 2, .takes = [](const auto&, const Variant& variant) {
                                   return to_string(variant).find("format=poison") !=
                                          std::string::npos;
                                 }});
}

// A slot of scratch memory may only be used under another root when nobody reads it any more.
TEST_P(RandomCallsOverThreads, AreRightBySchedulesWithRoots) {
  make_random_calls(
      GetParam(),
      {.operations = 2, .takes = [](const Implementation& implementation, const Variant& variant) {
         return shape_of(implementation.collective()).has_root &&
                to_string(variant).find("slots=") != std::string::npos &&
                implementation.name().find("low_latency") == std::string::npos;
       }});
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomCallsOverThreads, testing::Values(2, 3, 4, 8));

TEST(RandomCallsOverNodes, AreRight) { make_random_calls(4, {}, {.node = {0, 0, 1, 1}}); }

}  // namespace
}  // namespace colltune::test
