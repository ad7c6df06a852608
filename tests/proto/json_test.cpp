// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/json/json.h"

#include <gtest/gtest.h>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune::test {
namespace {

using nlohmann::json;

/// The value survives JSON, its text, and CBOR.
template <class T>
void expect_round_trip(const T& value) {
  const json made = to_json_value(value);
  EXPECT_EQ(from_json_value<T>(made, "x"), value);
  EXPECT_EQ(from_json_value<T>(json::parse(made.dump()), "x"), value);
  EXPECT_EQ(from_json_value<T>(json::from_cbor(json::to_cbor(made)), "x"), value);
}

template <class T>
std::string error_of(const json& bad) {
  try {
    (void)from_json_value<T>(bad, "file.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << bad.dump();
  return {};
}

TuningKey some_key() {
  return {.problem = {.collective = Collective::gather,
                      .data_type = DataType::f8e4m3,
                      .reduce_op = ReduceOp::none,
                      .message_size = {std::uint64_t{1} << 62},
                      .in_place = true,
                      .numeric_class = NumericClass::rank_order},
          .topology = {.nodes = 3,
                       .ranks_per_node = 2,
                       .ranks = 5,
                       .architectures = {{"sm_80", 2}, {"sm_90", 3}},
                       .layout_digest = "abc",
                       .interconnect = "tcp",
                       .placement = Placement::shared_device},
          .environment_digest = "e"};
}

Decision some_decision() {
  RankedVariant ranked{.variant = parse_variant("cpu.two_shot{chunk=64,way=up}"),
                       .family = "ours",
                       .protocol = "p",
                       .is_emulated = true,
                       .median = std::chrono::nanoseconds(12),
                       .low = std::chrono::nanoseconds(11),
                       .high = std::chrono::nanoseconds(INT64_MAX),
                       .speedup_over_baseline = 1.0 / 3,
                       .samples = UINT64_MAX,
                       .verified_calls = 3,
                       .rounding = Rounding::once,
                       .limits = {.data_types = {DataType::f32}, .reduce_ops = {ReduceOp::avg}}};
  return {.key = some_key(),
          .ranked = {ranked, ranked},
          .reason = "ü \"",
          .sweep_uuid = "s",
          .verdict = Verdict::undecided,
          .status = DecisionStatus::confirmed,
          .confirmation = {.launches = 5, .speedup = 1.0 / 3, .low = 0.1, .high = 1e300}};
}

TEST(Json, EveryDescribedTypeRoundTrips) {
  expect_round_trip(some_key());
  expect_round_trip(some_decision());
  Environment environment;
  visit_fields(environment, [](std::string_view name, auto& field) { field = std::string(name); });
  expect_round_trip(environment);
  expect_round_trip(Generation{"uuid", 7, "digest"});
  expect_round_trip(
      Measurement{.key = some_key(),
                  .variant = parse_variant("x{a=-1}"),
                  .is_twin = true,
                  .is_holdout = true,
                  .outcome = Outcome::crashed,
                  .detail = "line\nline",
                  .samples = {std::chrono::nanoseconds(0), std::chrono::nanoseconds(INT64_MIN),
                              std::chrono::nanoseconds(5)},
                  .slowest_ranks = {0, 1, 2},
                  .marks = {0, 7, 4},
                  .seed = UINT64_MAX,
                  .synchronization = Synchronization::window,
                  .conditions = {.steal = 1.0 / 3,
                                 .longest_gap = std::chrono::nanoseconds(1),
                                 .involuntary_switches = 2,
                                 .page_faults = 3,
                                 .throttle_events = 4,
                                 .lowest_frequency_khz = UINT64_MAX,
                                 .clock_error = std::chrono::nanoseconds(5),
                                 .kept_waiting = 1.0 / 7,
                                 .device_share = 0.3,
                                 .device_time = std::chrono::nanoseconds(46),
                                 .timed_by = "host,from=common_start,late_ranks=inside",
                                 .device_clock_khz = 1'980'000,
                                 .device_power_state = 2,
                                 .device_throttles = "power_cap,thermal",
                                 .hand_over = std::chrono::nanoseconds(47),
                                 .communicators = std::chrono::nanoseconds(48),
                                 .executed = "algorithm=ring,channels=8,protocol=ll",
                                 .executed_instead = "algorithm=tree,protocol=simple",
                                 .renewals = 2}});
  expect_round_trip(LookupAnswer{.decision = some_decision(),
                                 .source = Source::interpolated,
                                 .match = MatchLevel::nearest_size,
                                 .measured_sizes = {{1024}, {2048}},
                                 .generation = {"uuid", 7, "digest"}});
}

TEST(Json, AnEmptyOptionalIsAnAbsentKey) {
  expect_round_trip(LookupQuery{});
  EXPECT_FALSE(to_json_value(LookupQuery{}).contains("nodes"));
  // Where nobody saw whether it was kept waiting.
  expect_round_trip(Measurement{.key = some_key(), .variant = parse_variant("x")});
  const LookupQuery full{.problem = some_key().problem,
                         .nodes = 1,
                         .ranks_per_node = 2,
                         .architecture = "sm_90",
                         .environment_digest = "e",
                         .placement = Placement::oversubscribed,
                         .family = "ours",
                         .at_least = MatchLevel::exact,
                         .generation = 0};
  expect_round_trip(full);
  EXPECT_EQ(to_json_value(full).at("generation"), 0);
  for (const char* key : {"nodes", "ranks_per_node", "architecture", "environment_digest",
                          "placement", "generation"}) {
    json less = to_json_value(full);
    less.erase(key);
    const auto query = from_json_value<LookupQuery>(less, "x");
    EXPECT_EQ(to_json_value(query), less) << key;
  }
  json null = to_json_value(full);
  null["nodes"] = nullptr;
  EXPECT_EQ(error_of<LookupQuery>(null), "file.json/nodes: expected a whole number");
}

TEST(Json, AProblemWithoutAMeshHasNoKeyForOne) {
  Problem problem{.message_size = {1024}};
  expect_round_trip(problem);
  EXPECT_FALSE(to_json_value(problem).contains("mesh"));
  problem.kind = ProblemKind::mesh_reduce;
  problem.reduce_op = ReduceOp::none;
  problem.mesh = parse_mesh("2x2", "0:sum,{0,3}:avg");
  expect_round_trip(problem);
  EXPECT_EQ(to_json_value(problem)["mesh"], json::parse(R"({"shape": [2, 2], "steps": [
    {"op": "sum", "dimension": 0, "groups": []}, {"op": "avg", "groups": [0, 1, 2, 0]}]})"));
}

TEST(Json, HasTheDocumentedForm) {
  const json made = to_json_value(some_decision());
  EXPECT_EQ(made["ranked"][0]["variant"], "cpu.two_shot{chunk=64,way=up}");
  EXPECT_EQ(made["ranked"][0]["median_ns"], 12);
  EXPECT_EQ(made["key"]["problem"]["message_size_bytes"], std::uint64_t{1} << 62);
  EXPECT_EQ(made["key"]["problem"]["collective"], "gather");
}

/// The error for a decision with `value` at `pointer`.
std::string error_with(const char* pointer, const json& value) {
  json bad = to_json_value(some_decision());
  bad[json::json_pointer(pointer)] = value;
  return error_of<Decision>(bad);
}

TEST(Json, ErrorsNamePathAndWhatIsAllowed) {
  EXPECT_EQ(error_with("/key/problem/data_type", "f31"),
            "file.json/key/problem/data_type: unknown data type 'f31'; allowed are i8, u8, i32, "
            "u32, i64, u64, f16, bf16, f32, f64, f8e4m3, f8e5m2");
  EXPECT_EQ(error_with("/key/problem/kind", 0),
            "file.json/key/problem/kind: expected one of collective, mesh_reduce");
  EXPECT_EQ(error_with("/key/problem/in_place", 1),
            "file.json/key/problem/in_place: expected true or false");
  EXPECT_EQ(error_with("/key/problem/message_size_bytes", -1),
            "file.json/key/problem/message_size_bytes: the number is out of range");
  EXPECT_EQ(error_with("/key/topology/nodes", 4294967296),
            "file.json/key/topology/nodes: the number is out of range");
  EXPECT_EQ(error_with("/key/topology/nodes", 1.5),
            "file.json/key/topology/nodes: expected a whole number");
  EXPECT_EQ(error_with("/key/topology/nodes", "1"),
            "file.json/key/topology/nodes: expected a whole number");
  EXPECT_EQ(error_with("/key/topology/architectures", "sm_90"),
            "file.json/key/topology/architectures: expected an array");
  EXPECT_EQ(error_with("/key/topology/architectures/1/ranks", true),
            "file.json/key/topology/architectures/1/ranks: expected a whole number");
  EXPECT_EQ(error_with("/reason", 3), "file.json/reason: expected a string");
  EXPECT_EQ(error_with("/key", json::array()), "file.json/key: expected an object");
  EXPECT_EQ(error_with("/ranked/1/median_ns", UINT64_MAX),
            "file.json/ranked/1/median_ns: the number is out of range");
  EXPECT_EQ(error_with("/ranked/0/speedup_over_baseline", "fast"),
            "file.json/ranked/0/speedup_over_baseline: expected a number");
  EXPECT_EQ(error_with("/ranked/0/variant", 1),
            "file.json/ranked/0/variant: expected a variant such as name{a=1}");
  EXPECT_NE(error_with("/ranked/0/variant", "x{").find("file.json/ranked/0/variant: 'x{' is not"),
            std::string::npos);
  EXPECT_EQ(
      error_with("/familly", "any"),
      "file.json: unknown key 'familly'; allowed are key, family, ranked, reason, sweep_uuid, "
      "verdict, status, confirmation");
  json missing = to_json_value(some_decision());
  missing["key"].erase("topology");
  EXPECT_EQ(error_of<Decision>(missing), "file.json/key: key 'topology' is missing");
}

}  // namespace
}  // namespace colltune::test
