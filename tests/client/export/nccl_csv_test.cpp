// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Files of NVIDIA's example tuner plug-in: what is written of decisions, and what the plug-in makes
// of any file, by the rules of its source (plugins/tuner/example/plugin.c of NCCL 2.28 to 2.30).
// That source is not here; compiled elsewhere, it did what `nccl_csv_rule_for` says in each of
// 144,000 calls under 4,000 random files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "colltune/export/export_nccl.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using nccl::Algorithm;
using nccl::Function;
using nccl::Protocol;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Environment environment() {
  Environment with = testing::test_environment();
  with.nccl_version = "2.28.3";
  return with;
}

RankedVariant own(int median_ns, const std::string& name = "nccl.all_reduce") {
  RankedVariant one = testing::ranked(name, median_ns, 1);
  one.family = "nccl";
  one.is_baseline = true;
  return one;
}
RankedVariant forced(const std::string& settings, int median_ns, double speedup) {
  RankedVariant one =
      testing::ranked("nccl.all_reduce_forced{" + settings + "}", median_ns, speedup);
  one.family = "nccl";
  return one;
}
const std::string tree = "algorithm=tree,channels=0,protocol=ll";
const std::string ring = "algorithm=ring,channels=4,protocol=simple";
const std::string nvls_tree = "algorithm=nvlstree,channels=0,protocol=simple";

Decision decision(std::uint64_t bytes, std::vector<RankedVariant> variants) {
  Decision made = testing::decision(testing::test_key(bytes), std::move(variants), "nccl");
  made.key.environment_digest = digest_of(environment());
  return made;
}

NcclExport exported(std::vector<Decision> decisions) {
  return export_nccl({.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
                      .decisions = std::move(decisions),
                      .environments = {{digest_of(environment()), environment()}}});
}

