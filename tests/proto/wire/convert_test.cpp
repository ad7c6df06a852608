// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/wire/convert.h"

#include "colltune/vocabulary/field_limits.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Members some_members() {
  return {.kinds = {{.architecture = "sm_90", .features = {"cuda.cc=9.0", "multicast"}},
                    {.architecture = "x86_64-avx2", .features = {}}},
          .kind_of_rank = {0, 1, 1, 0, 1}};
}

/// Gives every field of `value` another content than its default.
struct Filler {
  std::uint64_t next = 1;

  template <class T>
  void fill(T& value) {
    if constexpr (std::same_as<T, Collective>) {
      value = Collective::reduce_scatter;  // takes an operator and unequal counts
    } else if constexpr (NamedEnum<T>) {
      value = enum_names(T{}).back().value;
    } else if constexpr (std::same_as<T, bool>) {
      value = true;
    } else if constexpr (std::same_as<T, Bytes>) {
      value.value = 4 * next++;
    } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
      value = std::chrono::nanoseconds(next++);
    } else if constexpr (std::integral<T> || std::floating_point<T>) {
      value = static_cast<T>(10 + next++);
    } else if constexpr (std::same_as<T, std::string>) {
      value = "text" + std::to_string(next++);
    } else if constexpr (std::same_as<T, Variant>) {
      value = parse_variant("ring{fan_out=" + std::to_string(next++) + ",order=in-turn}");
    } else if constexpr (std::same_as<T, Members>) {
      value = some_members();  // whose fields depend on each other
    } else if constexpr (std::same_as<T, FitInterval>) {
      value = {.low = 0.75, .high = 1.5};  // around 1
    } else if constexpr (std::same_as<T, MeshReduction>) {
      value = parse_mesh("2x3", "1:sum,{0-1|3,5}:avg");
    } else if constexpr (Described<const T>) {
      visit_fields(value, [&](std::string_view, auto& field) { fill(field); });
      if constexpr (std::same_as<T, Problem>) {  // of the two kinds the one with an operator
        value.kind = ProblemKind::collective;
        value.mesh.reset();
      }
      if constexpr (std::same_as<T, VariantFit>)
        value.segments.front().from = value.key.problem.message_size;
    } else if constexpr (requires { value.has_value(); }) {
      fill(value.emplace());
    } else {
      for (int i = 0; i < 2; ++i) fill(value.emplace_back());
    }
  }
};

template <class T>
T filled() {
  T value{};
  Filler{}.fill(value);
  return value;
}

template <class T>
class EveryType : public ::testing::Test {};
using AllTypes =
    ::testing::Types<Problem, Topology, TuningKey, Variant, Limits, RankedVariant, Decision,
                     Generation, Environment, WorldMembers, Composition, VariantFit, LookupQuery,
                     LookupAnswer, ApplySettings, AnnotatedProgram>;
TYPED_TEST_SUITE(EveryType, AllTypes);

