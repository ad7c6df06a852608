// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "commands/publication.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "../temporary_folder.h"
#include "../trials.h"
#include "colltune/db/store.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

using literals::key;
using literals::TemporaryFolder;
using literals::trial;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

SweepPlan plan_of(const std::vector<TuningKey>& keys) {
  SweepPlan plan;
  for (const TuningKey& one : keys) plan.cells.push_back({.key = one});
  plan.budget = std::chrono::seconds(8);
  return plan;
}

Decision decision_for(const TuningKey& of, const std::string& sweep_uuid = "s") {
  return {.key = of,
          .ranked = {{.variant = parse_variant("fast")}},
          .sweep_uuid = sweep_uuid,
          .verdict = Verdict::displaced};
}

Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(StatusCode::internal, "no error");
}

TEST(Missing, ASweepThatCameToAllKeysLacksNothing) {
  const Missing missing = missing_of(plan_of({key(1), key(2)}),
                                     std::vector{trial({"fast"}, key(1)), trial({"fast"}, key(2))},
                                     std::vector{decision_for(key(1)), decision_for(key(2))});
  EXPECT_EQ(describe_missing(missing, plan_of({}), SweepEnd::complete), "");
  EXPECT_EQ(exit_code_of(missing, false), 0);
  EXPECT_EQ(exit_code_of(missing, true), 1);
}

TEST(Missing, KeysThatTheBudgetDidNotReachAreNamedWithTheWayOn) {
  const SweepPlan plan = plan_of({key(1024), key(4096)});
  const Missing missing = missing_of(plan, std::vector{trial({"fast"}, key(1024))},
                                     std::vector{decision_for(key(1024))});
  const std::string text = describe_missing(missing, plan, SweepEnd::budget);
  EXPECT_THAT(text,
              StartsWith("1 of 2 keys were not measured: the budget of 8 s was over; the same "
                         "command with --resume goes on"));
  EXPECT_THAT(text, HasSubstr("4KiB"));
  EXPECT_THAT(text, Not(HasSubstr("1KiB")));
  EXPECT_EQ(exit_code_of(missing, false), exit_incomplete);
  EXPECT_EQ(exit_code_of(missing, true), exit_incomplete);
  EXPECT_THAT(describe_missing(missing, plan, SweepEnd::stopped),
              HasSubstr("was stopped; the same command goes on"));
}

TEST(Missing, KeysOfWhichEveryVariantFailedSayWhy) {
  Measurement failed = trial({"fast"}, key(1024));
  failed.outcome = Outcome::failed;
  failed.detail = "std::bad_alloc";
  const SweepPlan plan = plan_of({key(1024)});
  const Missing all = missing_of(plan, std::vector{failed}, {});
  EXPECT_THAT(describe_missing(all, plan, SweepEnd::complete),
              HasSubstr("no variant ended well; fast failed: std::bad_alloc"));
  EXPECT_EQ(exit_code_of(all, true), 3) << "nothing was decided";
  const SweepPlan two = plan_of({key(1024), key(2048)});
  const Missing one = missing_of(two, std::vector{failed, trial({"fast"}, key(2048))},
                                 std::vector{decision_for(key(2048))});
  EXPECT_EQ(exit_code_of(one, true), 1);
}

TEST(Missing, NothingMeasuredIsNothingFound) {
  const SweepPlan plan = plan_of({key(1024)});
  EXPECT_EQ(exit_code_of(missing_of(plan, {}, {}), false), 3);
}

TEST(EmptyPlan, IsRefusedWithTheReasons) {
  SweepPlan plan;
  plan.skipped.push_back({.problem = key(3).problem, .reason = "3 is less than one f32 element"});
  const Error error = error_of([&] { refuse_empty(plan); });
  EXPECT_EQ(error.code(), StatusCode::not_found);
  EXPECT_THAT(error.what(), HasSubstr("3 is less than one f32 element"));
  refuse_empty(plan_of({key()}));
}

TEST(TooLarge, IsRefusedWithNeededAndAvailable) {
  SweepPlan plan = plan_of({key(1024), key(64 << 20)});
  plan.worlds = {{.ranks = {0, 1}}};
  // Ordinary calls come with three pairs of buffers in turns, persistent ones always with one.
  for (Cell& cell : plan.cells) cell.key.calling = Calling::each;
  Availability availability{
      .kinds = {Capability{}}, .kind_of_rank = {0, 0}, .node_of_rank = {0, 0}};
  const Error of_each = error_of([&] { refuse_too_large(plan, availability, {767 << 20}); });
  EXPECT_THAT(of_each.what(), HasSubstr("take at least 768.0 MiB, and 767.0 MiB are available"));
  refuse_too_large(plan, availability, {768 << 20});
  for (Cell& cell : plan.cells) cell.key.calling = Calling::persistent;
  const Error error = error_of([&] { refuse_too_large(plan, availability, {200 << 20}); });
  EXPECT_EQ(error.code(), StatusCode::failed_precondition);
  EXPECT_THAT(error.what(), HasSubstr("64MiB"));
  EXPECT_THAT(error.what(), HasSubstr("take at least 256.0 MiB, and 200.0 MiB are available"));
  refuse_too_large(plan, availability, {256 << 20});
  // A node each.
  availability.node_of_rank = {0, 1};
  refuse_too_large(plan, availability, {200 << 20});
  // Buffers on devices are no host's memory.
  availability.node_of_rank = {0, 0};
  availability.kinds[0].features["device.processors"] = "132";
  refuse_too_large(plan, availability, {200 << 20});
  // Sizes beyond what numbers hold.
  availability.kinds = {Capability{}};
  plan.cells.back().key.problem.message_size = {std::uint64_t{1} << 63};
  EXPECT_EQ(error_of([&] { refuse_too_large(plan, availability, {1}); }).code(),
            StatusCode::failed_precondition);
}

