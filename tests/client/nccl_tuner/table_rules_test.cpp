// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Which rules the tuner makes of the decisions of a table.

#include <algorithm>
#include <fstream>
#include <iterator>

#include "client/literal_decisions.h"
#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table/decision_table.h"
#include "tuner_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Choice;
using nccl::Function;
using nccl::Protocol;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Choice tree{Algorithm::tree, Protocol::ll, 4};
constexpr Choice ring{Algorithm::ring, Protocol::simple, 8};
constexpr Choice nvls{Algorithm::nvls, Protocol::simple, 16};
const std::string own = "nccl.all_reduce";
const std::string unnameable = "nccl.all_reduce_configured{ctas=32,policy=default}";

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
  /// A decision of variants and their times, the fastest first; those in front of the baseline are
  /// proven to beat it.
  static Decision ranking(const TuningKey& key,
                          const std::vector<std::pair<std::string, int>>& ranked) {
    Decision made = testing::decision(key, {}, "nccl");
    const double theirs =
        std::ranges::find(ranked, own, &std::pair<std::string, int>::first)->second;
    for (const auto& [variant, time] : ranked) {
      made.ranked.push_back(testing::ranked(variant, time, theirs / time));
      made.ranked.back().is_baseline = variant == own;
    }
    made.verdict = Verdict::displaced;
    return made;
  }
  static std::string name(const Choice& choice) {
    return to_string(variant_of(Function::all_reduce, choice));
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

  void publish_decisions(std::vector<Decision> decisions, bool has_fits = false) {
    DecisionSet set{.generation = {"store", 7, "content"}, .decisions = std::move(decisions)};
    if (has_fits) set.fits = fits_of(set.decisions);
    const std::string environment = set.decisions.front().key.environment_digest;
    set.environments.emplace_back(environment, testing::test_environment());
    set.environments.back().second.nccl_version = measured_with_;
    publish_bytes(encode_table({.set = set,
                                .environment_digest = environment,
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
  std::string measured_with_ = "2.32.6";
  /// What NCCL is told that such a call takes, in µs.
  float time_of(std::size_t bytes) const {
    const TunedCommunicator communicator(tuner, 8, 1, capture);
    Costs costs = Costs::of(5);
    int channels = 0;
    communicator.ask({Function::all_reduce, bytes, 1, 0}, costs, channels);
    return *std::ranges::min_element(costs.entries);
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

TEST_F(TableRulesTest, OfFitsAreProvenAtOneSizeAndClearAtTheOther) {
  const auto undecided = [](std::uint64_t bytes, int tree_ns, DataType type = DataType::f32) {
    Decision made = ranking(key(bytes, type), {{own, 2000}, {name(tree), tree_ns}});
    made.verdict = Verdict::undecided;
    return made;
  };
  const auto proven = [](std::uint64_t bytes, DataType type = DataType::f32) {
    return ranking(key(bytes, type), {{name(tree), 1000}, {own, 2000}});
  };
  publish_decisions({proven(1024), undecided(4096, 1200), proven(65536), undecided(262144, 2100)},
                    true);
  EXPECT_EQ(asked_for(2000), tree);
  EXPECT_EQ(asked_for(4096), std::nullopt) << "measured, and not proven";
  EXPECT_EQ(asked_for(20000), tree);
  EXPECT_EQ(asked_for(100000), std::nullopt) << "expected to be faster, not shown at both";
}

TEST_F(TableRulesTest, OfFitsLeaveWhatIsProvenAtBothSizes) {
  // Fits expect the ring between, which is proven at the smaller size alone.
  publish_decisions({ranking(key(1024), {{name(ring), 300}, {name(tree), 1000}, {own, 2000}}),
                     ranking(key(4096), {{name(tree), 1500}, {own, 2000}, {name(ring), 2100}}),
                     // A gain of less than a tenth, proven.
                     ranking(key(65536), {{name(tree), 1900}, {own, 2000}})},
                    true);
  EXPECT_EQ(asked_for(1500), tree);
  EXPECT_EQ(asked_for(50000), tree);
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
  EXPECT_EQ(asked_for(4096), std::nullopt) << "the types differ, and neither ranks the other's";
  EXPECT_EQ(asked_for(65536), std::nullopt) << "one type keeps NCCL's own choice";
}

TEST_F(TableRulesTest, NameTheLeastWorstRegretWhereMembersDiffer) {
  // Regrets of (tree, ring, nvls): (1, 1.3, 1.1), (1.2, 1, 1.15), (1.05, 1.2, 1).
  publish_decisions(
      {ranking(key(1024),
               {{name(tree), 1000}, {name(nvls), 1100}, {name(ring), 1300}, {own, 2000}}),
       ranking(key(1024, DataType::bf16),
               {{name(ring), 2000}, {name(nvls), 2300}, {name(tree), 2400}, {own, 2600}}),
       ranking(key(1024, DataType::f64),
               {{name(nvls), 3000}, {name(tree), 3150}, {name(ring), 3600}, {own, 4000}})});
  EXPECT_EQ(asked_for(1024), nvls);
  EXPECT_EQ(time_of(1024), 3.0F) << "the longest of its times";
}

TEST_F(TableRulesTest, NameTheSameOfEquallyGoodOnesOnEveryRank) {
  const Decision one = ranking(key(1024), {{name(tree), 1000}, {name(ring), 1100}, {own, 2000}});
  const Decision other =
      ranking(key(1024, DataType::bf16), {{name(ring), 2000}, {name(tree), 2200}, {own, 2600}});
  publish_decisions({one, other});
  EXPECT_EQ(asked_for(1024), ring) << "the first by its name";
  publish_decisions({other, one});
  EXPECT_EQ(asked_for(1024), ring);
}

TEST_F(TableRulesTest, NameNothingThatIsNotProvenForEachMember) {
  const Decision both = ranking(key(1024), {{name(tree), 1000}, {name(ring), 1900}, {own, 2000}});
  const auto with = [&](const std::vector<std::pair<std::string, int>>& ranked) {
    publish_decisions({both, ranking(key(1024, DataType::bf16), ranked)});
    return asked_for(1024);
  };
  EXPECT_EQ(with({{name(ring), 2000}, {own, 2600}, {name(tree), 2700}}), ring)
      << "the fastest of one member is below the other's baseline";
  EXPECT_EQ(with({{name(ring), 2000}, {own, 2600}}), ring) << "it was not measured there";
  EXPECT_EQ(with({{name(nvls), 2000}, {own, 2600}, {name(tree), 2700}, {name(ring), 2800}}),
            std::nullopt);
  EXPECT_EQ(with({{own, 2600}, {name(tree), 2700}, {name(ring), 2800}}), std::nullopt);
}

TEST_F(TableRulesTest, NameNothingWhereAMemberIsMissing) {
  const std::vector<std::pair<std::string, int>> tree_first{
      {name(tree), 1000}, {name(ring), 1100}, {own, 2000}};
  const std::vector<std::pair<std::string, int>> ring_first{
      {name(ring), 1000}, {name(tree), 1300}, {own, 2000}};
  publish_decisions({ranking(key(1024), tree_first), ranking(key(4096), tree_first),
                     ranking(key(65536), tree_first),
                     ranking(key(4096, DataType::bf16), ring_first)});
  EXPECT_EQ(asked_for(1024), std::nullopt) << "what was measured at 4096 is no proof there";
  EXPECT_EQ(asked_for(4096), ring);
  EXPECT_EQ(asked_for(65536), std::nullopt);
  Decision noisy = ranking(key(4096, DataType::bf16), ring_first);
  noisy.verdict = Verdict::undecided;
  publish_decisions({ranking(key(4096), tree_first), noisy});
  EXPECT_EQ(asked_for(4096), std::nullopt);
}

TEST_F(TableRulesTest, NameBetweenSizesWhatIsProvenAtBoth) {
  const std::vector<std::pair<std::string, int>> tree_first{
      {name(tree), 1000}, {name(ring), 1100}, {own, 2000}};
  const std::vector<std::pair<std::string, int>> ring_first{
      {name(ring), 1000}, {name(tree), 1300}, {own, 2000}};
  const std::vector<std::pair<std::string, int>> ring_alone{{name(ring), 1000}, {own, 2000}};
  const auto publish_both = [&](const auto& last) {
    publish_decisions({ranking(key(1024), tree_first), ranking(key(4096), tree_first),
                       ranking(key(1024, DataType::bf16), ring_first),
                       ranking(key(4096, DataType::bf16), last)});
  };
  publish_both(ring_first);
  EXPECT_EQ(asked_for(2048), ring);
  publish_both(std::vector<std::pair<std::string, int>>{{name(nvls), 1000}, {own, 2000}});
  EXPECT_EQ(asked_for(1024), ring);
  EXPECT_EQ(asked_for(2048), std::nullopt);
  EXPECT_EQ(asked_for(4096), std::nullopt);
  publish_both(ring_alone);
  EXPECT_EQ(asked_for(2048), ring);
}

TEST_F(TableRulesTest, NameTheNextOneWhereNcclCannotBeAskedForTheFirst) {
  publish_decisions({ranking(key(1024), {{unnameable, 900}, {name(tree), 1000}, {own, 2000}}),
                     ranking(key(4096), {{unnameable, 900}, {own, 2000}, {name(tree), 2100}})});
  EXPECT_EQ(asked_for(1024), tree);
  EXPECT_EQ(asked_for(4096), std::nullopt) << "it is below the baseline";
}

TEST_F(TableRulesTest, AskForNoChannelsThatNcclMayNotTake) {
  const Choice own_channels{Algorithm::ring, Protocol::ll128, 0};
  const Decision made =
      ranking(key(1024), {{name(tree), 1000}, {name(own_channels), 1100}, {own, 2000}});
  for (const char* const measured : {"2.30.7", "", "2.31", "nonsense"}) {
    measured_with_ = measured;
    publish_decisions({made});
    EXPECT_EQ(asked_for(1024), own_channels) << measured;
    publish_decisions({displaced(key(1024), tree)});
    EXPECT_EQ(asked_for(1024), std::nullopt) << measured;
  }
  for (const char* const measured : {"2.31.2", "2.32.6", "3.0.0"}) {
    measured_with_ = measured;
    publish_decisions({made});
    EXPECT_EQ(asked_for(1024), tree) << measured;
  }
}

TEST_F(TableRulesTest, ARankWhoseEvidenceIsDamagedHasNoRulesIfTheyNeedIt) {
  const auto publish_damaged = [&](const std::vector<std::pair<std::string, int>>& other) {
    publish_decisions({ranking(key(1024), {{name(tree), 1000}, {name(ring), 1900}, {own, 2000}}),
                       ranking(key(1024, DataType::bf16), other)});
    std::ifstream in(file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const std::string digest = digest_of_table(bytes);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    publish_bytes(bytes);
    return digest;
  };
  publish_damaged({{name(tree), 1000}, {own, 2000}});
  EXPECT_EQ(asked_for(1024), tree) << "all members name it";
  const std::string digest = publish_damaged({{name(ring), 1000}, {own, 2000}});
  EXPECT_EQ(asked_for(1024), std::nullopt);
  EXPECT_EQ(TunedCommunicator(tuner, 4, 1, capture).result(), nccl::result_success);
  EXPECT_THAT(log_lines(), ::testing::Contains(AllOf(HasSubstr("WARN"), HasSubstr(file.string()),
                                                     HasSubstr("the evidence is not"),
                                                     HasSubstr("NCCL's own choices stay"))));
  // Others, whose file is whole, have its rules.
  setenv("COLLTUNE_TABLE_DIGEST", digest.c_str(), 1);
  EXPECT_EQ(TunedCommunicator(tuner, 8, 1, capture).result(), nccl::result_invalid_usage);
  EXPECT_THAT(log_lines().back(), HasSubstr("communicator refused"));
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
