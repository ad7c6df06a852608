// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// A sweep that ended early is found and taken up.

#include "child.h"
#include "samples.h"

namespace colltune::test {
namespace {

class Resume : public testing::Test {
 protected:
  Resume() { store.put_environment(environment); }
  [[nodiscard]] std::optional<SweepRecord> unfinished() const {
    const SweepRecord sweep = some_sweep("", environment);
    return store.unfinished_sweep(sweep.configuration, sweep.environment_digest, sweep.provenance,
                                  sweep.launch);
  }
  [[nodiscard]] std::string unfinished_uuid() const {
    const auto sweep = unfinished();
    return sweep ? sweep->uuid : "none";
  }
  void end(const std::string& uuid, SweepState state) {
    store.finish_sweep(uuid, state, "2026-01-02T05:00:00Z", "{}");
  }

  TemporaryFolder folder;
  Environment environment = some_environment();
  Store store{folder / "a.db"};
};

TEST_F(Resume, TheNewestUnfinishedSweepIsFound) {
  EXPECT_EQ(unfinished(), std::nullopt);
  const SweepRecord killed = some_sweep("killed", environment);
  store.begin_sweep(killed);
  EXPECT_EQ(unfinished(), killed);
  store.begin_sweep(some_sweep("partial", environment));
  end("partial", SweepState::partial);
  EXPECT_EQ(unfinished_uuid(), "partial");
  store.begin_sweep(some_sweep("failed", environment));
  end("failed", SweepState::failed);
  EXPECT_EQ(unfinished_uuid(), "partial");
  store.begin_sweep(some_sweep("complete", environment));
  end("complete", SweepState::complete);
  EXPECT_EQ(unfinished_uuid(), "none");  // the older ones are superseded
  store.begin_sweep(some_sweep("next", environment));
  EXPECT_EQ(unfinished_uuid(), "next");
}

TEST_F(Resume, AConfirmationIsNoSweepToTakeUp) {
  SweepRecord confirmation = some_sweep("confirmation", environment);
  confirmation.purpose = SweepPurpose::confirm;
  confirmation.confirmation = "c";
  store.begin_sweep(confirmation);
  EXPECT_EQ(unfinished(), std::nullopt);
  store.begin_sweep(some_sweep("killed", environment));
  confirmation.uuid = "another";
  store.begin_sweep(confirmation);
  end("another", SweepState::complete);
  EXPECT_EQ(unfinished_uuid(), "killed");
}

TEST_F(Resume, OnlyASweepOfExactlyTheseIsFound) {
  const Environment other = some_environment("another CPU");
  store.put_environment(other);
  const SweepRecord sweep = some_sweep("s", environment);
  store.begin_sweep(sweep);
  EXPECT_TRUE(store.unfinished_sweep(sweep.configuration, sweep.environment_digest,
                                     sweep.provenance, sweep.launch));
  EXPECT_FALSE(
      store.unfinished_sweep("{}", sweep.environment_digest, sweep.provenance, sweep.launch));
  EXPECT_FALSE(store.unfinished_sweep(sweep.configuration, digest_of(other), sweep.provenance,
                                      sweep.launch));
  EXPECT_FALSE(store.unfinished_sweep(sweep.configuration, sweep.environment_digest,
                                      sweep.provenance, "2 ranks"));
  Provenance rebuilt = sweep.provenance;
  rebuilt.build = "another compiler";
  EXPECT_FALSE(
      store.unfinished_sweep(sweep.configuration, sweep.environment_digest, rebuilt, sweep.launch));
}

TEST_F(Resume, APartialSweepGoesOnWithoutDoublesAndEnds) {
  const std::vector first{some_measurement(0, environment)};
  const std::vector second{some_measurement(1, environment)};
  store.begin_sweep(some_sweep("s", environment));
  store.append("s", first);
  end("s", SweepState::partial);
  { Store closed = std::move(store); }
  store = Store(folder / "a.db");

  store.resume_sweep("s");
  EXPECT_EQ(unfinished(), some_sweep("s", environment));  // running, without an end
  EXPECT_EQ(error_of([&] { store.append("s", first); }), StatusCode::already_exists);
  store.append("s", second);
  end("s", SweepState::complete);
  const Generation generation = store.publish(std::vector{some_decision(64, environment)}, "t");
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(reader.measurements("s"), (std::vector{first[0], second[0]}));
  EXPECT_EQ(reader.sweeps().front().state, SweepState::complete);
  EXPECT_EQ(reader.published().generation, generation);
}

TEST_F(Resume, OnlyWhatIsNotCompleteGoesOn) {
  EXPECT_EQ(error_of([&] { store.resume_sweep("none"); }), StatusCode::not_found);
  store.begin_sweep(some_sweep("s", environment));
  store.resume_sweep("s");  // killed: it is running already
  end("s", SweepState::failed);
  store.resume_sweep("s");
  EXPECT_EQ(unfinished_uuid(), "s");
  end("s", SweepState::complete);
  EXPECT_EQ(error_of([&] { store.resume_sweep("s"); }), StatusCode::failed_precondition);
}

TEST_F(Resume, AQuarantinedTrialIsClosedByTheJournal) {
  store.begin_sweep(some_sweep("sweep-1", environment));
  EXPECT_EQ(store.record_failure(some_failure(0, environment)), 1);
  EXPECT_EQ(store.record_failure(some_failure(0, environment)), 2);
  store.quarantine(some_quarantine(0, environment));
  Measurement crashed = some_measurement(0, environment);
  crashed.outcome = Outcome::crashed;
  crashed.samples.clear();
  crashed.slowest_ranks.clear();
  store.append("sweep-1", std::vector{crashed});
  end("sweep-1", SweepState::complete);
  EXPECT_EQ(store.measurements("sweep-1"), std::vector{crashed});
}

/// One sweep over many owners, each killed at some moment: what the loop of the agent does.
TEST(ResumeAfterKills, EveryTrialIsThereOnce) {
  constexpr int trials = 60;
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  const SweepRecord sweep = some_sweep("s", environment);
  int launches = 0;
  bool is_complete = false;
  while (!is_complete) {
    ASSERT_LT(++launches, 40);
    Child owner([&](int pipe) {
      Store store(folder / "a.db");
      store.put_environment(environment);
      const auto unfinished = store.unfinished_sweep(sweep.configuration, sweep.environment_digest,
                                                     sweep.provenance, sweep.launch);
      // The owner before may have been killed right after the end, before it could report it.
      const bool has_ended = !unfinished && !StoreReader(folder / "a.db").sweeps().empty();
      if (has_ended) return report(pipe, trials);
      if (!unfinished) store.begin_sweep(sweep);
      if (unfinished) store.resume_sweep(unfinished->uuid);
      for (int i = static_cast<int>(store.measurements("s").size()); i < trials; ++i) {
        store.append("s", std::vector{some_measurement(i, environment)});
        report(pipe, i);
      }
      store.finish_sweep("s", SweepState::complete, "t", "{}");
      report(pipe, trials);
    });
    for (int i = 0; i < 3 && !is_complete; ++i) is_complete = owner.next() == trials;
    owner.kill_now();
    for (int value = owner.next(); value >= 0; value = owner.next())
      is_complete = is_complete || value == trials;
  }
  const StoreReader reader(folder / "a.db");
  ASSERT_EQ(reader.sweeps().size(), 1U);
  EXPECT_EQ(reader.sweeps().front().state, SweepState::complete);
  const auto all = reader.measurements("s");
  ASSERT_EQ(all.size(), static_cast<std::size_t>(trials));
  for (int i = 0; i < trials; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i)], some_measurement(i, environment));
  EXPECT_GT(launches, 1);
}

}  // namespace
}  // namespace colltune::test
