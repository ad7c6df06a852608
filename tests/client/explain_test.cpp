// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// `colltune explain`: who ran, who left, who could not.

#include <array>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "colltune/vocabulary/composition.h"
#include "unlike_worlds.h"

namespace colltune {
namespace {

using testing::decision;
using ::testing::HasSubstr;
using testing::measurement;
using ::testing::Not;
using testing::ranked;
using testing::sweep;
using testing::test_environment;
using testing::test_key;

class Explain : public testing::Cli {
 protected:
  /// A sweep of two passes and two sizes. In it the tree left after one pass, the ring was wrong,
  /// and of 1 KiB two variants were skipped.
  void fill_with_a_race() const {
    const TuningKey key = test_key(1024);
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    std::vector<Measurement> trials;
    for (const int pass : {0, 1})
      for (const char* name : {"cpu.one_shot{n=2}", "cpu.two_shot", "mpi.default"}) {
        trials.push_back(measurement(key, name, 1000));
        trials.back().pass = pass;
      }
    trials.push_back(measurement(key, "cpu.tree", 4000));
    trials.push_back(measurement(key, "cpu.ring", 500));
    trials.back().outcome = Outcome::wrong;
    trials.back().detail = "rank 1: element 0 is 1, not 2";
    trials.push_back(measurement(test_key(1 << 20), "cpu.elsewhere", 4000));
    store.append("sweep-1", trials);
    const nlohmann::json skipped{{"problems", {"0000", "1111", digest_of_value(key.problem)}},
                                 {"entries",
                                  {{{"topology", digest_of_value(key.topology)},
                                    {"variant", "nccl.ring{channels=2}"},
                                    {"reason", "no GPU (rank 0)"},
                                    {"ranks_with_it", "1-3"},
                                    {"problems", {{0, 2}}}},
                                   {{"topology", digest_of_value(key.topology)},
                                    {"variant", "nccl.ring{channels=4}"},
                                    {"reason", "no GPU (rank 0)"},
                                    {"ranks_with_it", "1-3"},
                                    {"problems", {{1, 2}, {7, 7}}}},
                                   {{"topology", digest_of_value(key.topology)},
                                    {"variant", "cpu.of_another_problem"},
                                    {"reason", "too long"},
                                    {"ranks_with_it", ""},
                                    {"problems", {{0, 1}, {3, 3}}}},
                                   {{"topology", "of another world"},
                                    {"variant", "cpu.of_another_world"},
                                    {"reason", "too many"},
                                    {"ranks_with_it", ""},
                                    {"problems", {{0, 2}}}}}}};
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z",
                       nlohmann::json{{"skipped", skipped}}.dump());
    std::vector<Decision> decisions{
        decision(key, {ranked("cpu.one_shot{n=2}", 1000, 2.0), ranked("cpu.two_shot", 1250, 1.6),
                       ranked("mpi.default", 2000, 1.0), ranked("cpu.tree", 4000, 0.5)}),
        decision(test_key(1 << 20), {ranked("mpi.default", 90000, 1.0)})};
    for (RankedVariant& variant : decisions[0].ranked)
      variant.is_baseline = to_string(variant.variant) == "mpi.default";
    for (Decision& each : decisions) each.sweep_uuid = "sweep-1";
    store.publish(decisions, "2026-01-01T00:01:00Z");
  }

