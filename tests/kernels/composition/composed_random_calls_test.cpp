// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Mesh reductions and collectives by groups whose calls change from one to the next, on ranks that
// are threads.

#include <gtest/gtest.h>

#include <vector>

#include "composed_choices.h"
#include "random_calls.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

/// Some operations serve for as many calls; then others are prepared.
constexpr int calls_of_a_set = 150;

void make_random_calls(int ranks, const RankPlaces& places = {}) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  for (int made = 0; made < number_of_random_calls() / 10; made += calls_of_a_set)
    run_ranks(
        ranks,
        [&](Communicator& communicator) {
          make_composed_random_calls(communicator, catalogue, known, calls_of_a_set,
                                     static_cast<std::size_t>(ranks + made));
        },
        places);
}

class ComposedRandomCalls : public testing::TestWithParam<int> {};

TEST_P(ComposedRandomCalls, AreRight) { make_random_calls(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ranks, ComposedRandomCalls, testing::Values(1, 2, 3, 4, 6, 7, 8));

TEST(ComposedRandomCallsOnDevices, AreRight) {
  Implementations catalogue = make_catalogue();
  std::erase_if(catalogue, [](const auto& one) { return !one->runs_on_device(); });
  ChosenVariants known;
  PretendedDevice device;
  run_ranks(
      4,
      [&](Communicator& communicator) {
        make_composed_random_calls(communicator, catalogue, known, calls_of_a_set, 5);
      },
      {}, std::vector<Device*>(4, &device));
}

TEST(ComposedRandomCallsOverNodes, AreRight) { make_random_calls(4, {.node = {0, 0, 1, 1}}); }

}  // namespace
}  // namespace colltune::test
