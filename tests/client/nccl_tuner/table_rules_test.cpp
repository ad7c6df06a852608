// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Which rules the tuner makes of the decisions of a table.

#include "client/literal_decisions.h"
#include "colltune/table/decision_table.h"
#include "tuner_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Choice;
using nccl::Function;
using nccl::Protocol;

constexpr Choice tree{Algorithm::tree, Protocol::ll, 4};
constexpr Choice ring{Algorithm::ring, Protocol::simple, 8};

class TableRulesTest : public TunerTest {
 protected:
  static TuningKey key(std::uint64_t bytes, DataType type = DataType::f32) {
    TuningKey key = testing::test_key(bytes);
    key.problem.data_type = type;
    key.topology.ranks = key.topology.ranks_per_node = 8;
    key.topology.architectures = {{"sm_90", 8}};
    return key;
  }
  static Decision displaced(const TuningKey& key, const std::string& variant) {
    Decision made = testing::decision(
        key, {testing::ranked(variant, 10000, 1.5), testing::ranked("nccl.all_reduce", 15000, 1)},
        "nccl");
    made.ranked.back().is_baseline = true;
    made.verdict = Verdict::displaced;
    return made;
  }
  static Decision displaced(const TuningKey& key, const Choice& choice) {
    return displaced(key, to_string(variant_of(Function::all_reduce, choice)));
  }
  static Decision kept(const TuningKey& key) {
    Decision made = testing::decision(key, {testing::ranked("nccl.all_reduce", 15000, 1)}, "nccl");
    made.ranked.front().is_baseline = true;
    made.verdict = Verdict::kept;
    return made;
  }

  void publish_decisions(std::vector<Decision> decisions) {
    DecisionSet set{.generation = {"store", 7, "content"}, .decisions = std::move(decisions)};
    publish_bytes(encode_table({.set = set,
                                .environment_digest = set.decisions.front().key.environment_digest,
                                .groups = DecisionTable(set).answer_groups()}));
  }

  /// What is asked for in an all_reduce of this size; empty if NCCL is left alone.
  std::optional<Choice> asked_for(std::size_t bytes, int registered = 0) const {
    const TunedCommunicator communicator(tuner, 8, 1, capture);
    Costs costs = Costs::of(5);
    int channels = 0;
    communicator.ask({Function::all_reduce, bytes, 1, registered}, costs, channels);
    if (costs == Costs::of(5)) return std::nullopt;
    for (const auto& algorithm : enum_names(Algorithm{}))
      for (const auto& protocol : enum_names(Protocol{}))
        if (costs.at(algorithm.value, protocol.value) < nccl::cost_avoided)
          return Choice{algorithm.value, protocol.value, channels};
    return std::nullopt;
  }
};

TEST_F(TableRulesTest, AreTheProvenWinnersAtAndBetweenMeasuredSizes) {
  publish_decisions({displaced(key(1024), tree), displaced(key(4096), tree), kept(key(65536)),
                     displaced(key(1 << 20), ring)});
  EXPECT_EQ(asked_for(1024), tree);
  EXPECT_EQ(asked_for(2000), tree);
  EXPECT_EQ(asked_for(4096), tree);
  EXPECT_EQ(asked_for(65536), std::nullopt);
  EXPECT_EQ(asked_for(1 << 20), ring);
  EXPECT_EQ(asked_for(8192), std::nullopt) << "proven at one neighbour alone";
}

TEST_F(TableRulesTest, LeaveSizesBeyondTheMeasuredOnesToNccl) {
  publish_decisions({displaced(key(1024), tree), displaced(key(4096), tree)});
  EXPECT_EQ(asked_for(512), std::nullopt);
  EXPECT_EQ(asked_for(8192), std::nullopt);
}

// NCCL tells a tuner no data type.
TEST_F(TableRulesTest, NameOnlyWhatIsRightForEveryMeasuredType) {
  publish_decisions({displaced(key(1024), tree), displaced(key(4096), tree),
                     displaced(key(65536), tree), displaced(key(1024, DataType::bf16), tree),
                     displaced(key(4096, DataType::bf16), ring), kept(key(65536, DataType::bf16))});
  EXPECT_EQ(asked_for(1024), tree);
  EXPECT_EQ(asked_for(4096), std::nullopt) << "the types differ";
  EXPECT_EQ(asked_for(65536), std::nullopt) << "one type keeps NCCL's own choice";
}

TEST_F(TableRulesTest, DistinguishRegisteredBuffers) {
  Decision registered = displaced(key(1024), ring);
  registered.key.problem.registered = true;
  publish_decisions({displaced(key(1024), tree), registered});
  EXPECT_EQ(asked_for(1024, 0), tree);
  EXPECT_EQ(asked_for(1024, 1), ring);
}

TEST_F(TableRulesTest, AreNotMadeOfOtherFamiliesRegimesPlacementsOrWorlds) {
  const auto is_left = [&](auto&& change) {
    Decision made = displaced(key(1024), tree);
    change(made);
    publish_decisions({made});
    return !asked_for(1024);
  };
  EXPECT_FALSE(is_left([](Decision&) {}));
  EXPECT_TRUE(is_left([](Decision& made) { made.family = any_family; }));
  EXPECT_TRUE(is_left([](Decision& made) { made.key.calling = Calling::persistent; }));
  EXPECT_TRUE(is_left([](Decision& made) { made.key.input = InputMode::hot; }));
  EXPECT_TRUE(
      is_left([](Decision& made) { made.key.topology.placement = Placement::shared_device; }));
  EXPECT_TRUE(is_left([](Decision& made) { made.key.topology.nodes = 2; }));
  EXPECT_TRUE(is_left([](Decision& made) { made.key.topology.ranks = 4; }));
  EXPECT_TRUE(is_left([](Decision& made) { made.verdict = Verdict::undecided; }));
}

TEST_F(TableRulesTest, AreNotMadeOfWhatNcclCannotBeAskedFor) {
  const auto is_left = [&](const std::string& variant) {
    publish_decisions({displaced(key(1024), variant)});
    return !asked_for(1024);
  };
  EXPECT_FALSE(is_left("nccl.all_reduce_forced{algorithm=ring,channels=64,protocol=ll}"));
  for (const char* const variant :
       {"nccl.all_reduce_forced{algorithm=ring,channels=65,protocol=ll}",
        "nccl.all_reduce_forced{algorithm=ring,channels=-1,protocol=ll}",
        "nccl.all_reduce_forced{algorithm=star,channels=0,protocol=ll}",
        "nccl.all_reduce_forced{algorithm=ring,channels=0,protocol=ll64}",
        "nccl.all_reduce_forced{algorithm=collnetchain,channels=2,protocol=simple}",
        "nccl.all_reduce_forced{algorithm=ring,protocol=ll}",
        "nccl.all_gather_forced{algorithm=ring,channels=0,protocol=ll}",
        "nccl.all_reduce_symmetric{algorithm=ring,channels=0,protocol=ll}"})
    EXPECT_TRUE(is_left(variant)) << variant;
}

}  // namespace
}  // namespace colltune::test
