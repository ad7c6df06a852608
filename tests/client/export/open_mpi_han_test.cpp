// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Files of rules for Open MPI's coll/han. What its reader does with them was observed in 4.1.4,
// with coll_han_dump_dynamic_rules; tests/deploy/open_mpi_han_test.py runs the most important of
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "colltune/export/export_open_mpi_han.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr OpenMpiRelease v4_1 = OpenMpiRelease::v4_1;
constexpr int allgather = 0;
constexpr int allreduce = 2;
constexpr int barrier = 6;
constexpr int bcast = 7;

Environment environment(const std::string& library = "Open MPI v4.1.4") {
  Environment with = testing::test_environment();
  with.mpi_library = library;
  return with;
}

RankedVariant ranked(const std::string& text, int median_ns) {
  RankedVariant one = testing::ranked(text, median_ns, 1);
  one.family = "mpi";
  one.is_baseline = text.find_first_of("{", 0) == std::string::npos && !text.ends_with("_han");
  return one;
}

const RankedVariant baseline = ranked("mpi.all_reduce", 1000);
const RankedVariant faster = ranked("mpi.all_reduce_han", 500);
const RankedVariant slower = ranked("mpi.all_reduce_han", 2000);
const RankedVariant ring = ranked("mpi.all_reduce_tuned{algorithm=ring}", 400);

Decision decision(std::uint64_t bytes, std::vector<RankedVariant> variants, int nodes = 2,
                  int ranks_per_node = 2) {
  Topology topology = testing::test_topology();
  topology.nodes = nodes;
  topology.ranks_per_node = ranks_per_node;
  topology.ranks = nodes * ranks_per_node;
  topology.interconnect = nodes > 1 ? "network" : "shared-memory";
  Decision made = testing::decision(testing::test_key(bytes, topology), std::move(variants), "mpi");
  made.key.environment_digest = digest_of(environment());
  return made;
}

OpenMpiHanExport exported(std::vector<Decision> decisions, OpenMpiRelease release = v4_1,
                          const std::string& library = "Open MPI v4.1.4") {
  const Environment with = environment(library);
  return export_open_mpi_han({.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
                              .decisions = std::move(decisions),
                              .environments = {{digest_of(environment()), with}}},
                             release);
}

/// The component that a rule names; "none" where no rule fits.
std::string named(const HanRules& rules, std::int64_t ranks, std::uint64_t bytes,
                  int collective = allreduce, HanLevel level = HanLevel::whole) {
  const HanRule* const rule = han_rule_for(rules, collective, level, ranks, bytes);
  return rule == nullptr ? "none" : std::string(name_of(rule->component));
}

std::string message_of(const std::function<void()>& act, StatusCode expected) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "it threw nothing";
  return {};
}

// ---- From decisions to rules

TEST(ExportHan, NamesItWhereItBeatTheDefaultAndLeavesTheRest) {
  const auto made = exported({decision(64, {baseline, slower}), decision(4096, {faster, baseline}),
                              decision(65536, {ring, faster, baseline})});
  EXPECT_EQ(made.keys, 3);
  EXPECT_EQ(made.changed, 2);
  EXPECT_EQ(named(made.rules, 4, 0), "self");
  EXPECT_EQ(named(made.rules, 4, 512), "self");
  EXPECT_EQ(named(made.rules, 4, 543), "self");  // half-way, and up to a gain of 2 %
  EXPECT_EQ(named(made.rules, 4, 544), "han");
  EXPECT_EQ(named(made.rules, 4, 65536), "han") << "coll/tuned's algorithms are not its business";
  // Beyond what was measured the default stays: in size, and in ranks on both sides.
  EXPECT_EQ(named(made.rules, 4, 65537), "self");
  EXPECT_EQ(named(made.rules, 3, 4096), "self");
  EXPECT_EQ(named(made.rules, 5, 4096), "self");
  EXPECT_EQ(named(made.rules, 1, 4096), "self");
}

TEST(ExportHan, ACollectiveWithoutARuleWouldRunItSoEachHasOne) {
  const auto made = exported({decision(4096, {faster, baseline})});
  for (const HanCollective& collective : han_collectives()) {
    if (!collective.is_between_hosts) continue;
    EXPECT_NE(named(made.rules, 2, 0, collective.number), "none") << collective.name;
    if (collective.number == allreduce) continue;
    EXPECT_EQ(named(made.rules, 4, 4096, collective.number), "self") << collective.name;
  }
  EXPECT_EQ(named(made.rules, 4, 0, barrier), "self");
  // Inside and between hosts nothing is said: there it runs as it was measured.
  EXPECT_EQ(named(made.rules, 2, 4096, allreduce, HanLevel::inside), "none");
  EXPECT_EQ(named(made.rules, 2, 4096, allreduce, HanLevel::between), "none");
}

