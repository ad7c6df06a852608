// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A variant that another one covers is planned only where that one is not, or where somebody asks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr const char* adaptive =
    "cpu.gather_low_latency{format=header,slots=4,stores=adaptive,taken_back=one_line}";
constexpr const char* cached =
    "cpu.gather_low_latency{format=header,slots=4,stores=cached,taken_back=one_line}";

class CoveredVariants : public testing::Test {
 protected:
  SweepSpec spec_{.collectives = {Collective::gather},
                  .sizes = parse_sizes("16KiB"),
                  .include = {"cpu.gather_low_latency"},
                  .null_test = false};
  std::vector<Capability> ranks_ = std::vector<Capability>(
      2, Capability{.architecture = "x", .features = {{std::string(streaming_feature), ""}}});
  Findings findings_;

  [[nodiscard]] std::vector<std::string> planned() const {
    const Availability availability = merge_capabilities(ranks_, std::vector<int>{0, 0});
    const SweepPlan plan = make_plan(spec_, availability, catalogue_, "e", findings_);
    std::vector<std::string> names;  // of those that differ in how they store alone
    for (const PlannedVariant& one : plan.cells.at(0).variants)
      if (word(one.variant, "format") == "header" &&
          word(one.variant, "taken_back") == "one_line" && number(one.variant, "slots") == 4)
        names.push_back(to_string(one.variant));
    return names;
  }

  const Implementations catalogue_ = make_catalogue();
};

TEST_F(CoveredVariants, AreNotPlannedBesideWhatCoversThem) {
  EXPECT_THAT(planned(), testing::ElementsAre(adaptive));
}

TEST_F(CoveredVariants, ArePlannedWhereSomebodyAsks) {
  spec_.parameters = {{.pattern = "cpu.*", .parameter = "stores", .values = {"cached"}}};
  EXPECT_THAT(planned(), testing::ElementsAre(cached));
  spec_.parameters = {
      {.pattern = "cpu.*", .parameter = "stores", .values = {"cached", "adaptive"}}};
  EXPECT_THAT(planned(), testing::UnorderedElementsAre(adaptive, cached));
}

TEST_F(CoveredVariants, ArePlannedWhereSomeRankLacksWhatCoversThem) {
  ranks_[1].features["without.cpu.*{*stores=adaptive*}"] = "";
  EXPECT_THAT(planned(), Contains(cached));
  EXPECT_THAT(planned(), Not(Contains(adaptive)));
}

TEST_F(CoveredVariants, ArePlannedWhereNoRankCanStorePastTheCaches) {
  ranks_[1].features.clear();  // one still can, and to the other every way is the same
  EXPECT_THAT(planned(), testing::ElementsAre(adaptive));
  ranks_[0].features.clear();
  EXPECT_THAT(planned(), testing::ElementsAre(cached));
}

TEST_F(CoveredVariants, ArePlannedWhereWhatCoversThemIsQuarantined) {
  const Availability availability = merge_capabilities(ranks_, std::vector<int>{0, 0});
  const SweepPlan all = make_plan(spec_, availability, catalogue_, "e");
  const std::vector<Quarantined> quarantined{
      {.key_digest = digest_of_value(all.cells.at(0).key), .variant = adaptive, .reason = "hangs"}};
  findings_.quarantined = quarantined;
  EXPECT_THAT(planned(), testing::ElementsAre(cached));
}

}  // namespace
}  // namespace colltune
