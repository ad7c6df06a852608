// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The key `calls` of a configuration.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "colltune/sweep/spec/sweep_spec.h"
#include "error_of.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A configuration of these calls alone, with more keys.
std::string calls(const std::string& list, const std::string& more = "") {
  return R"({"version": 1, "calls": [)" + list + "]" + more + "}";
}

SweepSpec parsed(const std::string& text) { return parse_sweep_spec(text, "my.json"); }

std::string refusal(const std::string& text) {
  return error_of([&] { (void)parsed(text); });
}

const std::string good = R"({"collective": "all_gather", "type": "f32", "size": 64})";

TEST(Calls, AreReadWithWorldAndWeight) {
  const SweepSpec spec = parsed(calls(
      R"({"collective": "all_reduce", "type": "f64", "op": "max", "size": "64KiB",
          "nodes": 2, "ranks_per_node": 4, "weight": 12.5},
         {"collective": "broadcast", "type": "u8", "size": 1234})"));
  EXPECT_THAT(spec.calls, ElementsAre(CallSpec{.collective = Collective::all_reduce,
                                               .data_type = DataType::f64,
                                               .reduce_op = ReduceOp::max,
                                               .size = Bytes{65536},
                                               .world = WorldSpec{.nodes = 2, .ranks_per_node = 4},
                                               .weight = 12.5},
                                      CallSpec{.collective = Collective::broadcast,
                                               .data_type = DataType::u8,
                                               .reduce_op = ReduceOp::none,
                                               .size = Bytes{1234},
                                               .world = {},
                                               .weight = 1}));
  EXPECT_THAT(spec.collectives, IsEmpty());
  EXPECT_THAT(spec.sizes, IsEmpty());
}

TEST(Calls, StandBesideTheProductOrAlone) {
  const SweepSpec both =
      parsed(calls(good, R"(, "collectives": ["reduce"], "sizes": "8", "holdout_sizes": "16")"));
  EXPECT_EQ(both.calls.size(), 1U);
  EXPECT_EQ(both.collectives.size(), 1U);
  EXPECT_THAT(refusal(R"({"version": 1})"),
              AllOf(HasSubstr("my.json: /: nothing to measure"), HasSubstr("'collectives'"),
                    HasSubstr("'meshes'"), HasSubstr("'calls'")));
  EXPECT_EQ(refusal(R"({"version": 1, "calls": [)" + good + R"(], "collectives": ["reduce"]})"),
            "my.json: /: key 'sizes' is missing; 'collectives' and 'meshes' are measured at these "
            "sizes");
}

TEST(Calls, WhatBelongsToTheProductAloneIsRefusedWithoutIt) {
  for (const std::string line :
       {R"("sizes": "8")", R"("types": ["f64"])", R"("ops": ["max"])",
        R"("worlds": [{"nodes": 1, "ranks_per_node": 2}])", R"("partial_worlds": true)",
        R"("in_place": [true])", R"("registered": [true])", R"("graph_capture": [true])",
        R"("holdout_sizes": "8")"}) {
    const std::string key = line.substr(1, line.find('"', 1) - 1);
    EXPECT_THAT(refusal(calls(good, ", " + line)),
                AllOf(HasSubstr("my.json: /" + key + ": there are neither 'collectives' nor"),
                      HasSubstr("each of 'calls' says for itself")))
        << line;
  }
}

