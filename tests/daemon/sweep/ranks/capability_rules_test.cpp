// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/ranks/capability_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "fakes.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Capability able() {
  Capability capability{.architecture = "x86_64-avx512", .features = {}};
  for (const char* name :
       {"isa.avx2", "isa.avx512f", "mpi.library", "mpi.tuned.ring", "mpi.tuned.tree"})
    capability.features[name] = "";
  return capability;
}

std::vector<std::string> masks_of(const std::string& mask, int rank, int ranks = 16) {
  return rules_of_rank({.masks = {mask}, .declarations = {}}, rank, ranks).masks;
}

TEST(CapabilityRules, AreAboutTheRanksThatTheyName) {
  for (const auto& [ranks, named] :
       std::vector<std::pair<std::string, std::vector<int>>>{{"*", {0, 1, 2, 3, 4, 5}},
                                                             {"0", {0}},
                                                             {"5", {5}},
                                                             {"1-3", {1, 2, 3}},
                                                             {"0,2-3,5", {0, 2, 3, 5}},
                                                             {"4-4", {4}}})
    for (int rank = 0; rank < 6; ++rank) {
      const bool is_named = std::ranges::find(named, rank) != named.end();
      EXPECT_EQ(masks_of(ranks + ":cma", rank, 6).size(), is_named ? 1U : 0U)
          << ranks << " " << rank;
    }
  const CapabilityRules rules{.masks = {"*:a", "1:impl=cpu.*", "2:b"},
                              .declarations = {"0-1:leader", "1:edge_nic"}};
  const RankRules own = rules_of_rank(rules, 1, 4);
  EXPECT_THAT(own.masks, ElementsAre("a", "impl=cpu.*"));
  EXPECT_THAT(own.tags, ElementsAre("leader", "edge_nic"));
  EXPECT_EQ(describe(rules),
            "mask *:a, mask 1:impl=cpu.*, mask 2:b, declare 0-1:leader, declare 1:edge_nic");
  EXPECT_EQ(describe(CapabilityRules{}), "");
}

TEST(CapabilityRules, WhatIsWrongIsWrongOnEveryRank) {
  for (const auto& [mask, said] : std::vector<std::pair<std::string, std::string>>{
           {"avx512", "RANKS:FEATURE"},
           {":avx512", "RANKS:FEATURE"},
           {"1:", "RANKS:FEATURE"},
           {"a:avx512", "'a' is no rank"},
           {"1,:avx512", "'' is no rank"},
           {"1-:avx512", "'' is no rank"},
           {"-1:avx512", "'' is no rank"},
           {"1 :avx512", "'1 ' is no rank"},
           {"0,4:avx512", "no rank 4; the launch has 0 to 3"},
           {"0-9:avx512", "no rank 9; the launch has 0 to 3"},
           {"3-1:avx512", "3-1 runs backwards"},
           {"0:impl=", "names no implementation"}})
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_THAT(error_of([&] { (void)masks_of(mask, rank, 4); }),
                  AllOf(HasSubstr("--mask " + mask), HasSubstr(said)));
  for (const char* tag : {"0:a b", "0:a:b", "0:a*"})
    EXPECT_THAT(error_of([&] { (void)rules_of_rank({.masks = {}, .declarations = {tag}}, 3, 4); }),
                AllOf(HasSubstr("--declare"), HasSubstr("is no tag")));
}

TEST(CapabilityRules, AMaskTakesAwayAndADeclarationAdds) {
  const RankRules rules{.masks = {"mpi.tuned.*", "isa.avx512f", "impl=cpu.r*"}, .tags = {"aws"}};
  const Capability left = apply(rules, {}, able());
  EXPECT_FALSE(left.has("mpi.tuned.ring"));
  EXPECT_FALSE(left.has("mpi.tuned.tree"));
  EXPECT_FALSE(left.has("isa.avx512f"));
  EXPECT_TRUE(left.has("isa.avx2"));
  EXPECT_TRUE(left.has("tag.aws"));
  const Variant ring{"cpu.ring", {{"stores", "streaming"}}};
  EXPECT_EQ(masked_by(left, ring), "cpu.r*");
  EXPECT_THAT(masked_by(left, {"cpu.tree", {}}), IsEmpty());
  EXPECT_THAT(masked_by(able(), ring), IsEmpty());
  const RankRules narrow{.masks = {"impl=cpu.*{*stores=str*}"}, .tags = {}};
  EXPECT_EQ(masked_by(apply(narrow, {}, able()), ring), "cpu.*{*stores=str*}");
  EXPECT_THAT(masked_by(apply(narrow, {}, able()), {"cpu.ring", {{"stores", "cached"}}}),
              IsEmpty());
  EXPECT_EQ(distinctions_of(left), "+tag.aws+without.cpu.r*");
  EXPECT_EQ(distinctions_of(able()), "");
  EXPECT_EQ(apply({}, {}, able()), able());
}