std::pair<StatusCode, std::string> refusal(std::vector<Decision> decisions) {
  try {
    (void)exported(std::move(decisions));
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {StatusCode::internal, "nothing was refused"};
}

const NcclCsvRule* used(const std::vector<NcclCsvRule>& rules, std::uint64_t bytes, int ranks = 2) {
  return nccl_csv_rule_for(rules,
                           {.function = Function::all_reduce, .bytes = bytes, .ranks = ranks});
}

// ---- From decisions to lines

TEST(ExportNccl, CoversAllSizesOfAWorldAndNoOther) {
  const auto made = exported({decision(64, {forced(tree, 500, 2), own(1000)}),
                              decision(4096, {forced(ring, 500, 2), own(1000)}),
                              decision(65536, {forced(nvls_tree, 500, 2), own(1000)})});
  EXPECT_EQ(made.keys, 3);
  EXPECT_EQ(made.displaced, 3);
  ASSERT_EQ(made.rules.size(), 3U);
  EXPECT_EQ(used(made.rules, 0)->algorithm, Algorithm::tree);
  EXPECT_EQ(used(made.rules, 512)->algorithm, Algorithm::tree);  // the geometric mean
  EXPECT_EQ(used(made.rules, 513)->algorithm, Algorithm::ring);
  EXPECT_EQ(used(made.rules, 513)->channels, 4);
  EXPECT_EQ(used(made.rules, 16385)->algorithm, Algorithm::nvls_tree);
  // Also beyond 4 GiB, where NVIDIA's own examples end.
  EXPECT_EQ(used(made.rules, largest_nccl_message)->algorithm, Algorithm::nvls_tree);
  EXPECT_EQ(used(made.rules, 64, 4), nullptr);
}

TEST(ExportNccl, SaysThatLaterOnesMayTakeFewerChannels) {
  const auto says_so = [](Decision made, const std::string& measured_with) {
    Environment with = environment();
    with.nccl_version = measured_with;
    made.key.environment_digest = digest_of(with);
    const auto exported = export_nccl({.generation = {.store_uuid = "s", .number = 3},
                                       .decisions = {made},
                                       .environments = {{digest_of(with), with}}});
    return std::ranges::any_of(exported.comment, [](const std::string& line) {
      return line.find("fewer than were measured") != std::string::npos;
    });
  };
  const Decision with_channels = decision(64, {forced(ring, 500, 2), own(1000)});
  EXPECT_TRUE(says_so(with_channels, "2.30.7"));
  EXPECT_FALSE(says_so(with_channels, "2.31.2"));
  EXPECT_FALSE(says_so(decision(64, {forced(tree, 500, 2), own(1000)}), "2.30.7"));
}

TEST(ExportNccl, IsReadBackAsItWasMeant) {
  const auto made = exported({decision(64, {forced(tree, 500, 2), own(1000)}),
                              decision(65536, {forced(nvls_tree, 500, 2), own(1000)})});
  const std::string text = print_nccl_csv(made.rules, made.comment);
  const auto checked = check_nccl_csv(text);
  EXPECT_EQ(checked.rules, made.rules);
  EXPECT_THAT(checked.mistaken, IsEmpty());
  EXPECT_THAT(text, HasSubstr("\nallreduce,0,2048,tree,ll,0,1,2\n"
                              "allreduce,2049,18446744073709551615,nvls_tree,simple,0,1,2\n"));
  EXPECT_THAT(text, HasSubstr("generation 3 (d), environment " + digest_of(environment())));
  EXPECT_THAT(text, HasSubstr("calling=each, input=rewritten"));
  // Neither channels nor ranks nor nodes are wild: -1 channels would be one.
  EXPECT_THAT(text, Not(HasSubstr("-1")));
}

TEST(ExportNccl, NoLineIsLongerThanTheReadersBuffer) {
  std::vector<std::string> comment{std::string(1000, 'x'), "a line of " + std::string(300, 'y')};
  for (int i = 0; i < 80; ++i) comment.back() += " allreduce,0,1,tree,ll,1,1,2";
  const std::string text = print_nccl_csv({}, comment);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 255U);
    EXPECT_TRUE(line.starts_with("#"));
  }
  // The rest of a longer comment would be a line of its own.
  EXPECT_THAT(check_nccl_csv(text).rules, IsEmpty());
  EXPECT_THAT(check_nccl_csv(text).mistaken, IsEmpty());
}

TEST(ExportNccl, AnEquallyFastChoiceStandsForTheDefaultSinceTheFormatCannotSayIt) {
  const auto made =
      exported({decision(64, {forced(tree, 500, 2), own(1000)}),
                decision(4096, {own(1000), forced(ring, 1010, 0.99), forced(tree, 1500, 0.66)})});
  EXPECT_EQ(made.displaced, 1);
  EXPECT_EQ(used(made.rules, 4096)->algorithm, Algorithm::ring);
  EXPECT_THAT(made.comment,
              Contains(HasSubstr("NCCL's own choice stays, which the format cannot say")));
  EXPECT_THAT(made.comment, Contains(HasSubstr("allreduce of 2 ranks on 1 node(s) at 4096 bytes")));
}

TEST(ExportNccl, WhereTheDefaultMustStayThereIsNoFile) {
  const auto [code, text] = refusal({decision(64, {own(1000), forced(ring, 1500, 0.66)}),
                                     decision(4096, {forced(tree, 500, 2), own(1000)})});
  EXPECT_EQ(code, StatusCode::not_found);
  EXPECT_THAT(text, HasSubstr("it cannot leave a call to NCCL"));
  EXPECT_THAT(text, HasSubstr("allreduce of 2 ranks on 1 node(s) at 64 bytes"));
  EXPECT_THAT(text, Not(HasSubstr("at 4096")));
  EXPECT_THAT(text, HasSubstr("colltune's own tuner"));
  EXPECT_THAT(refusal({decision(64, {own(1000), forced(ring, 1000, 1)})}).second,
              HasSubstr("nothing was proven to beat NCCL's own choice"));
}