TEST(ExportHan, KeepsWhatItSaysWhenItIsReadBack) {
  const auto made = exported({decision(64, {baseline, slower}), decision(4096, {faster, baseline}),
                              decision(4096, {faster, baseline}, 2, 4)});
  const std::string text = print_han_rules(made.rules, made.comment);
  EXPECT_THAT(text,
              AllOf(HasSubstr("# rules for coll/han of Open MPI 4.1.x, measured with Open MPI "
                              "v4.1.4\n"),
                    HasSubstr(", generation 3 (d), environment " + digest_of(environment())),
                    HasSubstr("calling=each, input=rewritten"),
                    HasSubstr("OMPI_MCA_coll_han_priority=40"), HasSubstr("on every host")));
  const CheckedHanRules checked = check_han_rules(text);
  ASSERT_TRUE(checked.rules) << checked.why_dropped;
  EXPECT_EQ(*checked.rules, made.rules);
  EXPECT_THAT(checked.failing, IsEmpty());
  EXPECT_THAT(checked.remarks, IsEmpty());
}

TEST(ExportHan, RulesOfBlocksCompareWithOneRanksBlock) {
  Decision gathered =
      decision(4096, {ranked("mpi.all_gather_han", 500), ranked("mpi.all_gather", 900)});
  gathered.key.problem.collective = Collective::all_gather;
  gathered.key.problem.reduce_op = ReduceOp::none;
  const auto made = exported({gathered});
  EXPECT_EQ(named(made.rules, 4, 1023, allgather), "self");
  EXPECT_EQ(named(made.rules, 4, 1024, allgather), "han");
  EXPECT_EQ(named(made.rules, 4, 1025, allgather), "self");
}

TEST(ExportHan, NoMemberOfARuleIsBelowItsBaseline) {
  Decision other_type = decision(4096, {baseline, slower});
  other_type.key.problem.data_type = DataType::f64;
  const auto unlike = exported({decision(4096, {faster, baseline}), other_type});
  EXPECT_EQ(unlike.keys, 2);
  EXPECT_EQ(unlike.changed, 0);
  EXPECT_EQ(named(unlike.rules, 4, 4096), "self");
  // Layouts of as many ranks share a rule, too.
  const auto layouts = exported(
      {decision(4096, {faster, baseline}, 2, 2), decision(4096, {baseline, slower}, 4, 1)});
  EXPECT_EQ(named(layouts.rules, 4, 4096), "self");
  Decision alike = decision(4096, {faster, baseline}, 4, 1);
  EXPECT_EQ(named(exported({decision(4096, {faster, baseline}), alike}).rules, 4, 4096), "han");
}

TEST(ExportHan, SaysWhatItLeavesOut) {
  Decision exchanged = decision(4096, {ranked("mpi.all_to_all", 900)});
  exchanged.key.problem.collective = Collective::all_to_all;
  exchanged.key.problem.reduce_op = ReduceOp::none;
  const auto made = exported(
      {decision(4096, {faster, baseline}), decision(4096, {ring, baseline}, 1, 4), exchanged});
  EXPECT_EQ(made.keys, 1);
  EXPECT_THAT(made.left_out, Contains(HasSubstr("coll/han has nothing for all_to_all")));
  EXPECT_THAT(made.left_out, Contains(HasSubstr("ranks that all are on one host")));
}

TEST(ExportHan, SaysWhyThereIsNothing) {
  const auto refused = [](std::vector<Decision> decisions, OpenMpiRelease release,
                          const std::string& library, StatusCode code) {
    return message_of([&] { (void)exported(std::move(decisions), release, library); }, code);
  };
  EXPECT_THAT(refused({decision(64, {ring, baseline}, 1, 4)}, v4_1, "Open MPI v4.1.4",
                      StatusCode::not_found),
              AllOf(HasSubstr("on several nodes"), HasSubstr("on one host")));
  EXPECT_THAT(
      refused({decision(64, {ring, baseline})}, v4_1, "Open MPI v4.1.4", StatusCode::not_found),
      HasSubstr("no decision has measured it"));
  EXPECT_THAT(
      refused({decision(64, {faster, baseline})}, v4_1, "Open MPI v5.0.7", StatusCode::not_found),
      HasSubstr("measured with Open MPI v5.0.7"));
  EXPECT_THAT(refused({decision(64, {faster, baseline})}, OpenMpiRelease::v5_0, "Open MPI v5.0.7",
                      StatusCode::invalid_argument),
              HasSubstr("known for Open MPI 4.1.x alone, not for 5.0.x"));
}