TYPED_TEST(EveryType, FilledValueSurvivesTheRoundTrip) {
  const auto value = filled<TypeParam>();
  message_of<TypeParam> message;
  write_message(value, message);
  message_of<TypeParam> received;
  ASSERT_TRUE(received.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(canonical_text(read_message<TypeParam>(received, "m")), canonical_text(value));
  EXPECT_EQ(read_message<TypeParam>(received, "m"), value);
}

TYPED_TEST(EveryType, FieldsOfTheMessageAreThoseOfTheVocabulary) {
  if constexpr (Described<const TypeParam>) {
    const auto& descriptor = *message_of<TypeParam>::descriptor();
    int fields = 0;
    const TypeParam value{};
    visit_fields(value, [&](std::string_view name, const auto&) {
      ++fields;
      EXPECT_NE(descriptor.FindFieldByName(std::string(name)), nullptr) << name;
    });
    EXPECT_EQ(descriptor.field_count(), fields) << descriptor.full_name();
  }
}

template <class E>
void expect_same_enumerators(const google::protobuf::EnumDescriptor& descriptor) {
  EXPECT_EQ(descriptor.value_count(), static_cast<int>(enum_names(E{}).size()) + 1)
      << descriptor.full_name();
  EXPECT_TRUE(descriptor.FindValueByNumber(0)->name().ends_with("_UNSPECIFIED"));
}

TEST(Enums, HaveTheVocabularysEnumeratorsAndUnspecified) {
  expect_same_enumerators<ProblemKind>(*v1::ProblemKind_descriptor());
  expect_same_enumerators<Collective>(*v1::Collective_descriptor());
  expect_same_enumerators<DataType>(*v1::DataType_descriptor());
  expect_same_enumerators<ReduceOp>(*v1::ReduceOp_descriptor());
  expect_same_enumerators<ApplyBy>(*v1::ApplyBy_descriptor());
  expect_same_enumerators<NumericClass>(*v1::NumericClass_descriptor());
  expect_same_enumerators<Placement>(*v1::Placement_descriptor());
  expect_same_enumerators<Calling>(*v1::Calling_descriptor());
  expect_same_enumerators<InputMode>(*v1::InputMode_descriptor());
  expect_same_enumerators<Rounding>(*v1::Rounding_descriptor());
  expect_same_enumerators<Verdict>(*v1::Verdict_descriptor());
  expect_same_enumerators<DecisionStatus>(*v1::DecisionStatus_descriptor());
  expect_same_enumerators<Source>(*v1::Source_descriptor());
  expect_same_enumerators<MatchLevel>(*v1::MatchLevel_descriptor());
  expect_same_enumerators<MembersMatch>(*v1::MembersMatch_descriptor());
  expect_same_enumerators<CompositionMode>(*v1::CompositionMode_descriptor());
  expect_same_enumerators<PartRole>(*v1::PartRole_descriptor());
  expect_same_enumerators<EntryKind>(*v1::EntryKind_descriptor());
  expect_same_enumerators<Strategy>(*v1::Strategy_descriptor());
  expect_same_enumerators<ChosenBy>(*v1::ChosenBy_descriptor());
  expect_same_enumerators<HostCpu>(*v1::HostCpu_descriptor());
}

TEST(Enums, EachEnumeratorSurvivesTheRoundTrip) {
  for (const auto& collective : enum_names(Collective{})) {
    for (const auto& type : enum_names(DataType{})) {
      const bool reduces = shape_of(collective.value).reduces;
      const Problem problem{.collective = collective.value,
                            .data_type = type.value,
                            .reduce_op = reduces ? ReduceOp::max : ReduceOp::none};
      v1::Problem message;
      write_message(problem, message);
      EXPECT_EQ(read_message<Problem>(message, "m"), problem);
      EXPECT_EQ(v1::DataType_Name(message.data_type()).substr(10).size(), type.name.size());
    }
  }
}

Problem mesh_problem() {
  return {.kind = ProblemKind::mesh_reduce,
          .reduce_op = ReduceOp::none,
          .message_size = {64},
          .mesh = parse_mesh("2x3", "1:sum,{0-1|3,5}:avg")};
}

TEST(Mesh, SurvivesTheRoundTrip) {
  v1::Problem message;
  write_message(mesh_problem(), message);
  EXPECT_EQ(message.kind(), v1::PROBLEM_KIND_MESH_REDUCE);
  EXPECT_FALSE(message.mesh().steps(1).has_dimension());
  v1::Problem received;
  ASSERT_TRUE(received.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(read_message<Problem>(received, "m"), mesh_problem());
}

TEST(Mesh, WhatContradictsItselfIsRefusedByName) {
  const auto refusal = [](auto change) -> std::string {
    v1::Problem message;
    write_message(mesh_problem(), message);
    change(message);
    try {
      (void)read_message<Problem>(message, "m");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(refusal([](auto& m) { m.clear_mesh(); }), HasSubstr("needs a mesh"));
  EXPECT_THAT(refusal([](auto& m) { m.clear_kind(); }), HasSubstr("m.mesh: a mesh belongs to"));
  EXPECT_THAT(refusal([](auto& m) { m.set_reduce_op(v1::REDUCE_OP_SUM); }),
              HasSubstr("stand in its mesh"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_mesh()->clear_steps(); }),
              HasSubstr("nothing is reduced"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_mesh()->mutable_steps(0)->set_dimension(2); }),
              HasSubstr("dimensions 0 to 1"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_mesh()->mutable_steps(1)->add_groups(0); }),
              HasSubstr("groups for 7 ranks"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_mesh()->add_shape(1 << 20); }),
              HasSubstr("more than 1048576 ranks"));
  EXPECT_THAT(refusal([](auto& m) {
                for (std::size_t i = 0; i < limits_of_field<MeshReduction>("steps").most_entries;
                     ++i)
                  *m.mutable_mesh()->add_steps() = m.mesh().steps(0);
              }),
              HasSubstr("m.mesh.steps: has 4098 entries; at most 4096"));
}