  [[nodiscard]] testing::Result explain(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"explain", "all_reduce", "--dtype", "f32"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return colltune(arguments);
  }
};

TEST_F(Explain, SaysWhatBecameOfEachVariant) {
  fill_with_a_race();
  const auto result = explain({"--bytes", "1KiB", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       cpu.one_shot{n=2}\n"));
  EXPECT_THAT(result.out, HasSubstr("executed by\n  2 rank(s) "));
  EXPECT_THAT(result.out, HasSubstr("measured in sweep sweep-1\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("cpu.elsewhere")));
  EXPECT_THAT(result.out, HasSubstr("  no GPU (rank 0); rank 1-3 has it\n"
                                    "    2 variant(s) of nccl.ring\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("of_another")));
}

TEST_F(Explain, AsJsonHasEveryVariant) {
  fill_with_a_race();
  const auto result = explain({"--bytes", "1KiB", "--db", database, "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["answer"]["winner"], "cpu.one_shot{n=2}");
  std::vector<std::string> fates;
  for (const auto& runner : json["measured"])
    fates.push_back(runner["variant"].get<std::string>() + ": " +
                    runner["fate"].get<std::string>());
  EXPECT_THAT(fates,
              ::testing::ElementsAre(
                  "cpu.one_shot{n=2}: wins: 2.00 times as fast as the baseline",
                  "cpu.two_shot: 1.60 times as fast as the baseline; the winner is 1.25 times as "
                  "fast as it",
                  "mpi.default: what runs without colltune",
                  "cpu.tree: 2.00 times slower than the baseline; the winner is 4.00 times as fast "
                  "as it; left the race after 1 of 2 passes",
                  "cpu.ring: wrong: rank 1: element 0 is 1, not 2"));
  ASSERT_EQ(json["not_measured"].size(), 2u);
  EXPECT_EQ(json["not_measured"][1]["variant"], "nccl.ring{channels=4}");
  EXPECT_EQ(json["not_measured"][1]["ranks_with_it"], "1-3");
}

TEST_F(Explain, BetweenSizesItNamesThoseThatWereMeasured) {
  fill_with_a_race();
  const auto result = explain({"--bytes", "32KiB", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out,
              HasSubstr("nothing was measured for this very size: explain 1KiB or 1MiB\n"));
}

TEST_F(Explain, DecisionsMayComeWithoutTheirMeasurements) {
  fill();
  const auto result = explain({"--bytes", "1MiB", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out,
              HasSubstr("the measurements of sweep sweep-1 are not in this database\n"));
}

TEST_F(Explain, ASummaryThatNoAgentWroteIsDamage) {
  fill_with_a_race();
  {
    Store store(database);
    store.begin_sweep(sweep("sweep-2", "2026-01-02T00:00:00Z"));
    store.append("sweep-2", std::vector{measurement(test_key(1024), "mpi.default", 1000)});
    store.finish_sweep("sweep-2", SweepState::complete, "2026-01-02T00:01:00Z",
                       R"({"skipped": {"problems": "all"}})");
    std::vector<Decision> decisions{decision(test_key(1024), {ranked("mpi.default", 1000, 1.0)})};
    decisions[0].sweep_uuid = "sweep-2";
    store.publish(decisions, "2026-01-02T00:01:00Z");
  }
  expect_failure(explain({"--bytes", "1KiB", "--db", database}), 5,
                 "the summary of sweep sweep-2: /skipped/problems: expected an array");
}

/// A sweep of four ranks, of which two can do more, and of these two alone.
class ExplainUnlikeRanks : public Explain {
 protected:
  void fill_with_unlike_ranks() const {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    const Topology whole = testing::topology_of(4, "unlike");
    const Topology part = testing::topology_of(2, "uniform");
    store.note_members("sweep-1", whole, members);
    store.note_members("sweep-1", part, testing::members_of({able, able}));
    const Composition grouped{CompositionMode::grouped,
                              {{PartRole::before, {digest_of_value(able)}, parse_variant("cpu.in")},
                               {PartRole::bridge, {}, parse_variant("mpi.across")}}};
    store.note_compositions(std::array{testing::composition_for(members), grouped});
    std::vector<Decision> decisions{
        testing::unlike_decision("sweep-1", 1024, whole, members),
        decision(test_key(1024, part),
                 {ranked("cpu.fast", 200, 5.0), ranked("mpi.default", 1000, 1.0)})};
    decisions[1].sweep_uuid = "sweep-1";
    decisions[0].ranked.push_back(
        ranked(to_string(name_composition(name_of(Collective::all_reduce), grouped)), 2500, 0.8));
    for (Decision& each : decisions)
      for (RankedVariant& variant : each.ranked)
        variant.is_baseline = to_string(variant.variant) == "mpi.default";
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    store.publish(decisions, "2026-01-01T00:01:00Z");
  }

  MemberKind able{"x86_64-avx2", {"isa.avx2", "tag.more"}};
  MemberKind plain{"x86_64-avx2", {"isa.avx2"}};
  Members members = testing::members_of({plain, able, able, plain});
};

TEST_F(ExplainUnlikeRanks, SaysWhatEachKindRuns) {
  fill_with_unlike_ranks();
  const auto result = explain({"--bytes", "1KiB", "--db", database, "--ranks-per-node", "4"});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       substituted.cpu.ring{parts="));
  EXPECT_THAT(result.out, HasSubstr("executed by\n"
                                    "  rank 0,3: x86_64-avx2\n"
                                    "    whole: cpu.ring{kind=0}\n"
                                    "  rank 1-2: x86_64-avx2, tag.more\n"
                                    "    whole: cpu.ring{kind=1}\n"));
}

TEST_F(ExplainUnlikeRanks, SetsTheModesSideBySideAndEstimatesWhatCouldNotRun) {
  fill_with_unlike_ranks();
  const auto result =
      explain({"--bytes", "1KiB", "--db", database, "--ranks-per-node", "4", "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto modes = nlohmann::json::parse(result.out)["modes"];
  std::vector<std::string> lines;
  for (const auto& line : modes["best"])
    lines.push_back(line["mode"].get<std::string>() + " " + line["ranks"].dump() + " " +
                    line["time_ns"].dump());
  EXPECT_THAT(lines, ::testing::ElementsAre("baseline 4 2000", "single 4 1000", "substituted 4 900",
                                            "grouped 4 2500", "partial 2 200"));
  // 200 ns on those that have it, and the baseline takes twice as long on all.
  ASSERT_EQ(modes["estimates"].size(), 1u);
  EXPECT_EQ(modes["estimates"][0]["variant"], "cpu.fast");
  EXPECT_EQ(modes["estimates"][0]["estimated_time_ns"], 400);
  const auto text = explain({"--bytes", "1KiB", "--db", database, "--ranks-per-node", "4"}).out;
  EXPECT_THAT(text, HasSubstr("  about 0.40 us  cpu.fast (measured on 1x2 "));
  EXPECT_THAT(text, Not(HasSubstr("cpu.fast{")));
}

TEST_F(ExplainUnlikeRanks, RanksThatAreAlikeHaveOneModeAndNothingToEstimate) {
  fill_with_unlike_ranks();
  const auto result = explain({"--bytes", "1KiB", "--db", database, "--ranks-per-node", "2"});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       cpu.fast\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("estimated")));
  EXPECT_THAT(result.out, Not(HasSubstr("best of each mode")));
}

TEST_F(Explain, NeedsADatabaseOrAServer) {
  if (COLLTUNE_HAS_SERVER)
    expect_failure(explain({"--bytes", "1KiB", "--server", "unix:/x"}), 4, "unix:/x");
  expect_failure(explain({"--bytes", "1KiB"}), 2, "--db FILE");
}

}  // namespace
}  // namespace colltune
