// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Rules in JSON for Open MPI 6, each trap of its reader (coll_tuned_dynamic_file.c of its main
// branch) a test. No such release is here to run them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "colltune/export/export_open_mpi.h"
#include "colltune/export/open_mpi_json.h"
#include "literal_decisions.h"

namespace colltune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr OpenMpiRelease v6 = OpenMpiRelease::v6_0;
constexpr int allreduce = 2;

Environment environment() {
  Environment with = testing::test_environment();
  with.mpi_library = "Open MPI v6.1.0a1";
  return with;
}

RankedVariant ranked(const std::string& text, int median_ns) {
  RankedVariant one = testing::ranked(text, median_ns, 1);
  one.family = "mpi";
  one.is_baseline = text.find('{') == std::string::npos;
  return one;
}

Decision decision(std::uint64_t bytes, std::vector<RankedVariant> variants, int nodes,
                  int per_node) {
  Decision made = testing::decision(testing::test_key(bytes), std::move(variants), "mpi");
  made.key.environment_digest = digest_of(environment());
  made.key.topology.nodes = nodes;
  made.key.topology.ranks_per_node = per_node;
  made.key.topology.ranks = nodes * per_node;
  return made;
}

std::string exported(std::vector<Decision> decisions) {
  const auto made =
      export_open_mpi({.generation = {.store_uuid = "s", .number = 3, .content_digest = "d"},
                       .decisions = std::move(decisions),
                       .environments = {{digest_of(environment()), environment()}}},
                      v6);
  return print_open_mpi_rules(made.rules, v6, made.comment);
}

const RankedVariant baseline = ranked("mpi.all_reduce", 1000);
const RankedVariant ring = ranked("mpi.all_reduce_tuned{algorithm=ring}", 500);
const RankedVariant segmented =
    ranked("mpi.all_reduce_tuned{algorithm=segmented_ring,segment_size=65536}", 400);

int used(const OpenMpiJsonRules& rules, int ranks, std::string_view distribution,
         std::uint64_t bytes, int collective = allreduce) {
  const auto* const rule = open_mpi_rule_for(rules, collective, ranks, distribution, bytes);
  return rule == nullptr ? 0 : rule->algorithm;
}

CheckedOpenMpiJson checked(const nlohmann::json& collectives) {
  return check_open_mpi_json(
      nlohmann::json{{"rule_file_version", 3}, {"module", "tuned"}, {"collectives", collectives}}
          .dump());
}

/// One rule for all communicators.
nlohmann::json all_ranks(const nlohmann::json& rule) { return {{{"rules", {rule}}}}; }

TEST(ExportOpenMpiJson, IsReadBackAsItWasMeant) {
  const std::string text =
      exported({decision(64, {baseline, ring}, 1, 4), decision(4096, {ring, baseline}, 1, 4),
                decision(65536, {segmented, baseline}, 1, 4),
                decision(4096, {segmented, baseline}, 4, 1), decision(64, {ring, baseline}, 2, 2)});
  const auto read = check_open_mpi_json(text);
  ASSERT_TRUE(read.rules) << read.why_dropped;
  EXPECT_THAT(read.failing, IsEmpty());
  EXPECT_THAT(read.remarks, IsEmpty());
  EXPECT_EQ(used(*read.rules, 4, "single-node", 64), 0);
  EXPECT_EQ(used(*read.rules, 4, "single-node", 512), 0);
  EXPECT_EQ(used(*read.rules, 4, "single-node", 513), 4);
  EXPECT_EQ(used(*read.rules, 4, "single-node", 65536), 5);
  EXPECT_EQ(open_mpi_rule_for(*read.rules, allreduce, 4, "single-node", 65536)->segment_size,
            65536);
  // Beyond what was measured the default stays, in size and in ranks; layouts do not mix.
  EXPECT_EQ(used(*read.rules, 4, "single-node", 65537), 0);
  EXPECT_EQ(used(*read.rules, 3, "single-node", 4096), 0);
  EXPECT_EQ(used(*read.rules, 5, "single-node", 4096), 0);
  EXPECT_EQ(used(*read.rules, 4, "one-per-node", 4096), 5);
  EXPECT_EQ(used(*read.rules, 4, "one-per-node", 64), 0);
  EXPECT_EQ(used(*read.rules, 4, "other", 64), 4);
}

TEST(ExportOpenMpiJson, WritesTheReadersNamesAndNoInfinity) {
  Decision block = decision(64,
                            {ranked("mpi.reduce_scatter_tuned{algorithm=butterfly}", 500),
                             ranked("mpi.reduce_scatter", 1000)},
                            1, 4);
  block.key.problem.collective = Collective::reduce_scatter;
  const auto file =
      nlohmann::json::parse(exported({block, decision(64, {segmented, baseline}, 1, 4)}));
  EXPECT_EQ(file["rule_file_version"], 3);
  EXPECT_EQ(file["module"], "tuned");
  // The schema's reducescatter_block is no collective for the reader.
  EXPECT_TRUE(file["collectives"].contains("reduce_scatter_block"));
  const auto& world = file["collectives"]["allreduce"][0];
  EXPECT_EQ(world["comm_size_max"], 4);  // a number: "inf" would be read as -1
  EXPECT_EQ(world["comm_rank_distribution"], "single-node");
  const auto& rule = world["rules"][1];
  EXPECT_EQ(rule["seg_size"], 65536);  // the converter's segsize is passed over
  EXPECT_EQ(rule["alg"], 5);
  EXPECT_EQ(rule["msg_size_max"], 64);
  EXPECT_FALSE(world["rules"].back().contains("msg_size_max"));
  const std::string origin = file["colltune"].dump();
  EXPECT_THAT(origin, HasSubstr("generation 3 (d), environment " + digest_of(environment())));
  EXPECT_THAT(origin, HasSubstr("coll_han_priority=0"));
}

