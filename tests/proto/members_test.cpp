// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/members.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;

MemberKind kind_with(std::vector<std::string> features) {
  return {.architecture = "x86_64-avx2", .features = std::move(features)};
}

std::string refusal(const Members& members) {
  try {
    check(members);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Members, OneThatCanDoMoreStandsInForOneThatCanDoLess) {
  const MemberKind less = kind_with({"isa.avx2", "memory.bytes=1000", "mpi.library=A"});
  const MemberKind more = kind_with({"isa.avx2", "isa.fma", "memory.bytes=3000", "mpi.library=A"});
  EXPECT_EQ(why_less(more, less), "");
  EXPECT_EQ(why_less(less, less), "");
  EXPECT_EQ(why_less(less, more), "lacks isa.fma");
  EXPECT_EQ(why_less(kind_with({"memory.bytes=999"}), kind_with({"memory.bytes=1000"})),
            "has memory.bytes=999, not memory.bytes=1000");
}

TEST(Members, AnotherValueIsAnotherFeature) {
  EXPECT_EQ(why_less(kind_with({"mpi.library=B"}), kind_with({"mpi.library=A"})),
            "has mpi.library=B, not mpi.library=A");
  EXPECT_EQ(why_less(kind_with({"mpi.library"}), kind_with({"mpi.library=A"})),
            "has mpi.library, not mpi.library=A");
}

TEST(Members, MasksAndLacksCountTheOtherWayRound) {
  const MemberKind free = kind_with({});
  const MemberKind masked = kind_with({"without.cpu.*{chunk=0}", "without.cpu.*{chunk=8}"});
  EXPECT_EQ(why_less(free, masked), "");
  EXPECT_EQ(why_less(masked, free), "is to do without.cpu.*{chunk=0}");
  EXPECT_EQ(why_less(masked, masked), "");
  EXPECT_EQ(why_less(free, kind_with({"cuda.unavailable=no GPU"})), "");
}

TEST(Members, ProcessorsOfAFamilyDifferByTheirInstructionSets) {
  const MemberKind avx512{"x86_64-avx512", {"isa.avx2", "isa.avx512f"}};
  EXPECT_EQ(why_less(avx512, kind_with({"isa.avx2"})), "");
  EXPECT_EQ(why_less(kind_with({"isa.avx2"}), avx512), "lacks isa.avx512f");
  EXPECT_EQ(why_less({"aarch64-sve", {}}, kind_with({})), "is aarch64-sve, not x86_64-avx2");
  EXPECT_EQ(why_less({"sm_90", {}}, {"sm_80", {}}), "is sm_90, not sm_80");
}

TEST(Members, AreComparedRankByRank) {
  const Members both{{kind_with({}), kind_with({"a"})}, {0, 1}};
  const Members swapped{{kind_with({}), kind_with({"a"})}, {1, 0}};
  const Members all{{kind_with({"a"})}, {0, 0}};
  EXPECT_EQ(why_less(all, both), "");
  EXPECT_EQ(why_less(both, all), "rank 0 lacks a");
  EXPECT_EQ(why_less(both, swapped), "rank 0 lacks a");
  EXPECT_EQ(why_less(all, Members{{kind_with({"a"})}, {0, 0, 0}}), "2 ranks, not 3");
}

TEST(Members, OneFormOnly) {
  EXPECT_EQ(refusal({{kind_with({}), kind_with({"a", "b=1"})}, {0, 1, 1}}), "");
  EXPECT_THAT(refusal({{}, {}}), HasSubstr("there is no rank"));
  EXPECT_THAT(refusal({{kind_with({"b", "a"})}, {0}}), HasSubstr("'a' stands behind 'b'"));
  EXPECT_THAT(refusal({{kind_with({"a=1", "a=2"})}, {0}}), HasSubstr("each once"));
  EXPECT_THAT(refusal({{kind_with({"a"}), kind_with({})}, {0, 1}}), HasSubstr("kind 1"));
  EXPECT_THAT(refusal({{kind_with({})}, {1}}), HasSubstr("rank 0 is of kind 1; there are 1"));
  EXPECT_THAT(refusal({{kind_with({}), kind_with({"a"})}, {0}}), HasSubstr("no rank's"));
}

TEST(Compositions, HaveNamesThatNoCatalogueHas) {
  const Composition substituted{
      CompositionMode::substituted,
      {{PartRole::whole, {"a"}, parse_variant("cpu.flat{chunk=0,stores=streaming}")},
       {PartRole::whole, {"b"}, parse_variant("cpu.flat{chunk=0,stores=cached}")}}};
  EXPECT_EQ(to_string(name_composition(name_of(Collective::all_gather), substituted)),
            "substituted.cpu.flat{chunk=0,parts=" + parts_name(substituted) + ",stores=streaming}");
  Composition grouped{CompositionMode::grouped,
                      {{PartRole::before, {"a"}, parse_variant("cpu.tree{fanout=2}")},
                       {PartRole::bridge, {}, parse_variant("mpi.x")}}};
  EXPECT_EQ(to_string(name_composition(name_of(Collective::reduce), grouped)),
            "grouped.reduce{bridge=mpi.x,inside=cpu.tree,parts=" + parts_name(grouped) + "}");
  grouped.parts.pop_back();
  EXPECT_THROW((void)name_composition(name_of(Collective::reduce), grouped), Error);
  const Composition taken{CompositionMode::substituted,
                          {{PartRole::whole, {"a"}, parse_variant("user.x{parts=3}")}}};
  EXPECT_THROW((void)name_composition(name_of(Collective::reduce), taken), Error);
}

TEST(Compositions, AreNamedByWhatTheyHold) {
  Composition one{CompositionMode::grouped, {{PartRole::bridge, {}, parse_variant("mpi.x")}}};
  const std::string name = parts_name(one);
  const Variant named = parse_variant("grouped.all_reduce{bridge=mpi.x,parts=" + name + "}");
  EXPECT_EQ(parts_named_by(named), name);
  one.parts[0].variant = parse_variant("mpi.y");
  EXPECT_NE(parts_name(one), name);
  EXPECT_EQ(parts_named_by(parse_variant("cpu.x{parts=" + name + "}")), "");
  EXPECT_EQ(parts_named_by(parse_variant("grouped.all_reduce{parts=12}")), "");
}

}  // namespace
}  // namespace colltune
