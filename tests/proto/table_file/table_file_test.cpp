// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/table_file/table_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "colltune/json/output_file.h"
#include "proto/table_file/random_decisions.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;

/// What a table says: an answer, or an error.
struct Said {
  std::optional<LookupAnswer> answer;
  std::string error;

  friend bool operator==(const Said&, const Said&) = default;
};

Said ask(const DecisionTable& table, const LookupQuery& query) {
  try {
    return {.answer = table.find(query), .error = {}};
  } catch (const Error& error) {
    return {.answer = {}, .error = std::to_string(static_cast<int>(error.code())) + error.what()};
  }
}

/// A key that is in `set`, or near it, at a random size.
TuningKey random_key(const DecisionSet& set, RandomDecisions& random) {
  TuningKey key = set.decisions[static_cast<std::size_t>(
                                    random.number(0, static_cast<int>(set.decisions.size()) - 1))]
                      .key;
  if (random.chance(60)) key.problem.message_size = {random.make_size()};
  if (random.chance(30)) key.problem.numeric_class = random.one_of(NumericClass{});
  if (random.chance(10)) key.problem.in_place = !key.problem.in_place;
  if (random.chance(10)) key.calling = random.one_of(Calling{});
  return key;
}

TEST(TableFile, GivesBackEveryDecisionThatWasWritten) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const DecisionSet set = RandomDecisions(seed).make(30);
    const TableFile file(encode_table(content_of(set)), "memory");
    EXPECT_EQ(file.read_decisions(), set);
    EXPECT_EQ(file.generation(), set.generation);
    EXPECT_EQ(file.environment_digest(), set.environments.front().first);
  }
}

TEST(TableFile, TableReadFromItAnswersAsTheOriginal) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomDecisions random(seed);
    const DecisionSet set = random.make(30);
    const DecisionTable original(set);
    const DecisionTable read(TableFile(encode_table(content_of(set)), "memory").read_decisions());
    for (int i = 0; i < 300; ++i) {
      const TuningKey key = random_key(set, random);
      LookupQuery query = query_for(key, random.chance(50) ? std::string(any_family) : "nccl");
      if (random.chance(20)) query.ranks_per_node.reset();
      if (random.chance(20)) query.nodes.reset();
      if (random.chance(20)) query.at_least = random.one_of(MatchLevel{});
      if (random.chance(20))
        query.members =
            Members{.kinds = {{"x86_64-avx2", {"cpu.cores=2"}}}, .kind_of_rank = {0, 0}};
      EXPECT_EQ(ask(read, query), ask(original, query));
    }
  }
}

/// The fast lookup says what DecisionTable says: variant, baseline, times, source, verdict, status.
TEST(TableFile, FastLookupAnswersAsTheTable) {
  int answers = 0;
  int interpolated = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    RandomDecisions random(seed);
    const DecisionSet set = random.make(30);
    const DecisionTable table(set);
    const TableFile file(encode_table(content_of(set)), "memory");
    for (int i = 0; i < 500; ++i) {
      const TuningKey key = random_key(set, random);
      const std::string family = random.chance(50) ? std::string(any_family) : "nccl";
      const Said said = ask(table, query_for(key, family));
      const auto group = resolve(file.view(), key, family);
      const auto found = group ? file.view().find(*group, key.problem.message_size) : std::nullopt;
      SCOPED_TRACE(describe(key.problem) + " " + family + " seed " + std::to_string(seed) + " " +
                   said.error);
      ASSERT_EQ(found.has_value(), said.answer.has_value());
      if (!found) {
        ++refused;
        continue;
      }
      ++answers;
      const Decision& decision = said.answer->decision;
      const RankedVariant& winner = decision.ranked.front();
      EXPECT_EQ(file.view().variant(found->variant).text, to_string(winner.variant));
      EXPECT_EQ(file.view().variant(found->variant).implementation, winner.variant.implementation);
      EXPECT_EQ(found->is_baseline, winner.is_baseline);
      EXPECT_EQ(found->source, said.answer->source);
      EXPECT_EQ(found->verdict, decision.verdict);
      EXPECT_EQ(found->status, decision.status);
      EXPECT_EQ(found->size, decision.key.problem.message_size);
      // Times of a variant with other parameters at each size are rounded once more.
      EXPECT_NEAR(static_cast<double>(found->time().count()),
                  static_cast<double>(winner.median.count()), 2);
      const auto baseline = std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
      ASSERT_EQ(found->baseline != table_file::none, baseline != decision.ranked.end());
      if (baseline != decision.ranked.end()) {
        EXPECT_EQ(file.view().variant(found->baseline).text, to_string(baseline->variant));
        EXPECT_EQ(found->baseline_time(), baseline->median);
      }
      if (found->source == Source::interpolated) ++interpolated;
    }
  }
  EXPECT_GT(answers, 5000);
  EXPECT_GT(interpolated, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(TableFile, EqualContentsGiveEqualBytes) {
  const DecisionSet set = RandomDecisions(3).make(10);
  EXPECT_EQ(encode_table(content_of(set)), encode_table(content_of(set)));
}

TEST(TableFile, HoldsNoDecisions) {
  DecisionSet set = RandomDecisions(3).make(1);
  set.decisions.clear();
  const TableFile file(encode_table(content_of(set)), "memory");
  EXPECT_EQ(file.read_decisions(), set);
  EXPECT_FALSE(resolve(file.view(), test_key(1024), any_family));
}

TEST(TableFile, HasTheFactsOfItsEnvironmentForAReader) {
  const DecisionSet set = RandomDecisions(3).make(3);
  const TableFile file(encode_table(content_of(set)), "memory");
  std::string facts;
  for (const table_file::FactRecord& fact : file.view().facts())
    facts += std::string(file.view().string(fact.name)) + '=' +
             std::string(file.view().string(fact.value)) + '\n';
  EXPECT_THAT(facts, HasSubstr("mpi_library=Open MPI 4.1.4\n"));
  EXPECT_THAT(facts, HasSubstr("variables=NCCL_PROTO=Simple\n"));
}

TEST(TableFile, RefusesDecisionsOfTwoEnvironments) {
  DecisionSet set = RandomDecisions(3).make(3);
  set.decisions.back().key.environment_digest = "another";
  try {
    (void)encode_table(content_of(set));
    FAIL() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("'another'; a file holds those of one"));
  }
}

class WrittenTableFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "table_file_XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder_ / "cluster.ctt";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::filesystem::path path_;
};

TEST_F(WrittenTableFile, KeepsItsContentWhileItIsReplaced) {
  const DecisionSet first = RandomDecisions(1).make(10);
  const DecisionSet second = RandomDecisions(2).make(20);
  write_output(path_, encode_table(content_of(first)), std::cout);
  const TableFile old(path_);
  write_output(path_, encode_table(content_of(second)), std::cout);
  EXPECT_EQ(old.read_decisions(), first);
  EXPECT_EQ(TableFile(path_).read_decisions(), second);
}

TEST_F(WrittenTableFile, SaysWhyItCannotBeRead) {
  const auto why = [](const std::filesystem::path& path) {
    try {
      (void)TableFile(path);
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
    return std::string("it was read");
  };
  EXPECT_THAT(why(path_), HasSubstr(path_.string() + " cannot be read as a table file: No such"));
  EXPECT_THAT(why(folder_), HasSubstr("it is no regular file"));
  std::ofstream(path_) << "";
  EXPECT_THAT(why(path_), HasSubstr("15 " + path_.string() +
                                    " is no whole table file (header): "
                                    "the file is empty"));
  std::ofstream(path_) << "SQLite format 3 and so on";
  EXPECT_THAT(why(path_), HasSubstr("9 " + path_.string() +
                                    " cannot be read as a table file: it does not begin as"));
  std::string bytes = encode_table(content_of(RandomDecisions(1).make(2)));
  bytes[8] = 4;
  std::ofstream(path_) << bytes;
  EXPECT_THAT(why(path_),
              HasSubstr("9 " + path_.string() +
                        ": table file of version 4; this colltune reads versions 1 to 3"));
}

/// Version 1 never changes: neither the sections nor the fields of what they describe. If this
/// fails, the version must be raised.
TEST(TableFile, BytesOfVersionOneAreTheSameForever) {
  DecisionSet set{.generation = {"store", 7, "content"},
                  .decisions = {decision(test_key(1024), {ranked("cpu.ring{n=1}", 500, 1.5),
                                                          ranked("mpi.default", 750, 1)}),
                                decision(test_key(4096), {ranked("mpi.default", 2000, 1)})},
                  .environments = {{digest_of(test_environment()), test_environment()}}};
  const std::string bytes = encode_table(content_of(set));
  EXPECT_EQ(digest_of_text(bytes), "2671621a59805d4a63475d14deb9d710");
}

TEST(TableFile, OneWithUnequalCountsIsOfVersionTwo) {
  Decision of_counts =
      decision(test_key(4096), {ranked("cpu.ring{n=1}", 500, 1.5), ranked("mpi.default", 750, 1)});
  of_counts.key.problem.collective = Collective::all_gather;
  of_counts.key.problem.reduce_op = ReduceOp::none;
  Decision of_equal = of_counts;
  of_equal.ranked = {ranked("mpi.default", 2000, 1)};
  of_counts.key.problem.counts = Counts::one_large;
  DecisionSet set{.generation = {"store", 7, "content"},
                  .decisions = {of_counts, of_equal},
                  .environments = {{digest_of(test_environment()), test_environment()}}};
  const std::string bytes = encode_table(content_of(set));
  EXPECT_EQ(bytes[8], 2);
  const TableFile file(bytes, "table");
  EXPECT_EQ(file.read_decisions(), set);
  const auto winner_of = [&](Counts counts) -> std::string {
    for (TableView::Group group = 0; group < file.view().groups().size(); ++group) {
      const Problem problem = unpack_problem(file.view().groups()[group].key.problem);
      if (problem.counts != counts) continue;
      const auto answer = file.view().find(group, {4096});
      if (answer) return std::string(file.view().variant(answer->variant).text);
    }
    return "none";
  };
  EXPECT_EQ(winner_of(Counts::one_large), "cpu.ring{n=1}");
  EXPECT_EQ(winner_of(Counts::equal), "mpi.default");
}

}  // namespace
}  // namespace colltune::testing
