// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Every implementation of the catalogue, on ranks that are threads.

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "conformance.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

class ConformanceOverThreads : public testing::TestWithParam<int> {};

TEST_P(ConformanceOverThreads, EveryImplementationIsRight) {
  const Implementations catalogue = make_catalogue();
  std::atomic<int> run = 0;
  run_ranks(GetParam(),
            [&](Communicator& communicator) { run += run_conformance(communicator, catalogue); });
  EXPECT_GT(run, 0) << "no implementation of the catalogue runs on threads";
}

INSTANTIATE_TEST_SUITE_P(Ranks, ConformanceOverThreads, testing::Values(1, 2, 3, 4, 5, 8));

class ConformanceOverNodes : public testing::TestWithParam<std::vector<int>> {};

TEST_P(ConformanceOverNodes, EveryImplementationIsRight) {
  const Implementations catalogue = make_catalogue();
  std::atomic<int> run = 0;
  run_ranks(
      static_cast<int>(GetParam().size()),
      [&](Communicator& communicator) { run += run_conformance(communicator, catalogue); },
      GetParam());
  EXPECT_GT(run, 0) << "no implementation of the catalogue runs across nodes";
}

/// One rank each; two nodes of two, in order and in turn; unlike nodes; three of two.
std::vector<std::vector<int>> layouts() {
  std::vector<std::vector<int>> all{{0, 1, 2}, {0, 0, 1, 1}};
#ifndef __SANITIZE_THREAD__  // takes twenty times as long, and those two meet all that ranks share
  for (const std::vector<int>& more : {std::vector{0, 1}, std::vector{0, 1, 0, 1},
                                       std::vector{0, 0, 1, 1, 1}, std::vector{0, 0, 1, 1, 2, 2}})
    all.push_back(more);
#endif
  return all;
}
INSTANTIATE_TEST_SUITE_P(Nodes, ConformanceOverNodes, testing::ValuesIn(layouts()));

}  // namespace
}  // namespace colltune::test
