// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// By levels with low latency inside each node, and double trees, beyond what the conformance test
// asks of every implementation.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <string>

#include "colltune/kernels/operation.h"
#include "conformance.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr std::array collectives{Collective::all_reduce, Collective::reduce_scatter,
                                 Collective::all_gather};
constexpr const char* settings = "format=lines,slots=4,stores=cached,taken_back=cleared";

Topology nodes_of(int nodes, int ranks_per_node) {
  return {.nodes = nodes, .ranks_per_node = ranks_per_node, .ranks = nodes * ranks_per_node};
}

class HierarchicalLowLatency : public testing::TestWithParam<Collective> {
 protected:
  [[nodiscard]] Variant variant(const std::string& parameters) const {
    return parse_variant(std::string(by_levels_.name()) + "{" + parameters + "}");
  }
  [[nodiscard]] std::string reason(const Topology& topology, const std::string& parameters,
                                   std::uint64_t size = 256) const {
    return by_levels_.supports(f32_problem(GetParam(), size), topology, {}, variant(parameters))
        .reason();
  }

  const Implementations catalogue_ = make_catalogue();
  const Implementation& by_levels_ = *find_implementation(
      catalogue_, "cpu." + std::string(name_of(GetParam())) + "_hierarchical_low_latency");
  const std::string ring_ = GetParam() == Collective::reduce_scatter ? "ring" : "ring_both";
  const std::string good_ = "across=" + ring_ + "," + settings;
};

TEST_P(HierarchicalLowLatency, SaysWhyItCannot) {
  const Topology grid = nodes_of(3, 2);
  EXPECT_EQ(reason(grid, good_), "");
  EXPECT_EQ(reason(nodes_of(1, 4), good_), "it needs several nodes with several ranks each");
  EXPECT_EQ(reason(nodes_of(4, 1), good_), "it needs several nodes with several ranks each");
  Topology uneven = nodes_of(2, 3);
  uneven.ranks = 5;
  EXPECT_EQ(reason(uneven, good_), "it needs as many ranks on each node");
  EXPECT_THAT(reason(grid, settings), HasSubstr("across must be one of "));
  EXPECT_THAT(reason(grid, std::string("across=pigeons,") + settings),
              HasSubstr("across must be one of "));
  const std::string across = "across=" + ring_;
  EXPECT_EQ(reason(grid, across + ",format=letter,slots=4,stores=cached,taken_back=cleared"),
            "inside a node: format must be line, header, lines, word or poison");
  EXPECT_EQ(reason(grid, across + ",format=line,slots=4,stores=cached"),
            "inside a node: its parameters are format, slots, stores, taken_back");
  EXPECT_NE(reason(grid, across + "," + settings, (32 << 10) + 24), "");
  Problem captured = f32_problem(GetParam(), 256);
  captured.graph_capture = true;
  EXPECT_EQ(by_levels_.supports(captured, grid, {}, variant(good_)).reason(),
            "it runs on the processor; no device graph can hold it");
}

TEST_P(HierarchicalLowLatency, TriesEachFormatWithEachAlgorithmAcross) {
  std::set<std::string> across;
  std::set<std::string> formats;
  const auto tried = by_levels_.variants(f32_problem(GetParam(), 96), nodes_of(3, 2), {});
  for (const Variant& one : tried) {
    across.insert(word(one, "across"));
    formats.insert(word(one, "format"));
    EXPECT_TRUE(by_levels_.supports(f32_problem(GetParam(), 96), nodes_of(3, 2), {}, one))
        << to_string(one);
  }
  EXPECT_EQ(formats, (std::set<std::string>{"lines", "word", "poison"}));
  EXPECT_GE(across.size(), 3U);
  EXPECT_EQ(tried.size(), across.size() * formats.size());
  EXPECT_EQ(by_levels_.variants(f32_problem(GetParam(), 96), nodes_of(1, 6), {}).size(), 1U)
      << "one, which says why";
}

