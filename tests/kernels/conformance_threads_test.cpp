// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Every implementation of the catalogue, on ranks that are threads.

#include <gtest/gtest.h>

#include <atomic>

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

}  // namespace
}  // namespace colltune::test