TEST(TooLarge, APlanThatIsShownSaysWhy) {
  SweepPlan plan = plan_of({key(1024), key(64 << 20)});
  plan.worlds = {{.ranks = {0, 1}}};
  for (Cell& cell : plan.cells) cell.key.calling = Calling::persistent;
  const Availability availability{
      .kinds = {Capability{}}, .kind_of_rank = {0, 0}, .node_of_rank = {0, 0}};
  EXPECT_EQ(why_not_in_memory(plan, availability, {256 << 20}), "");
  EXPECT_EQ(why_not_in_memory(plan, availability, {200 << 20}),
            error_of([&] { refuse_too_large(plan, availability, {200 << 20}); }).what());
}

// One call of a program that does not fit says nothing against its others.
TEST(TooLarge, IsLeftOutOfAProgramsCallsWithTheReason) {
  SweepPlan plan = plan_of({key(1024), key(64 << 20), key(4096)});
  plan.worlds = {{.ranks = {0, 1}}};
  for (Cell& cell : plan.cells) cell.key.calling = Calling::persistent;
  const Availability availability{
      .kinds = {Capability{}}, .kind_of_rank = {0, 0}, .node_of_rank = {0, 0}};
  EXPECT_EQ(leave_out_too_large(plan, availability, {256 << 20}), "");
  EXPECT_EQ(plan.cells.size(), 3U);
  plan.cells[1].weight = 2;
  const std::string line = leave_out_too_large(plan, availability, {200 << 20});
  EXPECT_THAT(line, StartsWith("not measured, too large for the memory: 1 of 3 keys, 50.0 % of "
                               "their time: all_reduce f32 sum 64MiB"));
  EXPECT_THAT(line, HasSubstr("take at least 256.0 MiB, and 200.0 MiB are available there"));
  ASSERT_EQ(plan.cells.size(), 2U);
  EXPECT_EQ(plan.cells[0].key.problem, key(1024).problem);
  EXPECT_EQ(plan.cells[1].key.problem, key(4096).problem);
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].problem, key(64 << 20).problem);
  EXPECT_THAT(plan.skipped[0].reason,
              HasSubstr("take at least 256.0 MiB, and 200.0 MiB are available"));
}

TEST(TooLarge, ManyOfAProgramsCallsAreOneLine) {
  SweepPlan plan = plan_of({key(1 << 20), key(2 << 20), key(4 << 20), key(8 << 20), key(16 << 20)});
  plan.worlds = {{.ranks = {0, 1}}};
  for (Cell& cell : plan.cells) cell.key.calling = Calling::persistent;
  const Availability availability{
      .kinds = {Capability{}}, .kind_of_rank = {0, 0}, .node_of_rank = {0, 0}};
  const std::string line = leave_out_too_large(plan, availability, {3 << 20});
  EXPECT_THAT(line, StartsWith("not measured, too large for the memory: 5 of 5 keys, 100.0 % of"));
  EXPECT_THAT(line, HasSubstr(" and 2 more: "));
  EXPECT_THAT(line, HasSubstr("take at least 4.0 MiB, and 3.0 MiB are available there"));
  EXPECT_TRUE(plan.cells.empty());
}

TEST(Publication, SaysWhatChangedWhatStaysAndWhy) {
  std::vector<Settled> settled{
      {decision_for(key(1)), Settlement::added, "nothing was published"},
      {decision_for(key(1024)), Settlement::kept, "proven before, undecided now"},
      {decision_for(key(2048)), Settlement::replaced, "slow was wrong in this sweep"}};
  const std::string text = describe_publication(settled);
  EXPECT_THAT(text, StartsWith("1 added, 1 replaced, 0 strengthened, 1 kept\n"));
  EXPECT_THAT(text, HasSubstr("kept: all_reduce f32 sum 1KiB"));
  EXPECT_THAT(text, HasSubstr("fast: proven before, undecided now\n"));
  EXPECT_THAT(text, HasSubstr("fast: slow was wrong in this sweep\n"));
}