TEST_P(HierarchicalLowLatency, IsRightCallAfterCallOfAnySizeOnAnyNodes) {
  // 1 and 7 elements for two or three ranks of a node; ranks of a node that are not neighbours.
  const std::array all_nodes{std::vector{0, 1, 1, 0}, std::vector{0, 0, 0, 1, 1, 1},
                             std::vector{0, 1, 2, 0, 1, 2}};
  const std::array<std::uint64_t, 3> sizes{1, 7, 401};
  for (std::size_t layout = 0; layout < all_nodes.size(); ++layout) {
    const std::vector<int>& nodes = all_nodes[layout];
    const auto ranks = static_cast<int>(nodes.size());
    const bool reduces = shape_of(GetParam()).reduces;
    for (const DataType type : {DataType::i8, DataType::f64})
      for (const std::uint64_t elements : sizes)
        for (const bool in_place : {false, true}) {
          // Under a sanitizer each layout takes one size in place and the next one not, and types
          // take turns.
          if (has_sanitizer && (elements != sizes[(layout + (in_place ? 0 : 1)) % 3] ||
                                (type == DataType::f64) != (in_place == (layout == 1))))
            continue;
          const bool has_blocks = GetParam() != Collective::all_reduce;
          const ConformanceCase test{
              .problem = {.collective = GetParam(),
                          .data_type = type,
                          .reduce_op = reduces ? ReduceOp::avg : ReduceOp::none,
                          .message_size = {elements * size_of(type) *
                                           static_cast<unsigned>(has_blocks ? ranks : 1)},
                          .in_place = in_place},
              .calls = 12,
              .has_late_rank = elements == 7 && in_place};
          std::atomic<int> run = 0;
          run_ranks(ranks,
                    [&](Communicator& communicator) {
                      const Topology topology = topology_of(communicator, {});
                      for (const Variant& one : by_levels_.variants(test.problem, topology, {})) {
                        // Each format; what is across has its own tests.
                        if (word(one, "across") !=
                            word(by_levels_.variants(test.problem, topology, {}).front(), "across"))
                          continue;
                        ++run;
                        EXPECT_EQ(find_fault(communicator, by_levels_, one, test), "")
                            << to_string(one);
                      }
                    },
                    {.node = nodes});
          EXPECT_GT(run, 0);
        }
  }
}

TEST_P(HierarchicalLowLatency, NamesWhomEachRankWaitedFor) {
  std::array<std::string, 4> said;
  run_ranks(
      4,
      [&](Communicator& communicator) {
        const Problem problem = f32_problem(GetParam(), 64);
        const Variant one = by_levels_.variants(problem, topology_of(communicator, {}), {}).front();
        const bool has_blocks = GetParam() != Collective::all_reduce;
        std::vector<std::byte> send(GetParam() == Collective::all_gather ? 16 : 64);
        std::vector<std::byte> receive(has_blocks && GetParam() != Collective::all_gather ? 16
                                                                                          : 64);
        const auto operation = by_levels_.prepare(
            communicator, {.problem = problem, .buffers = {send, receive}}, one, soon_enough());
        if (communicator.rank() != 3) {
          operation->start();
          try {
            operation->wait(std::chrono::steady_clock::now() + milliseconds(100));
          } catch (const RankMissing& missing) {
            said[static_cast<std::size_t>(communicator.rank())] = missing.what();
          }
        }
        communicator.barrier(soon_enough());
      },
      {.node = {0, 0, 1, 1}});
  // Rank 2 shares a node with the missing one, rank 1 its place, and rank 0 that of rank 2.
  if (GetParam() == Collective::all_gather) {
    EXPECT_THAT(said[1], HasSubstr("rank 3"));
    EXPECT_THAT(said[1], HasSubstr("across the nodes"));
  } else {
    EXPECT_THAT(said[2], HasSubstr("rank 3"));
    EXPECT_THAT(said[2], HasSubstr("inside the node"));
  }
}