// ---- annotations ------------------------------------------------------------------------------

template <class T>
void expect_fields_of(const google::protobuf::Descriptor& descriptor) {
  int fields = 0;
  const T value{};
  visit_fields(value, [&](std::string_view name, const auto&) {
    ++fields;
    EXPECT_NE(descriptor.FindFieldByName(std::string(name)), nullptr) << name;
  });
  EXPECT_EQ(descriptor.field_count(), fields) << descriptor.full_name();
}

TEST(Fits, FieldsOfTheMessagesAreThoseOfTheVocabulary) {
  expect_fields_of<FitSegment>(*v1::FitSegment::descriptor());
  expect_fields_of<FitInterval>(*v1::FitInterval::descriptor());
}

TEST(Fits, WhatNoModelMakesIsRefusedByName) {
  const auto refusal = [](auto change) -> std::string {
    v1::VariantFit message;
    write_message(filled<VariantFit>(), message);
    change(message);
    try {
      (void)read_message<VariantFit>(message, "fit");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(refusal([](auto& m) { m.mutable_segments()->RemoveLast(); }),
              HasSubstr("fit.segments: must be at least 2"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_segments(1)->set_from_bytes(0); }),
              HasSubstr("fit.segments[1]: does not begin behind the one before"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_segments(0)->set_alpha_ns(std::nan("")); }),
              HasSubstr("fit.segments[0].alpha_ns"));
  EXPECT_THAT(refusal([](auto& m) { m.mutable_below()->set_low(2); }),
              HasSubstr("fit.below: must contain 1"));
}

TEST(Annotations, FieldsOfTheMessagesAreThoseOfTheVocabulary) {
  expect_fields_of<Annotation>(*v1::Annotation::descriptor());
  expect_fields_of<DeviceChoice>(*v1::DeviceChoice::descriptor());
  expect_fields_of<CollectiveEntry>(*v1::CollectiveEntry::descriptor());
  expect_fields_of<ReplicaCounts>(*v1::ReplicaCounts::descriptor());
  expect_fields_of<NcclTopology>(*v1::NcclTopology::descriptor());
  expect_fields_of<NcclGraph>(*v1::NcclGraph::descriptor());
}

