// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/replica_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "colltune/model/speed_of_light/annotate.h"
#include "colltune/vocabulary/error.h"

namespace colltune::speed_of_light {
namespace {

using ::testing::HasSubstr;
using Groups = std::vector<std::vector<int>>;

Device h100() {
  return resolve_device(
      {.name = "NVIDIA H100 80GB HBM3", .platform = "cuda", .architecture = "sm_90"});
}

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

std::string tiles_error(const std::string& text) {
  return error_of([&] { static_cast<void>(parse_group_tiles(text)); });
}

TEST(ReplicaGroups, TilesAreTheListsThatHloMeans) {
  const auto listed = [](const char* text) { return list_groups(parse_group_tiles(text)); };
  EXPECT_EQ(listed("[2,4]<=[8]"), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(listed("[2,4]<=[8]T(0)"), listed("[2,4]<=[8]"));
  EXPECT_EQ(listed("[4,2]<=[2,4]T(1,0)"), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(listed("[4,2]<=[2,2,2]T(0,2,1)"), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(listed("[2,6]<=[2,3,2]T(2,0,1)"), (Groups{{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}}));
  EXPECT_EQ(listed("[1,1]<=[1]"), (Groups{{0}}));
}

TEST(ReplicaGroups, WhatIsWrongWithTilesIsNamed) {
  EXPECT_THAT(tiles_error("[2,4]<=[6]"),
              HasSubstr("2 groups of 4 are 8 ranks, but the dimensions have 6"));
  EXPECT_THAT(tiles_error("[2,4]"), HasSubstr("expected '<=' at character 6"));
  EXPECT_THAT(tiles_error("[8]<=[8]"), HasSubstr("the form is [groups,size]"));
  EXPECT_THAT(tiles_error("[0,4]<=[8]"), HasSubstr("expected a number from 1 to 1048576"));
  EXPECT_THAT(tiles_error("[2,4]<=[-8]"), HasSubstr("expected a number"));
  EXPECT_THAT(tiles_error("[2, 4]<=[8]"), HasSubstr("at character 4"));
  EXPECT_THAT(tiles_error(""), HasSubstr("expected '[' at character 1"));
  EXPECT_THAT(tiles_error("[2,4]<=[8] "), HasSubstr("expected 'T' at character 11"));
  EXPECT_THAT(tiles_error("[2,4]<=[8]T(0)x"), HasSubstr("expected the end"));
  EXPECT_THAT(tiles_error("[2,4]<=[2,4]T(1)"), HasSubstr("the order names 1 of 2 dimensions"));
  EXPECT_THAT(tiles_error("[2,4]<=[2,4]T(1,1)"), HasSubstr("the order names dimension 1 twice"));
  EXPECT_THAT(tiles_error("[2,4]<=[2,4]T(0,2)"), HasSubstr("dimensions are 0 to 1"));
  EXPECT_THAT(tiles_error("[1048576,2]<=[1048576,2]"), HasSubstr("are more than 1048576 ranks"));
  EXPECT_THAT(tiles_error("[99999999999,2]<=[8]"), HasSubstr("expected a number"));
}

TEST(ReplicaGroups, ShortFormsMeanTheSameAsLists) {
  for (const char* const text :
       {"[4,8]<=[32]", "[8,4]<=[32]", "[1,32]<=[32]", "[32,1]<=[32]", "[2,16]<=[32]",
        "[8,4]<=[4,8]T(1,0)", "[4,8]<=[4,4,2]T(0,2,1)", "[16,2]<=[2,2,8]T(1,2,0)"}) {
    const GroupTiles parsed = parse_group_tiles(text);
    CollectiveEntry list{.name = "a", .bytes = Bytes{1 << 20}};
    CollectiveEntry tiles = list;
    CollectiveEntry counts = list;
    list.replica_groups = list_groups(parsed);
    tiles.replica_tiles = text;
    const Annotation expected = annotate(list, 4, h100());
    EXPECT_EQ(annotate(tiles, 4, h100()), expected) << text;
    if (parsed.dimensions.size() > 1) continue;
    counts.replica_counts = ReplicaCounts{.groups = parsed.groups, .size = parsed.size};
    EXPECT_EQ(annotate(counts, 4, h100()), expected) << text;
  }
}

TEST(ReplicaGroups, ShortFormsCoverTheWorld) {
  GroupLayouts layouts(4, h100());
  CollectiveEntry one{.name = "a"};
  const auto refusal = [&] { return error_of([&] { static_cast<void>(layouts.of(one)); }); };
  one.replica_counts = ReplicaCounts{.groups = 2, .size = 8};
  EXPECT_EQ(refusal(),
            "replica_counts: 2 groups of 8 are 16 ranks, but the world has 32, each in one group");
  one.replica_counts = ReplicaCounts{.groups = 0, .size = 8};
  EXPECT_EQ(refusal(), "replica_counts: 0 groups of 8; both are at least 1");
  one.replica_counts = ReplicaCounts{.groups = 1 << 30, .size = 1 << 30};
  EXPECT_THAT(refusal(), HasSubstr("are 1152921504606846976 ranks"));
  one.replica_counts.reset();
  one.replica_tiles = "[8,8]<=[64]";
  EXPECT_EQ(refusal(),
            "replica_tiles '[8,8]<=[64]': 8 groups of 8 are 64 ranks, but the world has 32, each "
            "in one group");
  one.replica_groups = Groups{{0, 1}};
  EXPECT_THAT(refusal(), HasSubstr("give one"));
  one.replica_tiles.reset();
  EXPECT_EQ(layouts.of(one).largest.ranks, 2);
  one.replica_groups = Groups{{0, 1}, {1, 2}};
  EXPECT_EQ(refusal(), "rank 1 is in the replica groups twice");
}

TEST(ReplicaGroups, UnevenGroupsHaveNoModelInAnyForm) {
  GroupLayouts layouts(3, h100());
  CollectiveEntry one{.name = "a"};
  one.replica_counts = ReplicaCounts{.groups = 2, .size = 12};
  EXPECT_THAT(error_of([&] { static_cast<void>(layouts.of(one)); }),
              HasSubstr("more ranks on one node than on another"));
}

// A request of few bytes must not buy much time.
TEST(ReplicaGroups, ManyDifferentShortFormsOfAHugeWorldAreRefused) {
  GroupLayouts layouts(1 << 17, h100());
  CollectiveEntry one{.name = "a", .replica_tiles = "[131072,8]<=[1048576]"};
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(layouts.of(one).largest.nodes, 1);
  std::string refusal;
  for (int zeros = 1; zeros < 40 && refusal.empty(); ++zeros) {
    one.replica_tiles =
        "[131072," + std::string(static_cast<std::size_t>(zeros), '0') + "8]<=[1048576]";
    const std::string error = error_of([&] { static_cast<void>(layouts.of(one)); });
    if (error != "no error") refusal = error;
  }
  EXPECT_THAT(refusal, HasSubstr("of more than 16777216 ranks in all"));
}

}  // namespace
}  // namespace colltune::speed_of_light