TEST(EarlierEvidence, IsThatOfThePlansKeysAndOfSweepsThatEnded) {
  const TemporaryFolder folder;
  const std::string path = (folder / "tuning.db").string();
  const Environment environment;
  const std::string digest = digest_of(environment);
  TuningKey own = key();
  own.environment_digest = digest;
  {
    Store store(path);
    ASSERT_EQ(store.put_environment(environment), digest);
    for (const char* uuid : {"a", "b", "confirm", "running", "hot"}) {
      store.begin_sweep({.uuid = uuid,
                         .started_at = "t",
                         .configuration = "{}",
                         .environment_digest = digest,
                         .purpose = std::string(uuid) == "confirm" ? SweepPurpose::confirm
                                                                   : SweepPurpose::choose});
      Measurement measured = trial({"fast"}, own);
      measured.slowest_ranks.assign(measured.samples.size(), 0);
      if (std::string(uuid) == "hot") measured.key.input = InputMode::hot;
      store.append(uuid, std::span(&measured, 1));
      if (std::string(uuid) != "running") store.finish_sweep(uuid, SweepState::complete, "t", "{}");
    }
  }
  const SweepPlan plan = plan_of({own});
  const auto evidence = earlier_evidence(path, digest, plan, "b", {});
  ASSERT_EQ(evidence.size(), 1u);
  EXPECT_EQ(evidence[0].sweep_uuid, "a");
  EXPECT_TRUE(earlier_evidence(path, "other", plan, "b", {}).empty());
  const QuarantineRecord quarantine{.key = own, .variant = parse_variant("fast"), .failures = 2};
  EXPECT_TRUE(earlier_evidence(path, digest, plan, "b", std::span(&quarantine, 1)).empty());
  // What was measured in another regime is evidence for that regime alone.
  TuningKey hot = own;
  hot.input = InputMode::hot;
  const auto of_hot = earlier_evidence(path, digest, plan_of({hot}), "b", {});
  ASSERT_EQ(of_hot.size(), 1u);
  EXPECT_EQ(of_hot[0].sweep_uuid, "hot");
  hot.calling = own.calling == Calling::each ? Calling::persistent : Calling::each;
  EXPECT_TRUE(earlier_evidence(path, digest, plan_of({hot}), "b", {}).empty());
}

TEST(Findings, AreReadWhileAnotherProcessOwnsTheDatabase) {
  const TemporaryFolder folder;
  const std::string path = (folder / "tuning.db").string();
  TuningKey own = key(1024);
  own.environment_digest = digest_of(Environment{});
  Store store(path);
  (void)store.put_environment({});
  EXPECT_TRUE(read_findings(path, own.environment_digest).decisions.empty());
  store.begin_sweep({.uuid = "s",
                     .started_at = "t",
                     .configuration = "{}",
                     .environment_digest = own.environment_digest});
  Measurement measured = trial({"fast"}, own);
  measured.slowest_ranks.assign(measured.samples.size(), 0);
  store.append("s", std::span(&measured, 1));
  store.finish_sweep("s", SweepState::complete, "t", "{}");
  const Decision decision = decision_for(own);
  store.publish(std::span(&decision, 1), "t");
  store.quarantine({.key = own,
                    .variant = parse_variant("hangs"),
                    .failures = 2,
                    .reason = "hung twice",
                    .since = "t"});
  const EarlierFindings found = read_findings(path, own.environment_digest);
  ASSERT_EQ(found.measured.size(), 1U);
  EXPECT_EQ(found.measured[0].key, own);
  ASSERT_EQ(found.decisions.size(), 1U);
  ASSERT_EQ(found.quarantined.size(), 1U);
  EXPECT_EQ(found.quarantined[0].variant, "hangs");
  EXPECT_EQ(found.quarantined[0].key_digest, digest_of_value(own));
  EXPECT_TRUE(read_findings(path, "another").measured.empty());
}

TEST(Publication, DecisionsOfTwoRegimesLiveSideBySide) {
  const TemporaryFolder folder;
  const std::string path = (folder / "tuning.db").string();
  std::vector<TuningKey> keys;
  for (const Calling calling : {Calling::each, Calling::persistent})
    for (const InputMode input : {InputMode::rewritten, InputMode::hot}) {
      keys.push_back(key());
      keys.back().environment_digest = digest_of(Environment{});
      keys.back().calling = calling;
      keys.back().input = input;
    }
  Store store(path);
  (void)store.put_environment({});
  for (const TuningKey& one : keys) {
    Decision decision = decision_for(one);
    decision.reason = describe(regime_of(one));
    store.publish(std::span(&decision, 1), "t");
  }
  // Publishing one of them again replaces none of the others.
  Decision again = decision_for(keys[1]);
  again.reason = "again";
  store.publish(std::span(&again, 1), "t");
  const auto published = StoreReader(path).published().decisions;
  ASSERT_EQ(published.size(), keys.size());
  for (const Decision& decision : published)
    EXPECT_EQ(decision.reason,
              decision.key == keys[1] ? "again" : describe(regime_of(decision.key)));
}

}  // namespace
}  // namespace colltune