TEST(Annotations, TimesKeepTheirBits) {
  const Annotation value{.name = "a",
                         .strategy = Strategy::two_shot,
                         .source = ChosenBy::library,
                         .why = "b",
                         .model = "c",
                         .on_node = Microseconds(1.0 / 3),
                         .between = Microseconds(0.1),
                         .memory = Microseconds(1e-300),
                         .total = Microseconds(1e300)};
  v1::Annotation message;
  write_message(value, message);
  v1::Annotation received;
  ASSERT_TRUE(received.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(read_message<Annotation>(received, "m"), value);
  received.set_node_us(std::nan(""));
  EXPECT_THROW(static_cast<void>(read_message<Annotation>(received, "m")), Error);
}

TEST(Annotations, ListsOfListsSayWhereTheyAreWrong) {
  const AnnotatedProgram program{
      .collectives = {{.name = "a"}, {.name = "b", .replica_groups = {{{0, 1}, {2, 3}}}}}};
  v1::AnnotatedProgram message;
  write_message(program, message);
  EXPECT_FALSE(message.collectives(0).has_replica_groups());
  EXPECT_EQ(message.collectives(1).replica_groups().groups(1).ranks(0), 2);
  EXPECT_EQ(read_message<AnnotatedProgram>(message, "program"), program);
  message.mutable_collectives(1)->mutable_replica_groups()->mutable_groups(1)->set_ranks(0, -2);
  try {
    static_cast<void>(read_message<AnnotatedProgram>(message, "program"));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                StartsWith("program.collectives[1].replica_groups[1][0]: -2 is negative"));
  }
}

TEST(Optional, EmptyStaysEmptyAndDefaultsHold) {
  v1::LookupQuery message;
  auto& problem = *message.mutable_problem();
  problem.set_collective(v1::COLLECTIVE_ALL_REDUCE);
  problem.set_data_type(v1::DATA_TYPE_F32);
  problem.set_reduce_op(v1::REDUCE_OP_SUM);
  const auto query = read_message<LookupQuery>(message, "query");
  EXPECT_EQ(query, LookupQuery{});
  v1::LookupQuery written;
  write_message(query, written);
  EXPECT_FALSE(written.has_nodes());
  EXPECT_FALSE(written.has_generation());
  EXPECT_FALSE(written.has_members());
  EXPECT_FALSE(written.has_calling());
  EXPECT_FALSE(written.has_input());
  // What a caller from before regimes asks for.
  EXPECT_EQ(regime_of(query), (Regime{default_calling, default_input}));
}

TEST(Optional, AnAnswerOfADaemonThatDoesNotKnowMembersWasNotAskedAboutThem) {
  v1::LookupAnswer message;
  write_message(filled<LookupAnswer>(), message);
  message.clear_members();
  EXPECT_EQ(read_message<LookupAnswer>(message, "answer").members, MembersMatch::not_asked);
}

// ---- every validation error -------------------------------------------------------------------

struct Invalid {
  std::string name;
  std::function<void(v1::LookupAnswer&)> spoil;
  std::string message;
};

void PrintTo(const Invalid& invalid, std::ostream* out) { *out << invalid.name; }

class Validation : public ::testing::TestWithParam<Invalid> {};

TEST_P(Validation, NamesTheField) {
  v1::LookupAnswer message;
  write_message(filled<LookupAnswer>(), message);
  GetParam().spoil(message);
  try {
    (void)read_message<LookupAnswer>(message, "answer");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_THAT(error.what(), StartsWith(GetParam().message));
  }
}

