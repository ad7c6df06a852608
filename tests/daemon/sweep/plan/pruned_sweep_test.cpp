// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/sweep/plan/pruning.h"
#include "earlier_times.h"
#include "plan_fixture.h"
#include "sweep_run.h"

namespace colltune {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// What a busy machine adds to a sleep must not change who wins, so the sleeps are long.
fakes::Behaviour slow(const std::string& name) {
  return {.name = name, .family = "other", .at_start = [](int, int) {
            std::this_thread::sleep_for(40ms);
          }};
}

/// In the family "other" only "quick" does not sleep.
Implementations planted() {
  return fakes::make({{.name = "base", .is_baseline = true},
                      slow("slow1"),
                      slow("slow2"),
                      slow("slow3"),
                      {.name = "quick", .family = "other"}});
}

SweepSpec spec_at(const std::string& sizes) {
  SweepSpec spec = spec_of(sizes);
  spec.passes = 1;
  spec.soak = {.runs = 0};
  return spec;
}

/// A sweep of 256 B after others at 64 B and 1 KiB which found the times of `time_of`.
void sweep_after(fakes::SweepRun& run, const Implementations& implementations, bool prune,
                 const std::function<double(const std::string&)>& time_of) {
  SweepSpec spec = spec_at("64,1KiB");
  const Availability availability = [&] {
    Availability found;
    fakes::on_ranks(2, 10s, [&](ControlPlane& control, Communicator& launch) {
      Availability one =
          exchange_capabilities(control, launch, detect_capability(implementations, launch));
      if (control.rank() == 0) found = std::move(one);
      control.barrier();
    });
    return found;
  }();
  run.earlier = fakes::earlier_times(make_plan(spec, availability, implementations, "e"), time_of);
  spec.sizes = parse_sizes("256");
  spec.prune = prune;
  fakes::sweep(run, 2, implementations, spec);
  EXPECT_THAT(run.errors, Each(""));
  EXPECT_THAT(run.ends, Each(SweepEnd::complete));
}

std::string winner_of_family(const std::vector<Decision>& decisions) {
  const auto found = std::ranges::find(decisions, "other", &Decision::family);
  return found == decisions.end() ? "no decision" : to_string(found->ranked.front().variant);
}

TEST(PrunedSweep, SavesTrialsAndKeepsTheWinner) {
  const Implementations implementations = planted();
  const auto right = [](const std::string& name) { return name.starts_with("slow") ? 4e7 : 1e4; };
  fakes::SweepRun all;
  sweep_after(all, implementations, false, right);
  fakes::SweepRun pruned;
  sweep_after(pruned, implementations, true, right);
  EXPECT_EQ(all.outcome.measurements.size(), 5u);
  EXPECT_EQ(pruned.outcome.measurements.size(), 3u);  // one of the slow ones is audited
  const auto decisions = decide(pruned.outcome.measurements, {}, "s");
  EXPECT_EQ(winner_of_family(decide(all.outcome.measurements, {}, "s")), "quick");
  EXPECT_EQ(winner_of_family(decisions), "quick");
  const PruningAudit audit =
      audit_pruning(pruned.journal.plans.at(0), pruned.outcome.measurements, decisions);
  EXPECT_EQ(audit.pruned, 3u);
  EXPECT_EQ(audit.audited, 1u);
  EXPECT_EQ(audit.measured, 1u);
  EXPECT_TRUE(audit.wins.empty());
  EXPECT_THAT(describe(audit), HasSubstr("none would have won"));
}

TEST(PrunedSweep, AWrongModelIsToldByTheAudit) {
  const Implementations implementations = planted();
  fakes::SweepRun run;
  sweep_after(run, implementations, true,
              [](const std::string& name) { return name == "quick" ? 4e7 : 1e4; });
  const auto decisions = decide(run.outcome.measurements, {}, "s");
  const PruningAudit audit =
      audit_pruning(run.journal.plans.at(0), run.outcome.measurements, decisions);
  EXPECT_EQ(audit.pruned, 1u);
  EXPECT_EQ(audit.measured, 1u);
  ASSERT_EQ(audit.wins.size(), 1u);
  EXPECT_EQ(to_string(audit.wins[0].variant), "quick");
  EXPECT_THAT(describe(audit), HasSubstr("1 would have won, so others may"));
}

}  // namespace
}  // namespace colltune
