// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/canonical.h"

#include <gtest/gtest.h>

#include <set>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune::test {
namespace {

TuningKey some_key() {
  return {.problem = {.message_size = {1024}},
          .topology = {.nodes = 1,
                       .ranks_per_node = 2,
                       .ranks = 2,
                       .architectures = {{"x86_64-avx2", 2}},
                       .layout_digest = "uniform",
                       .interconnect = "shared-memory"},
          .environment_digest = "e"};
}

TEST(Canonical, TextOfAKeyNeverChanges) {
  EXPECT_EQ(canonical_text(some_key()),
            "{problem={kind=collective;collective=all_reduce;data_type=f32;reduce_op=sum;"
            "message_size_bytes=1024;in_place=false;registered=false;graph_capture=false;"
            "numeric_class=any;};topology={nodes=1;ranks_per_node=2;ranks=2;architectures="
            "[{architecture=11:x86_64-avx2;ranks=2;},];layout_digest=7:uniform;interconnect="
            "13:shared-memory;placement=dedicated;};environment_digest=1:e;"
            "calling=each;input=rewritten;}");
}

TEST(Canonical, DigestsNeverChange) {
  // XXH3 with 128 bits and seed 0 of the empty input and of "abc": xxhash's own 'xxh128sum'.
  EXPECT_EQ(digest_of_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(digest_of_text("abc"), "06b05ab6733a618578af5f94892f3950");
  EXPECT_EQ(digest_of_value(some_key()), digest_of_text(canonical_text(some_key())));
  EXPECT_EQ(digest_of(Environment{}), digest_of_value(Environment{}));
}

TEST(Canonical, UnlikeValuesHaveUnlikeTexts) {
  std::set<std::string> texts{canonical_text(some_key())};
  std::size_t changes = 0;
  const auto add = [&](auto&& change) {
    TuningKey key = some_key();
    change(key);
    texts.insert(canonical_text(key));
    ++changes;
  };
  add([](TuningKey& key) { key.problem.collective = Collective::reduce; });
  add([](TuningKey& key) { key.problem.message_size = {1025}; });
  add([](TuningKey& key) { key.problem.in_place = true; });
  add([](TuningKey& key) { key.problem.registered = true; });
  add([](TuningKey& key) { key.topology.nodes = 2; });
  add([](TuningKey& key) { key.topology.ranks = 4; });
  add([](TuningKey& key) {
    key.topology.architectures = {{"x86_64-avx2", 1}, {"x86_64-avx2", 1}};
  });
  add([](TuningKey& key) { key.topology.architectures.clear(); });
  add([](TuningKey& key) { key.topology.placement = Placement::oversubscribed; });
  add([](TuningKey& key) { key.environment_digest = "e;}"; });
  add([](TuningKey& key) { key.calling = Calling::persistent; });
  add([](TuningKey& key) { key.input = InputMode::hot; });
  EXPECT_EQ(texts.size(), changes + 1);
  using Words = std::vector<std::string>;
  EXPECT_NE(canonical_text(Words{"a", "b"}), canonical_text(Words{"a,1:b"}));
  EXPECT_NE(canonical_text(Words{""}), canonical_text(Words{}));
  EXPECT_NE(canonical_text(std::optional<int>{}), canonical_text(std::optional<int>{0}));
  EXPECT_NE(canonical_text(0.1), canonical_text(0.1 + 1e-17 + 2e-17));
  EXPECT_EQ(canonical_text(0.1), "0.1");
  EXPECT_EQ(canonical_text(std::chrono::nanoseconds(-5)), "-5");
  EXPECT_EQ(canonical_text(parse_variant("x{b=1,a=2}")), "10:x{a=2,b=1}");
}

TEST(Canonical, EveryFieldOfAnEnvironmentCounts) {
  std::set<std::string> digests{digest_of(Environment{})};
  std::size_t fields = 0;
  Environment environment;
  visit_fields(environment, [&](std::string_view, auto& field) {
    field = "x";
    digests.insert(digest_of(environment));
    field = {};
    ++fields;
  });
  EXPECT_EQ(digests.size(), fields + 1);
}

TEST(Canonical, AnEnvironmentWithoutVariablesIsWhatItWasBeforeTheyWereRecorded) {
  EXPECT_EQ(canonical_text(Environment{}).find("variables"), std::string::npos);
  EXPECT_EQ(canonical_text(Environment{}).find("limits"), std::string::npos);
}

}  // namespace
}  // namespace colltune::test