v1::Problem& problem(v1::LookupAnswer& m) {
  return *m.mutable_decision()->mutable_key()->mutable_problem();
}
v1::Topology& topology(v1::LookupAnswer& m) {
  return *m.mutable_decision()->mutable_key()->mutable_topology();
}
v1::RankedVariant& second(v1::LookupAnswer& m) { return *m.mutable_decision()->mutable_ranked(1); }
constexpr auto too_large = std::numeric_limits<std::uint64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    All, Validation,
    ::testing::Values(
        Invalid{"missing_enum", [](auto& m) { problem(m).clear_collective(); },
                "answer.decision.key.problem.collective: collective is missing; allowed are "
                "all_reduce, "},
        Invalid{"unknown_enum",
                [](auto& m) { problem(m).set_data_type(static_cast<v1::DataType>(99)); },
                "answer.decision.key.problem.data_type: unknown data type 99; allowed are i8, "},
        Invalid{"optional_enum_given_as_unspecified",
                [](auto& m) { problem(m).set_kind(v1::PROBLEM_KIND_UNSPECIFIED); },
                "answer.decision.key.problem.kind: problem kind is missing"},
        Invalid{"unknown_enum_in_list",
                [](auto& m) {
                  second(m).mutable_limits()->set_data_types(1, static_cast<v1::DataType>(77));
                },
                "answer.decision.ranked[1].limits.data_types[1]: unknown data type 77"},
        Invalid{"vocabulary_rule",
                [](auto& m) {
                  problem(m).set_collective(v1::COLLECTIVE_BROADCAST);
                  problem(m).set_counts(v1::COUNTS_EQUAL);
                },
                "answer.decision.key.problem.reduce_op: broadcast does not reduce"},
        Invalid{"large_size", [](auto& m) { problem(m).set_message_size_bytes(too_large); },
                "answer.decision.key.problem.message_size_bytes: 18446744073709551615 bytes is "
                "too large"},
        Invalid{"large_size_in_list", [](auto& m) { m.set_measured_sizes_bytes(0, too_large); },
                "answer.measured_sizes_bytes[0]: 18446744073709551615 bytes is too large"},
        Invalid{"negative_number", [](auto& m) { topology(m).set_nodes(-3); },
                "answer.decision.key.topology.nodes: -3 is negative"},
        Invalid{"negative_time", [](auto& m) { second(m).set_median_ns(-1); },
                "answer.decision.ranked[1].median_ns: -1 is negative"},
        Invalid{"zero_nodes", [](auto& m) { topology(m).set_nodes(0); },
                "answer.decision.key.topology.nodes: 0 is not allowed"},
        Invalid{"zero_ranks_per_node", [](auto& m) { topology(m).set_ranks_per_node(0); },
                "answer.decision.key.topology.ranks_per_node: 0 is not allowed"},
        Invalid{"zero_ranks", [](auto& m) { topology(m).set_ranks(0); },
                "answer.decision.key.topology.ranks: 0 is not allowed"},
        Invalid{"zero_ranks_of_architecture",
                [](auto& m) { topology(m).mutable_architectures(0)->set_ranks(0); },
                "answer.decision.key.topology.architectures[0].ranks: 0 is not allowed"},
        Invalid{"zero_multiple",
                [](auto& m) { second(m).mutable_limits()->set_ranks_multiple_of(0); },
                "answer.decision.ranked[1].limits.ranks_multiple_of: 0 is not allowed"},
        Invalid{"zero_alignment",
                [](auto& m) { second(m).mutable_limits()->set_alignment_bytes(0); },
                "answer.decision.ranked[1].limits.alignment_bytes: 0 is not allowed"},
        Invalid{"not_a_number", [](auto& m) { second(m).set_speedup_over_baseline(std::nan("")); },
                "answer.decision.ranked[1].speedup_over_baseline: must be a finite"},
        Invalid{"missing_verdict", [](auto& m) { m.mutable_decision()->clear_verdict(); },
                "answer.decision.verdict: verdict is missing; allowed are displaced, kept, "},
        Invalid{
            "unknown_status",
            [](auto& m) { m.mutable_decision()->set_status(static_cast<v1::DecisionStatus>(9)); },
            "answer.decision.status: unknown decision status 9; allowed are provisional, "},
        Invalid{
            "confirmed_speedup_is_no_number",
            [](auto& m) { m.mutable_decision()->mutable_confirmation()->set_low(std::nan("")); },
            "answer.decision.confirmation.low: must be a finite"},
        Invalid{"missing_confirmation", [](auto& m) { m.mutable_decision()->clear_confirmation(); },
                "answer.decision.confirmation: is missing"},
        Invalid{"long_string",
                [](auto& m) { m.mutable_decision()->set_reason(std::string(65537, 'x')); },
                "answer.decision.reason: the string has 65537 bytes; at most 65536"},
        Invalid{"string_that_is_no_utf8",
                [](auto& m) { m.mutable_decision()->set_family("\xC3("); },
                "answer.decision.family: the string is no UTF-8"},
        Invalid{"more_ranks_than_allowed", [](auto& m) { topology(m).set_ranks((1 << 20) + 1); },
                "answer.decision.key.topology.ranks: 1048577 is too large; at most 1048576"},
        // Of a daemon from before regimes: it is not known which the answer is of.
        Invalid{"missing_calling",
                [](auto& m) { m.mutable_decision()->mutable_key()->clear_calling(); },
                "answer.decision.key.calling: calling is missing; allowed are each, persistent"},
        Invalid{"unknown_input",
                [](auto& m) {
                  m.mutable_decision()->mutable_key()->set_input(static_cast<v1::InputMode>(9));
                },
                "answer.decision.key.input: unknown input mode 9; allowed are rewritten, "},
        Invalid{"missing_message", [](auto& m) { m.mutable_decision()->clear_key(); },
                "answer.decision.key: is missing"},
        Invalid{"nothing_ranked", [](auto& m) { m.mutable_decision()->clear_ranked(); },
                "answer.decision.ranked: is empty"},
        Invalid{"no_parameter_value",
                [](auto& m) { second(m).mutable_variant()->mutable_parameters(1)->clear_word(); },
                "answer.decision.ranked[1].variant.parameters[1]: has no value"},
        Invalid{"bad_variant_name",
                [](auto& m) { second(m).mutable_variant()->set_implementation("a b"); },
                "answer.decision.ranked[1].variant: 'a b{"},
        Invalid{"unsorted_parameters",
                [](auto& m) { second(m).mutable_variant()->mutable_parameters(1)->set_name("a"); },
                "answer.decision.ranked[1].variant: 'ring{fan_out="},
        Invalid{"unknown_members_match",
                [](auto& m) { m.set_members(static_cast<v1::MembersMatch>(9)); },
                "answer.members: unknown members match 9; allowed are not_asked, same, "},
        Invalid{"missing_composition_mode",
                [](auto& m) { m.mutable_compositions(1)->clear_mode(); },
                "answer.compositions[1].mode: composition mode is missing"},
        Invalid{"composition_without_parts",
                [](auto& m) { m.mutable_compositions(0)->clear_parts(); },
                "answer.compositions[0].parts: is empty"},
        Invalid{"unknown_part_role",
                [](auto& m) {
                  m.mutable_compositions(0)->mutable_parts(1)->set_role(
                      static_cast<v1::PartRole>(9));
                },
                "answer.compositions[0].parts[1].role: unknown part role 9"},
        Invalid{"part_without_variant",
                [](auto& m) { m.mutable_compositions(0)->mutable_parts(1)->clear_variant(); },
                "answer.compositions[0].parts[1].variant: is missing"},
        Invalid{"long_string_in_list",
                [](auto& m) {
                  m.mutable_compositions(0)->mutable_parts(0)->set_kinds(1, std::string(4097, 'x'));
                },
                "answer.compositions[0].parts[0].kinds[1]: the string has 4097 bytes"},
        Invalid{"long_variant_word",
                [](auto& m) {
                  second(m).mutable_variant()->mutable_parameters(1)->set_word(
                      std::string(4097, 'x'));
                },
                "answer.decision.ranked[1].variant.parameters[1].word: the string has"}),
    [](const auto& tested) { return tested.param.name; });