TEST(CheckOpenMpiJson, SaysWhyTheFileIsDropped) {
  const auto why = [](const nlohmann::json& collectives) {
    return checked(collectives).why_dropped;
  };
  EXPECT_THAT(check_open_mpi_json("{}").why_dropped, HasSubstr("no object 'collectives'"));
  EXPECT_THAT(check_open_mpi_json("[1]").why_dropped, HasSubstr("no object 'collectives'"));
  EXPECT_THAT(why(nlohmann::json::array()), HasSubstr("no object 'collectives'"));
  EXPECT_THAT(
      why({{"reducescatter_block", nlohmann::json::array()}}),
      HasSubstr("no collective 'reducescatter_block'; the reader's names are reduce_scatter"));
  EXPECT_THAT(why({{"allreduce", 1}}), HasSubstr("allreduce: is no list"));
  EXPECT_THAT(why({{"allreduce", {{{"comm_size_min", 2}}}}}),
              HasSubstr("allreduce[0]: has no list 'rules'"));
  EXPECT_THAT(why({{"allreduce", all_ranks({{"msg_size_min", "1K"}, {"alg", 1}})}}),
              HasSubstr("allreduce[0].rules[0]: 'msg_size_min' is \"1K\", neither a whole number"));
  EXPECT_THAT(check_open_mpi_json("nonsense").why_dropped,
              HasSubstr("it is no JSON, and of the older formats"));
}

TEST(CheckOpenMpiJson, FindsCallsThatFailAndRulesThatAreNone) {
  const auto read =
      checked({{"allreduce",
                {{{"comm_size_min", 2}, {"comm_size_max", "inf"}, {"rules", {{{"alg", "ring"}}}}},
                 {{"comm_rank_distribution", "two-per-node"},
                  {"rules",
                   {{{"alg", "rings"}},
                    {{"alg", 99}},
                    {{"msg_size_min", 5}},
                    {{"alg", 4}, {"segsize", 7}}}}}}},
               {"allgather", all_ranks({{"alg", "two_proc"}})},
               {"scatter", {{{"rules", {{{"msg_size_max", 63}, {"alg", 1}}, {{"alg", 2}}}}}}},
               {"barrier", all_ranks({{"alg", 2}})}});
  ASSERT_TRUE(read.rules) << read.why_dropped;
  for (const char* const part : {"allreduce[0]: comm_size \"inf\" is read as -1",
                                 "allgather[0]: calls of other than 2 ranks fail",
                                 "scatter[0]: ranks that are not the root"})
    EXPECT_THAT(read.failing, Contains(HasSubstr(part)));
  EXPECT_EQ(read.failing.size(), 3U);
  for (const char* const part :
       {"two-per-node is taken as any", "allreduce[1].rules[0]: there is no algorithm \"rings\"",
        "there is no algorithm 99", "names no algorithm",
        "'segsize' is passed over; the reader's name for it is seg_size"})
    EXPECT_THAT(read.remarks, Contains(HasSubstr(part)));
  // What names no algorithm of the library is as if it were not there; the next rule serves.
  EXPECT_EQ(used(*read.rules, 8, "single-node", 0), 4);
  EXPECT_EQ(used(*read.rules, 8, "single-node", 6), 0);
}

TEST(CheckOpenMpiJson, TheFirstRulesThatFitCount) {
  const auto read = checked({{"allreduce",
                              {{{"comm_size_min", 2},
                                {"comm_size_max", 8},
                                {"rules", {{{"msg_size_max", 10}, {"alg", 3}}}}},
                               {{"rules", {{{"alg", 6}}}}}}}});
  ASSERT_TRUE(read.rules) << read.why_dropped;
  EXPECT_EQ(used(*read.rules, 4, "any", 10), 3);
  EXPECT_EQ(used(*read.rules, 4, "any", 11),
            0);  // the first communicator that fits has no such rule
  EXPECT_EQ(used(*read.rules, 9, "any", 11), 6);
}

TEST(CheckOpenMpiJson, OlderFormatsAreReadWithTheirRanksShifted) {
  // Sizes 2, 4, 8: 4.1 gives 4 ranks the second block; this release the third.
  const std::string older = "1\n2\n3\n2 1\n0 1 0 0\n4 1\n0 3 0 0\n8 1\n0 4 0 0\n";
  const auto read = check_open_mpi_json(older);
  ASSERT_TRUE(read.rules) << read.why_dropped;
  EXPECT_EQ(used(*read.rules, 1, "any", 0), 1);
  EXPECT_EQ(used(*read.rules, 2, "any", 0), 3);
  EXPECT_EQ(used(*read.rules, 3, "any", 0), 3);
  EXPECT_EQ(used(*read.rules, 4, "any", 0), 4);
  EXPECT_EQ(used(*read.rules, 64, "any", 0), 4);
  EXPECT_THAT(read.remarks, Contains(HasSubstr("communicators shifted")));
}

}  // namespace
}  // namespace colltune
