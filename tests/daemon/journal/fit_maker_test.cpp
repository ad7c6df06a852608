// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/journal/fit_maker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "colltune/kernels/catalogue.h"
#include "literals.h"

namespace colltune {
namespace {

using namespace literals;

TuningKey key_of(std::uint64_t bytes, int ranks) {
  return {.problem = all_reduce(bytes), .topology = world(1, ranks), .environment_digest = "e1"};
}

RankedVariant ranked(const std::string& variant, Limits limits = {}) {
  return {.variant = parse_variant(variant), .limits = limits};
}

/// A setting of this build's ring, as printed.
std::string some_ring(const Implementations& catalogue) {
  const auto* const ring = find_implementation(catalogue, "cpu.all_reduce_ring");
  if (ring == nullptr) return {};
  const auto variants = ring->variants(all_reduce(1 << 16), world(1, 4), Capability{});
  return variants.empty() ? std::string() : to_string(variants.front());
}

TEST(FitMaker, StepsAreTheImplementations) {
  const Implementations catalogue = make_host_catalogue();
  const std::string ring = some_ring(catalogue);
  ASSERT_FALSE(ring.empty());
  const StepCounts counts = step_counts_of(catalogue);
  const auto four = counts(key_of(1 << 16, 4), ranked(ring));
  const auto eight = counts(key_of(1 << 16, 8), ranked(ring));
  ASSERT_TRUE(four && eight);
  EXPECT_GT(eight->steps, four->steps);
  EXPECT_GT(eight->bytes_per_rank, four->bytes_per_rank);
  EXPECT_LT(eight->bytes_per_rank, 2 * four->bytes_per_rank);
}

TEST(FitMaker, WhatItDoesNotKnowHasNone) {
  const Implementations catalogue = make_host_catalogue();
  const StepCounts counts = step_counts_of(catalogue);
  EXPECT_FALSE(counts(key_of(1 << 16, 4), ranked("of.another_build")));
  const std::string ring = some_ring(catalogue);
  EXPECT_FALSE(counts(key_of(1 << 16, 8), ranked(ring, {.max_ranks = 4})));
}

TEST(FitMaker, AGenerationGetsBothKindsOfFits) {
  const Implementations catalogue = make_host_catalogue();
  const std::string ring = some_ring(catalogue);
  std::vector<Decision> decisions;
  for (const int ranks : {2, 4})
    for (const std::uint64_t size : {1U << 10U, 1U << 14U, 1U << 18U})
      decisions.push_back(decide(
          all_reduce(size), {{ring, static_cast<int>(1000 * ranks + size / 10)}}, world(1, ranks)));
  const auto fits = fit_maker_of(catalogue)(decisions);
  const auto count = [&](int ranks) {
    return std::ranges::count_if(
        fits, [&](const VariantFit& fit) { return fit.key.topology.ranks == ranks; });
  };
  EXPECT_EQ(count(2), 1);
  EXPECT_EQ(count(4), 1);
  EXPECT_EQ(count(8), 1);
}

TEST(FitMaker, NcclReducesInTheSwitchOfManyGpus) {
  const Implementations catalogue = make_catalogue();
  if (find_implementation(catalogue, "nccl.all_reduce") == nullptr)
    GTEST_SKIP() << "this build has no NCCL";
  const StepCounts counts = step_counts_of(catalogue);
  const auto bytes = [&](int ranks, const std::string& architecture, ReduceOp op) {
    TuningKey key = key_of(1 << 20, ranks);
    key.topology.architectures = {{architecture, ranks}};
    key.problem.reduce_op = op;
    return counts(key, ranked("nccl.all_reduce")).value().bytes_per_rank / (1 << 20);
  };
  EXPECT_DOUBLE_EQ(bytes(8, "sm_90", ReduceOp::sum), 1.125);
  EXPECT_DOUBLE_EQ(bytes(4, "sm_100", ReduceOp::sum), 1.25);
  EXPECT_DOUBLE_EQ(bytes(2, "sm_90", ReduceOp::sum), 1);
  EXPECT_DOUBLE_EQ(bytes(8, "sm_90", ReduceOp::max), 1.75) << "not of f32";
  EXPECT_DOUBLE_EQ(bytes(8, "sm_80", ReduceOp::sum), 1.75);
}

}  // namespace
}  // namespace colltune