/// What reading a question with `members` says, less the path of the field.
std::string refusal_of(const v1::Members& members) {
  v1::LookupQuery message;
  write_message(LookupQuery{}, message);
  *message.mutable_members() = members;
  try {
    (void)read_message<LookupQuery>(message, "query");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_THAT(error.what(), StartsWith("query.members"));
    return std::string(error.what()).substr(std::string("query.members").size());
  }
  return "";
}

TEST(QueryValidation, MembersAreInTheirOneForm) {
  v1::LookupQuery sound;
  write_message(LookupQuery{.members = some_members()}, sound);
  const v1::Members& members = sound.members();
  EXPECT_EQ(refusal_of(members), "");
  const auto spoilt = [&](auto&& spoil) {
    v1::Members copy = members;
    spoil(copy);
    return refusal_of(copy);
  };
  EXPECT_THAT(spoilt([](auto& m) { m.Clear(); }), HasSubstr("there is no rank"));
  EXPECT_THAT(spoilt([](auto& m) { m.set_kind_of_rank(1, 2); }), HasSubstr("rank 1 is of kind 2"));
  EXPECT_THAT(spoilt([](auto& m) { m.set_kind_of_rank(1, -1); }),
              StartsWith(".kind_of_rank[1]: -1 is negative"));
  EXPECT_THAT(spoilt([](auto& m) { m.mutable_kinds()->SwapElements(0, 1); }),
              HasSubstr("kind 1 is not behind"));
  EXPECT_THAT(spoilt([](auto& m) { m.mutable_kinds(0)->add_features("a"); }),
              HasSubstr("features stand in the order of their names"));
  EXPECT_THAT(spoilt([](auto& m) { m.mutable_kinds(0)->add_features(std::string(4097, 'x')); }),
              StartsWith(".kinds[0].features[2]: the string has 4097 bytes"));
}