// ---- What 4.1.4 does with any file

/// A file with these rules for allreduce of all ranks.
std::string allreduce_file(const std::string& rules, int sizes) {
  return "1\nallreduce\n1\n2\n1\n1 " + std::to_string(sizes) + "\n" + rules;
}

TEST(CheckHan, TakesNumbersAndNamesOfCollectivesButOnlyNamesOfComponents) {
  const CheckedHanRules by_name = check_han_rules(allreduce_file("0 self\n1024 han\n", 2));
  ASSERT_TRUE(by_name.rules) << by_name.why_dropped;
  EXPECT_EQ(named(*by_name.rules, 7, 1023), "self");
  EXPECT_EQ(named(*by_name.rules, 7, 1024), "han");
  const CheckedHanRules by_number = check_han_rules("# c\n1\n2 1 2 1 1 2 0 self\n1024 han # x\n");
  ASSERT_TRUE(by_number.rules) << by_number.why_dropped;
  EXPECT_EQ(*by_number.rules, *by_name.rules);
  EXPECT_EQ(check_han_rules(allreduce_file("0 self\n1024 6\n", 2)).why_dropped,
            "line 8: there is no component '6'; allowed are self, basic, libnbc, tuned, sm, adapt, "
            "han");
}

TEST(CheckHan, SaysAtWhichLineAFileIsDropped) {
  const auto why = [](const std::string& text) { return check_han_rules(text).why_dropped; };
  EXPECT_EQ(why(""), "it ends at line 1, where the number of collectives is expected");
  EXPECT_EQ(why("0\n"), "line 1: the number of collectives is 0; at least 1 is allowed");
  EXPECT_THAT(why("1\nAllreduce\n1\n"), HasSubstr("line 2: there is no collective 'Allreduce'"));
  EXPECT_THAT(why("1 x\n2 1 2 1 1 1 0 han\n"), HasSubstr("line 1: there is no collective 'x'"));
  EXPECT_THAT(why("1\n22\n1\n2\n1\n1 1\n0 han\n"),
              HasSubstr("no collective '22'; allowed are 0 to 21"));
  EXPECT_THAT(why("1\n2#allreduce\n1\n2\n1\n1 1\n0 han\n"),
              HasSubstr("no collective '2#allreduce'"));
  EXPECT_THAT(why("1\n2\n-1\n2\n"), HasSubstr("line 3: how many levels follow is -1"));
  EXPECT_THAT(why("1\n2\n1\n3\n1\n1 1\n0 han\n"), HasSubstr("line 4: there is no level 3"));
  EXPECT_EQ(why("1\n2\n1\n2\n1\n4 1\n0 han\n"),
            "line 6: the first communicator size of a level is 4; it must be 1");
  EXPECT_THAT(why("1\n2\n1\n2\n1\n0 1\n0 han\n"), HasSubstr("a communicator size is 0"));
  EXPECT_EQ(why(allreduce_file("64 han\n", 1)),
            "line 7: the first message size is 64; it must be 0");
  EXPECT_EQ(why(allreduce_file("0 han\n", 2)),
            "it ends at line 8, where a message size is expected");
  EXPECT_THAT(why(allreduce_file("0 HAN\n", 1)), HasSubstr("no component 'HAN'"));
  EXPECT_THAT(why(allreduce_file("0 han#x\n", 1)), HasSubstr("no component 'han#x'"));
  // Message sizes are decimal: 0, and then a word.
  EXPECT_THAT(why(allreduce_file("0 han\n0x10 self\n", 2)), HasSubstr("no component 'x10'"));
  // One error later the rules before it are gone, too.
  EXPECT_FALSE(check_han_rules("2\n7 1 2 1 1 1 0 self\n2 1 2 1 1 1 0 star\n").rules);
}

TEST(CheckHan, CountsAreOctalAndHexadecimalAndSizesAreNot) {
  const CheckedHanRules checked =
      check_han_rules("1\n2\n1\n2\n3\n1 1\n0 self\n010 2\n0 self\n010 han\n0x10 1\n0 self\n");
  ASSERT_TRUE(checked.rules) << checked.why_dropped;
  EXPECT_EQ(named(*checked.rules, 7, 10), "self");
  EXPECT_EQ(named(*checked.rules, 8, 9), "self");
  EXPECT_EQ(named(*checked.rules, 8, 10), "han");
  EXPECT_EQ(named(*checked.rules, 16, 10), "self");
}