TEST(Calls, ErrorsNameThePlaceWhatWasFoundAndWhatIsAllowed) {
  const auto call = [](const std::string& members) {
    return refusal(calls(good + ", {" + members + "}"));
  };
  const std::string reduce = R"("collective": "reduce", "type": "f32", "size": 8)";
  const std::string gather = R"("collective": "gather", "type": "f32", "size": 8)";
  EXPECT_THAT(refusal(R"({"version": 1, "calls": []})"), HasSubstr("my.json: /calls: found []"));
  EXPECT_THAT(refusal(R"({"version": 1, "calls": {}})"), HasSubstr("my.json: /calls: found {}"));
  EXPECT_THAT(refusal(calls("8")), HasSubstr("my.json: /calls/0: found 8; allowed is an object"));
  EXPECT_EQ(call(gather + R"(, "root": 1)"),
            "my.json: /calls/1: unknown key 'root'; allowed are collective, counts, nodes, op, "
            "ranks_per_node, size, type, weight");
  EXPECT_EQ(call(R"("collective": "gather", "size": 8)"),
            "my.json: /calls/1: key 'type' is missing; required are collective, type, size");
  EXPECT_THAT(call(R"("collective": "gather", "type": "f32")"), HasSubstr("key 'size' is missing"));
  EXPECT_THAT(
      call(R"("collective": "allreduce", "type": "f32", "size": 8)"),
      HasSubstr("my.json: /calls/1/collective: found \"allreduce\"; allowed are all_reduce"));
  EXPECT_THAT(call(R"("collective": "gather", "type": "double", "size": 8)"),
              HasSubstr("my.json: /calls/1/type: found \"double\"; allowed are i8"));
  EXPECT_EQ(call(reduce),
            "my.json: /calls/1: key 'op' is missing; reduce reduces, and needs one of sum, prod, "
            "min, max, avg");
  EXPECT_THAT(call(reduce + R"(, "op": "none")"),
              HasSubstr("my.json: /calls/1/op: found \"none\""));
  EXPECT_EQ(call(gather + R"(, "op": "sum")"),
            "my.json: /calls/1: key 'op' stands there, and gather does not reduce; leave it out");
  EXPECT_THAT(call(R"("collective": "gather", "type": "f32", "size": "8KB")"),
              HasSubstr("my.json: /calls/1/size: '8KB' is not a size"));
  EXPECT_THAT(call(R"("collective": "gather", "type": "f32", "size": "8,16")"),
              HasSubstr("my.json: /calls/1/size: '8,16' is not a size"));
  EXPECT_THAT(call(R"("collective": "gather", "type": "f32", "size": -1)"),
              HasSubstr("my.json: /calls/1/size: found -1"));
  EXPECT_THAT(call(R"("collective": "gather", "type": "f32", "size": "2TiB")"),
              HasSubstr("my.json: /calls/1/size: the size 2TiB is too large; at most 1TiB"));
}

TEST(Calls, AWeightIsAboveZero) {
  for (const char* const weight : {"0", "-1", "1e19", "\"12\"", "null"})
    EXPECT_THAT(refusal(calls(R"({"collective": "gather", "type": "f32", "size": 8, "weight": )" +
                              std::string(weight) + "}")),
                AllOf(HasSubstr("my.json: /calls/0/weight: found "), HasSubstr("a number above 0")))
        << weight;
}

TEST(Calls, HalfAWorldIsRefused) {
  const std::string gather = R"({"collective": "gather", "type": "f32", "size": 8, )";
  EXPECT_EQ(refusal(calls(gather + R"("nodes": 2})")),
            "my.json: /calls/0: 'nodes' stands there without 'ranks_per_node'; give both, or "
            "neither for the whole launch");
  EXPECT_EQ(refusal(calls(gather + R"("ranks_per_node": 2})")),
            "my.json: /calls/0: 'ranks_per_node' stands there without 'nodes'; give both, or "
            "neither for the whole launch");
  EXPECT_THAT(refusal(calls(gather + R"("nodes": 0, "ranks_per_node": 2})")),
              HasSubstr("my.json: /calls/0/nodes: found 0"));
}

TEST(Calls, ReachAllRanks) {
  const SweepSpec original = parsed(
      calls(good + R"(, {"collective": "reduce", "type": "f32", "op": "sum", "size": 8, "nodes": 1,
                   "ranks_per_node": 2, "weight": 0.3333333333333333})"));
  const auto planes = make_thread_control_planes(2, std::chrono::seconds(20));
  std::vector<SweepSpec> got(2);
  {
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < 2; ++rank)
      threads.emplace_back(
          [&, rank] { got[rank] = share_sweep_spec(*planes[rank], [&] { return original; }); });
  }
  EXPECT_EQ(got[0], original);
  EXPECT_EQ(got[1], original);
}

}  // namespace
}  // namespace colltune