TEST(CapabilityRules, AMaskThatTakesNothingAwayIsAnError) {
  EXPECT_THAT(error_of([] { (void)apply({.masks = {"nvlink"}, .tags = {}}, {}, able()); }),
              AllOf(HasSubstr("--mask nvlink"), HasSubstr("isa.avx2, "), HasSubstr("mpi.library")));
}

TEST(CapabilityRules, ADevicesArchitectureIsMaskedByItsName) {
  const Capability hopper{.architecture = "sm_90",
                          .features = {{"cuda.compute_capability", "9.0"},
                                       {"device.name", "GPU"},
                                       {"device.processors", "132"}}};
  const auto masked = [&](const std::string& mask, const Capability& own) {
    return apply({.masks = {mask}, .tags = {}}, {}, own);
  };
  for (const char* mask : {"sm_90", "sm_*"}) {
    const Capability left = masked(mask, hopper);
    EXPECT_EQ(left.architecture, "sm");
    EXPECT_FALSE(left.has("cuda.compute_capability"));
    EXPECT_EQ(left.value("device.name"), "GPU");
    EXPECT_TRUE(left.is_on_device());
  }
  // Ranks that are not what a mask names, or never heard of it.
  for (const char* mask : {"sm_80", "sm_91", "sm", "sm_900"})
    EXPECT_THAT(error_of([&] { (void)masked(mask, hopper); }),
                AllOf(HasSubstr(std::string("--mask ") + mask + ": the rank is sm_90 and has no"),
                      HasSubstr("device.name")));
  EXPECT_THAT(error_of([&] {
                (void)apply({.masks = {"sm_90", "sm_90"}, .tags = {}}, {}, hopper);
              }),
              HasSubstr("--mask sm_90"));
  // What a processor is called follows from its instruction sets.
  Capability processor = able();
  processor.architecture = "x86_64-avx512";
  for (const char* mask : {"sm_90", "x86_64-avx512", "x86_64*"})
    EXPECT_THAT(error_of([&] { (void)masked(mask, processor); }),
                HasSubstr("the rank is x86_64-avx512 and has no such feature"));
  // Other masks leave it alone.
  EXPECT_EQ(masked("device.name", hopper).architecture, "sm_90");
}

TEST(CapabilityRules, InstructionSetsAreFoundByTheirBeginnings) {
  const RankRules rules{.masks = {"avx512", "mpi.library", "avx2", "sse"}, .tags = {}};
  const std::vector<std::string> names{"avx2", "avx512f", "avx512bw"};
  const auto isas = masked_isas(rules, names);
  EXPECT_THAT(isas, ElementsAre("avx512", "avx2"));
  // Those are in force by then; what is left must name features.
  EXPECT_THAT(error_of([&] { (void)apply(rules, isas, able()); }), HasSubstr("--mask sse"));
}

TEST(CapabilityRules, MasksOfImplementationsNameSome) {
  const auto catalogue = fakes::make({{.name = "cpu.ring"}, {.name = "mpi.ring"}});
  const auto check = [&](const std::string& mask) {
    return error_of(
        [&] { check_implementation_masks({.masks = {mask}, .declarations = {}}, catalogue); });
  };
  EXPECT_EQ(check("0:impl=cpu.*"), "no error");
  EXPECT_EQ(check("0:impl=cpu.ring{chunk=*}"), "no error");
  EXPECT_EQ(check("0:cuda"), "no error");
  EXPECT_THAT(check("0:impl=cuda.*"), HasSubstr("no implementation's name matches"));
}

TEST(CapabilityRules, OfTwoCommandsAreEachOnce) {
  CapabilityRules rules{.masks = {"0:a"}, .declarations = {"1:x"}};
  rules.append({.masks = {"0:b", "0:a"}, .declarations = {"1:x", "2:y"}});
  EXPECT_THAT(rules.masks, ElementsAre("0:a", "0:b"));
  EXPECT_THAT(rules.declarations, ElementsAre("1:x", "2:y"));
  EXPECT_FALSE(rules.empty());
  EXPECT_TRUE(CapabilityRules{}.empty());
}

}  // namespace
}  // namespace colltune