TEST_P(HierarchicalLowLatency, RefusesUnevenNodesOnAllRanks) {
  std::atomic<int> refused = 0;
  run_ranks(3,
            [&](Communicator& communicator) {
              std::array<std::byte, 96> send{};
              std::array<std::byte, 96> receive{};
              try {
                const auto operation = by_levels_.prepare(
                    communicator,
                    {.problem = f32_problem(GetParam(), 96), .buffers = {send, receive}},
                    variant(good_), soon_enough());
              } catch (const Error& error) {
                EXPECT_THAT(error.what(), HasSubstr("as many ranks on each node"));
                ++refused;
              }
            },
            {.node = {0, 0, 1}});
  EXPECT_EQ(refused, 3);
}

TEST_P(HierarchicalLowLatency, CostsWhatItsLevelsCost) {
  const Variant one = by_levels_.variants(f32_problem(GetParam(), 480), nodes_of(2, 3), {}).front();
  const Cost cost = by_levels_.cost(f32_problem(GetParam(), 480), nodes_of(2, 3), one);
  const double rounds_inside = GetParam() == Collective::all_reduce ? 2 : 1;
  EXPECT_GE(cost.steps, rounds_inside + 1);
  // Inside, each of 3 ranks takes what two others give it: 160 bytes of an all_reduce, 160 of the
  // blocks for or of its place.
  EXPECT_GE(cost.bytes_per_rank, rounds_inside * 2 * 160);
  EXPECT_LT(cost.bytes_per_rank, rounds_inside * 2 * 160 + 480);
}

TEST(HierarchicalLowLatencyOfAllGather, AdaptingVariantsCoverThePlainOnes) {
  const Implementations catalogue = make_catalogue();
  const Implementation& by_levels =
      *find_implementation(catalogue, "cpu.all_gather_hierarchical_low_latency");
  const auto variant = [&](const std::string& parameters) {
    return parse_variant(std::string(by_levels.name()) + "{" + parameters + "}");
  };
  const Variant wide =
      variant("across=bruck,format=header,slots=4,stores=adaptive,taken_back=one_line");
  EXPECT_TRUE(by_levels.covers(
      wide, variant("across=bruck,format=header,slots=4,stores=cached,taken_back=one_line")));
  EXPECT_FALSE(by_levels.covers(
      wide, variant("across=flat_pull,format=header,slots=4,stores=cached,taken_back=one_line")));
  const Problem problem = f32_problem(Collective::all_gather, 16 << 10);
  EXPECT_GT(by_levels.traits(problem, nodes_of(2, 2), wide).learning_calls, 0);
}

std::string name_of_collective(const testing::TestParamInfo<Collective>& info) {
  return std::string(name_of(info.param));
}
INSTANTIATE_TEST_SUITE_P(Collectives, HierarchicalLowLatency, testing::ValuesIn(collectives),
                         name_of_collective);

// Who is a leaf of one tree works in the other, so that nobody moves more than the message.
TEST(DoubleTree, EachRankMovesTheMessageOnce) {
  const Implementations catalogue = make_catalogue();
  constexpr double size = 1 << 20;
  // The root, and an even number of others.
  const Topology topology = nodes_of(1, 9);
  for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
    const Implementation& tree =
        *find_implementation(catalogue, "cpu." + std::string(name_of(collective)) + "_double_tree");
    const Problem problem = f32_problem(collective, 1 << 20);
    const Variant variant = tree.variants(problem, topology, {}).front();
    const Cost cost = tree.cost(problem, topology, variant);
    EXPECT_EQ(cost.bytes_per_rank, size) << to_string(variant);
    // One to the top of the trees, three down a tree of eight.
    EXPECT_LE(cost.steps, 2 * (1 + 3)) << to_string(variant);
  }
  const Implementation& tree = *find_implementation(catalogue, "cpu.all_reduce_double_tree");
  const Problem problem = f32_problem(Collective::all_reduce, 1 << 20);
  for (const int ranks : {3, 5, 6, 7, 8, 12}) {
    const Topology all = nodes_of(1, ranks);
    const Variant variant = tree.variants(problem, all, {}).front();
    EXPECT_LE(tree.cost(problem, all, variant).bytes_per_rank, 2 * size) << ranks;
  }
}

}  // namespace
}  // namespace colltune::test