TEST(QueryValidation, MembersAreNotTooMany) {
  v1::Members ranks;
  ranks.add_kinds()->set_architecture("a");
  for (std::size_t i = 0; i < limits_of_field<Members>("kind_of_rank").most_entries; ++i)
    ranks.add_kind_of_rank(0);
  EXPECT_EQ(refusal_of(ranks), "");
  ranks.add_kind_of_rank(0);
  EXPECT_THAT(refusal_of(ranks), StartsWith(".kind_of_rank: has 1048577 entries; at most 1048576"));

  const auto name = [](std::size_t number) { return "a" + std::to_string(10'000 + number); };
  v1::Members kinds;
  for (std::size_t i = 0; i < limits_of_field<Members>("kinds").most_entries; ++i) {
    kinds.add_kinds()->set_architecture(name(i));
    kinds.add_kind_of_rank(static_cast<int>(i));
  }
  EXPECT_EQ(refusal_of(kinds), "");
  kinds.add_kinds()->set_architecture(name(limits_of_field<Members>("kinds").most_entries));
  EXPECT_THAT(refusal_of(kinds), StartsWith(".kinds: has 4097 entries; at most 4096"));

  v1::Members features;
  auto& kind = *features.add_kinds();
  features.add_kind_of_rank(0);
  for (std::size_t i = 0; i < limits_of_field<MemberKind>("features").most_entries; ++i)
    kind.add_features(name(i));
  EXPECT_EQ(refusal_of(features), "");
  kind.add_features(name(limits_of_field<MemberKind>("features").most_entries));
  EXPECT_THAT(refusal_of(features), StartsWith(".kinds[0].features: has 4097 entries"));
}

TEST(QueryValidation, WorldSizesAreAtLeastOne) {
  const auto message_for = [](std::function<void(v1::LookupQuery&)> spoil) {
    v1::LookupQuery message;
    write_message(LookupQuery{}, message);
    spoil(message);
    try {
      (void)read_message<LookupQuery>(message, "query");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message_for([](auto& m) { m.set_nodes(0); }), StartsWith("query.nodes: 0"));
  EXPECT_THAT(message_for([](auto& m) { m.set_ranks_per_node(0); }),
              StartsWith("query.ranks_per_node: 0"));
  EXPECT_THAT(message_for([](auto& m) { m.set_nodes(-1); }), StartsWith("query.nodes: -1"));
  EXPECT_THAT(message_for([](auto& m) { m.clear_problem(); }),
              StartsWith("query.problem: is missing"));
}

}  // namespace
}  // namespace colltune
