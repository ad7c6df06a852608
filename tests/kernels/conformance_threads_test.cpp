// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Every implementation of the catalogue, on ranks that are threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ostream>
#include <string>
#include <vector>

#include "conformance.h"
#include "support/full_run.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune {

void PrintTo(const RankPlaces& places, std::ostream* out) {
  for (const auto& level : enum_names(Locality{})) {
    *out << level.name << ':';
    for (const int place : places.on(level.value)) *out << ' ' << place;
    *out << "; ";
  }
}

namespace test {
namespace {

/// Under a sanitizer each variant has registered buffers as well in one of the worlds without nodes
/// and in one of those with them; in the others the variants take turns.
UnderSanitizer amount_for(bool has_each_by_buffers) {
  return has_each_by_buffers ? UnderSanitizer::each_variant_by_buffers
                             : UnderSanitizer::each_variant;
}

/// Up to five ranks have all cases, which then are of all sizes; more of them wait for cores most
/// of the time.
Usually usually_among(int ranks) { return ranks <= 5 ? Usually::cases : Usually::covering_sample; }

class ConformanceOverThreads : public testing::TestWithParam<int> {};

TEST_P(ConformanceOverThreads, EveryImplementationIsRight) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(GetParam(), [&](Communicator& communicator) {
    run += run_conformance(communicator, catalogue, chosen, amount_for(GetParam() == 2),
                           usually_among(GetParam()));
  });
  EXPECT_GT(run, 0) << "no implementation of the catalogue runs on threads";
}

/// Powers of two and others. Sanitizers take up to twenty times as long: each number of ranks from
/// 2 to 5 once, here or across nodes; a rank alone shares nothing.
std::vector<int> rank_counts() {
#if defined(__SANITIZE_THREAD__)
  return {2, 5};
#elif defined(__SANITIZE_ADDRESS__)
  return {1, 2, 5};
#else
  if (is_full_run()) return {1, 2, 3, 4, 5, 8};
  return {1, 2, 3, 5, 8};  // over MPI: 4
#endif
}
INSTANTIATE_TEST_SUITE_P(Ranks, ConformanceOverThreads, testing::ValuesIn(rank_counts()));

class ConformanceOverNodes : public testing::TestWithParam<std::vector<int>> {};

TEST_P(ConformanceOverNodes, EveryImplementationIsRight) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(static_cast<int>(GetParam().size()),
            [&](Communicator& communicator) {
              run += run_conformance(communicator, catalogue, chosen,
                                     amount_for(GetParam() == std::vector{0, 0, 1, 1}),
                                     usually_among(static_cast<int>(GetParam().size())));
            },
            {.node = GetParam()});
  EXPECT_GT(run, 0) << "no implementation of the catalogue runs across nodes";
}

/// One rank each; two nodes of two, in turn and in order; unlike nodes; three of two.
std::vector<std::vector<int>> layouts() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return {{0, 1, 2}, {0, 0, 1, 1}};  // those two meet all that ranks share
#else
  std::vector<std::vector<int>> all{{0, 1, 2}, {0, 1, 0, 1}, {0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2}};
  if (is_full_run()) {
    all.push_back({0, 1});
    all.push_back({0, 0, 1, 1});  // else over MPI
  }
  return all;
#endif
}
INSTANTIATE_TEST_SUITE_P(Nodes, ConformanceOverNodes, testing::ValuesIn(layouts()));

Implementations trees_over_the_machine() {
  Implementations all = make_catalogue();
  std::erase_if(all, [](const auto& one) { return !one->name().ends_with("_leaders"); });
  return all;
}

class ConformanceOverDomains : public testing::TestWithParam<RankPlaces> {};

TEST_P(ConformanceOverDomains, TreesOverTheMachineAreRight) {
  const Implementations trees = trees_over_the_machine();
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(
      static_cast<int>(GetParam().numa.size()),
      [&](Communicator& communicator) {
        run += run_conformance(communicator, trees, chosen, UnderSanitizer::each_variant_by_buffers,
                               usually_among(communicator.size()));
      },
      GetParam());
  EXPECT_GT(run, 0) << "no tree over the machine runs on these domains";
}

/// Domains of four, two and one rank; two nodes of two each, in turn, with caches that are smaller.
std::vector<RankPlaces> domains() {
  // As above: the smallest in which leaders have somebody behind them.
  if (has_sanitizer) return {{.numa = {0, 0, 1}}};
  return {{.numa = {0, 0, 0, 0, 1, 1, 2}},
          {.node = {0, 0, 0, 0, 1, 1, 1, 1},
           .numa = {0, 1, 0, 1, 0, 1, 0, 1},
           .cache = {0, 1, 2, 2, 0, 0, 1, 1}}};
}
INSTANTIATE_TEST_SUITE_P(Domains, ConformanceOverDomains, testing::ValuesIn(domains()));

/// What a sweep of a sub-world may ask for: the capability tells of the whole node's domains, the
/// ranks that take part are in fewer of them.
TEST(ConformanceOverDomains, TreesAreRightWhereOnlySomeDomainsTakePart) {
  const Implementations trees = trees_over_the_machine();
  for (const std::vector<int>& members : {std::vector{0, 4, 5, 6}, std::vector{0, 1, 2, 3}}) {
    std::atomic<int> run = 0;
    run_ranks(10,
              [&](Communicator& launch) {
                const Capability capability = detect_capability(trees, launch);
                const bool is_member = std::ranges::find(members, launch.rank()) != members.end();
                const auto world = launch.split(is_member ? 0 : -1, 0, soon_enough());
                if (world == nullptr) return;
                const Topology topology = topology_of(*world, capability);
                for (const auto& tree : trees) {
                  ConformanceCase test;
                  test.problem = {.collective = tree->collective(),
                                  .data_type = DataType::f32,
                                  .message_size = {4012}};
                  if (shape_of(tree->collective()).reduces) test.problem.reduce_op = ReduceOp::avg;
                  if (shape_of(tree->collective()).has_root) test.root = 2;
                  std::vector<Variant> variants =
                      tree->variants(test.problem, topology, capability);
                  if (has_sanitizer) variants = extreme_variants(variants);
                  for (const Variant& variant : variants) {
                    if (!tree->supports(test.problem, topology, capability, variant)) continue;
                    ++run;
                    EXPECT_EQ(find_fault(*world, *tree, variant, test), "") << to_string(variant);
                  }
                }
              },
              {.numa = {0, 0, 0, 0, 1, 1, 1, 2, 2, 2}});
    EXPECT_GT(run, 0);
  }
}

}  // namespace
}  // namespace test
}  // namespace colltune