TEST(ExportNccl, TakesWhatIsProvenForAllTypesThatALineCannotTellApart) {
  Decision other = decision(64, {forced(tree, 400, 2.5), forced(ring, 600, 1.6), own(1000)});
  other.key.problem.data_type = DataType::f64;
  // ring: 1 and 1.5 times the fastest; tree: 1.2 and 1.
  const auto made =
      exported({decision(64, {forced(ring, 500, 2), forced(tree, 600, 1.6), own(1000)}), other});
  EXPECT_EQ(used(made.rules, 64)->algorithm, Algorithm::tree);
  EXPECT_EQ(made.keys, 2);
}

TEST(ExportNccl, LeavesOutWhatTheTunerIsNotAskedAbout) {
  const auto with = [](auto&& change) {
    Decision one = decision(64, {forced(tree, 500, 2), own(1000)});
    change(one.key);
    return one;
  };
  const std::vector<Decision> others{
      with([](TuningKey& key) { key.problem.collective = Collective::gather; }),
      with([](TuningKey& key) { key.problem.registered = true; }),
      with([](TuningKey& key) { key.problem.graph_capture = true; }),
      with([](TuningKey& key) { key.calling = Calling::persistent; }),
      with([](TuningKey& key) { key.problem.numeric_class = NumericClass::rank_order; })};
  std::vector<Decision> all = others;
  all.push_back(with([](TuningKey&) {}));
  EXPECT_THAT(exported(all).left_out,
              ElementsAre("NCCL asks no tuner about buffers in symmetric windows",
                          "NCCL asks no tuner about gather", "NCCL does not promise rank_order",
                          HasSubstr("calls that were prepared once")));
  EXPECT_EQ(exported(all).keys, 1);
  const auto [code, text] = refusal(others);
  EXPECT_EQ(code, StatusCode::not_found);
  EXPECT_THAT(text, HasSubstr("left out: NCCL asks no tuner about gather"));
}

// ---- What the plug-in makes of a file

TEST(CheckNcclCsv, UnknownWordsBecomeAllreduceRingAndSimple) {
  const auto checked = check_nccl_csv("all_gather,0,100,Tree,LL,2,1,8\n");
  ASSERT_EQ(checked.rules.size(), 1U);
  EXPECT_EQ(checked.rules[0].function, Function::all_reduce);
  EXPECT_EQ(checked.rules[0].algorithm, Algorithm::ring);
  EXPECT_EQ(checked.rules[0].protocol, Protocol::simple);
  EXPECT_THAT(
      checked.mistaken,
      ElementsAre(HasSubstr("line 1: 'all_gather' is no collective, and without a word the "
                            "plug-in takes allreduce; allowed are broadcast, reduce, allgather"),
                  HasSubstr("'Tree' is no algorithm, and without a word the plug-in takes ring"),
                  HasSubstr("'LL' is no protocol, and without a word the plug-in takes simple")));
}

TEST(CheckNcclCsv, NumbersAreReadAsCReadsThem) {
  const auto checked =
      check_nccl_csv("allreduce,1K,-1,ring,ll,x,1,8\r\nallreduce,9,3,ring,ll,65,1,8\n");
  ASSERT_EQ(checked.rules.size(), 2U);
  EXPECT_EQ(checked.rules[0].least, 1U);
  EXPECT_EQ(checked.rules[0].most, largest_nccl_message);
  EXPECT_EQ(checked.rules[0].channels, 0);
  EXPECT_EQ(checked.rules[0].ranks, 8);
  EXPECT_THAT(checked.mistaken,
              ElementsAre(HasSubstr("'1K' is read as 1 bytes"),
                          HasSubstr("'-1' is read as 18446744073709551615 bytes"),
                          HasSubstr("'x' is read as 0 channels"),
                          HasSubstr("line 2: no size is at least 9 and at most 3"),
                          HasSubstr("line 2: 65 channels: NCCL has up to 64")));
}