TEST(CheckHan, SurprisesAreSaid) {
  const auto remarks = [](const std::string& text) {
    const CheckedHanRules checked = check_han_rules(text);
    EXPECT_TRUE(checked.rules) << checked.why_dropped;
    return checked.remarks;
  };
  EXPECT_THAT(remarks("1\n2\n1\n2\n2\n1 1\n0 self\n010 1\n0 self\n"),
              Contains("line 8: 010 is read as 8"));
  EXPECT_THAT(remarks(allreduce_file("0 self\n-5 han\n", 2)),
              Contains("line 8: message size -5 is read as 18446744073709551611"));
  EXPECT_THAT(remarks(allreduce_file("0 self\n", 1)),
              Contains("bcast: has no rule for all ranks, so coll/han runs it"));
  EXPECT_THAT(remarks(allreduce_file("1 han\n", 1)),
              Contains(HasSubstr("messages of 0 bytes have no rule")));
  EXPECT_THAT(remarks(allreduce_file("0 self\n1024 han\n512 self\n", 3)),
              Contains(HasSubstr("the message sizes do not ascend at 512 bytes")));
  EXPECT_THAT(remarks("1\n3\n1\n2\n1\n1 1\n0 han\n"),
              Contains("alltoall: coll/han has nothing for it, so these rules are never used"));
  EXPECT_THAT(remarks("1\n1\n1\n2\n1\n1 1\n0 han\n"),
              Contains(HasSubstr("allgatherv, all ranks: coll/han has no algorithm for it there")));
  EXPECT_THAT(
      remarks("1\n2\n1\n0\n1\n1 1\n0 basic\n"),
      Contains(HasSubstr("allreduce, inside a host: 4.1.4 looks up no rule of this level")));
  EXPECT_THAT(remarks("2\n2 1 2 1 1 1 0 han\n2 1 2 1 1 1 0 self\n"),
              Contains(HasSubstr("allreduce: comes again below")));
  EXPECT_THAT(remarks(allreduce_file("0 sm\n", 1)),
              Contains(HasSubstr("coll/sm has no such call here")));
  EXPECT_THAT(remarks(allreduce_file("0 self\n\n5 5 5\n", 1)),
              Contains("line 9: what stands here and below is not read"));
  EXPECT_THAT(remarks("1 # y\n2\n1\n two 2\n1\n1 1\n0 self\n"),
              Contains("line 4: 'two' is passed over, where a number is expected"));
  EXPECT_THAT(remarks("1\n2\n1\n2\n3\n1 1\n0 self\n8 1\n0 han\n4 1\n0 self\n"),
              Contains(HasSubstr("the communicator sizes do not ascend at 4")));
}

TEST(CheckHan, TheLastRuleThatFitsCounts) {
  const auto rules = check_han_rules(allreduce_file("0 self\n1024 han\n512 self\n", 3)).rules;
  ASSERT_TRUE(rules);
  EXPECT_EQ(named(*rules, 4, 600), "self");
  EXPECT_EQ(named(*rules, 4, 4096), "self") << "and never han";
  const auto twice = check_han_rules("2\n2 1 2 1 1 1 0 han\n2 1 2 1 1 1 0 self\n").rules;
  ASSERT_TRUE(twice);
  EXPECT_EQ(named(*twice, 4, 0), "self");
  const auto empty = check_han_rules("1\n2\n1\n2\n0\n").rules;
  ASSERT_TRUE(empty);
  EXPECT_EQ(named(*empty, 4, 0), "none");
}

TEST(CheckHan, AnotherComponentForAllreduceEndsTheProgram) {
  for (const std::string component : {"tuned", "basic"}) {
    const CheckedHanRules checked =
        check_han_rules(allreduce_file("0 self\n1000 " + component + "\n", 2));
    ASSERT_TRUE(checked.rules);
    EXPECT_THAT(
        checked.failing,
        ElementsAre(AllOf(HasSubstr("allreduce of 1 ranks and more: from 1000 bytes on every "
                                    "call ends the program"),
                          HasSubstr("names " + component))));
  }
  const CheckedHanRules other = check_han_rules("1\nbcast\n1\n2\n1\n1 1\n0 tuned\n");
  EXPECT_THAT(other.failing, IsEmpty());
  EXPECT_EQ(named(*other.rules, 4, 0, bcast), "tuned");
  EXPECT_THAT(other.remarks, Not(Contains(HasSubstr("bcast"))));
}

}  // namespace
}  // namespace colltune