TEST(CheckNcclCsv, ShortLinesArePassedOverAndEmptyFieldsMoveTheRest) {
  const auto checked = check_nccl_csv(
      "# a comment\n\n # no comment\nallreduce,0,100,ring\nallreduce,0,,100,ring,ll,1,1,8\n"
      "allreduce,0,5,ring,ll,1,1,8,2,1,surplus\n");
  ASSERT_EQ(checked.rules.size(), 2U);
  EXPECT_EQ(checked.rules[0].most, 100U);
  EXPECT_EQ(checked.rules[1].pipe_operations, 2);
  EXPECT_EQ(checked.rules[1].registered, 1);
  EXPECT_THAT(checked.mistaken, ElementsAre(HasSubstr("line 3: it has 1 fields"),
                                            HasSubstr("line 4: it has 4 fields"),
                                            HasSubstr("line 5: an empty field is none"),
                                            HasSubstr("line 6: what follows the field 10")));
}

TEST(CheckNcclCsv, ALongLineGoesOnAsAnother) {
  // 255 bytes are read at a time, also of comments.
  std::string line = "# " + std::string(253, 'x') + "allreduce,0,7,tree,ll,1,1,2\n";
  const auto checked = check_nccl_csv(line);
  ASSERT_EQ(checked.rules.size(), 1U);
  EXPECT_EQ(checked.rules[0].most, 7U);
  EXPECT_THAT(checked.mistaken, ElementsAre(HasSubstr("the rest is read as another line")));
}

TEST(CheckNcclCsv, SaysWhichCallsRunOnOneChannel) {
  const auto checked = check_nccl_csv(
      "allreduce,0,4294967295,ring,ll128,-1,-1,-1,4,-1\n"
      "allgather,10,20,ring,simple,4,2,16\n");
  EXPECT_THAT(checked.mistaken, IsEmpty());
  for (const char* const part :
       {"line 1: channels -1 means ONE channel",
        "allreduce of any ranks on any nodes, 4 aggregated calls, from 4294967296 bytes on: no "
        "line, so NCCL's "
        "own algorithm on ONE channel",
        "allgather of 16 ranks on 2 nodes, 0 to 9 bytes: no line",
        "allgather of 16 ranks on 2 nodes, from 21 bytes on: no line",
        "broadcast: no line, so NCCL's own algorithm on ONE channel for all sizes"})
    EXPECT_THAT(checked.remarks, Contains(HasSubstr(part)));
  // Without any line all of them do.
  EXPECT_EQ(check_nccl_csv("").remarks.size(), 5U);
}

TEST(CheckNcclCsv, TheFirstLineThatFitsIsFollowed) {
  const auto checked = check_nccl_csv(
      "allreduce,0,99,tree,ll,0,-1,-1\nallreduce,100,200,ring,ll,0,1,2\n"
      "allreduce,50,150,nvls,simple,0,1,2\nallreduce,10,20,pat,simple,0,1,2\n");
  EXPECT_EQ(used(checked.rules, 60)->algorithm, Algorithm::tree);
  EXPECT_EQ(used(checked.rules, 120)->algorithm, Algorithm::ring);
  EXPECT_THAT(checked.remarks, Contains("line 3 is never reached: lines before it fit first"));
  EXPECT_THAT(checked.remarks, Contains(HasSubstr("line 4 is never reached")));
  EXPECT_EQ(nccl_csv_rule_for(checked.rules, {.function = Function::reduce}), nullptr);
}

TEST(CheckNcclCsv, ChannelsOfCollNetAreDangerous) {
  EXPECT_THAT(check_nccl_csv("allreduce,0,99,collnet_chain,simple,8,1,2\n").mistaken,
              ElementsAre(HasSubstr("reads beyond an array")));
}

}  // namespace
}  // namespace colltune
