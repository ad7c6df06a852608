// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>

#include "samples.h"

namespace colltune::test {
namespace {

using ::testing::TestWithParam;

TEST(Store, KeepsEveryFieldOfAMeasurement) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  std::vector<Measurement> written;
  for (int i = 0; i < 9; ++i) written.push_back(some_measurement(i, environment));
  written[4].samples = {std::chrono::nanoseconds(0), std::chrono::nanoseconds(INT64_MAX),
                        std::chrono::nanoseconds(-1)};
  written[5].samples.clear();
  written[5].slowest_ranks.clear();
  {
    Store store(folder / "a.db");
    EXPECT_EQ(store.put_environment(environment), digest_of(environment));
    EXPECT_EQ(store.put_environment(environment), digest_of(environment));
    store.begin_sweep(some_sweep("s", environment));
    store.append("s", std::span(written).first(4));
    store.append("s", std::span(written).subspan(4));
    EXPECT_EQ(store.measurements("s"), written);
  }
  // Its owner gets back whatever he wrote; readers do without what is no time.
  const StoreReader reader(folder / "a.db");
  written.erase(written.begin() + 4);
  EXPECT_EQ(reader.measurements("s"), written);
  EXPECT_EQ(reader.left_out().rows, 1U);
  EXPECT_NE(reader.left_out().first.find("samples_ns[2]: -1 is negative"), std::string::npos)
      << reader.left_out().first;
  EXPECT_EQ(reader.measurements(), written);
  ASSERT_EQ(reader.sweeps().size(), 1U);
  EXPECT_EQ(reader.sweeps().front(), some_sweep("s", environment));
  ASSERT_EQ(reader.environments().size(), 1U);
  EXPECT_EQ(reader.environments().front().environment, environment);
  EXPECT_EQ(reader.environments().front().digest, digest_of(environment));
}

TEST(Store, IsTheSameStoreWhenOpenedAgain) {
  const TemporaryFolder folder;
  std::string uuid;
  {
    Store store(folder / "a.db");
    uuid = store.uuid();
    EXPECT_EQ(uuid.size(), 36U);
  }
  EXPECT_EQ(Store(folder / "a.db").uuid(), uuid);
  EXPECT_EQ(StoreReader(folder / "a.db").store_uuid(), uuid);
  EXPECT_NE(Store(folder / "b.db").uuid(), uuid);
}

TEST(Store, RefusesATrialThatTheSweepHasAndKeepsNothingOfTheCall) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  store.begin_sweep(some_sweep("t", environment));
  const std::vector<Measurement> first{some_measurement(0, environment)};
  const std::vector<Measurement> both{some_measurement(1, environment),
                                      some_measurement(0, environment)};
  store.append("s", first);
  std::string message;
  EXPECT_EQ(error_of([&] { store.append("s", both); }, &message), StatusCode::already_exists);
  EXPECT_NE(message.find("mpi.ring{segment=0,way=up}"), std::string::npos) << message;
  EXPECT_EQ(store.measurements("s"), first);
  store.append("t", first);
  EXPECT_EQ(store.measurements("t"), first);
}

TEST(Store, TheBaselineAndItsTwinAreTwoTrials) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  Measurement baseline = some_measurement(0, environment);
  Measurement twin = baseline;
  twin.is_twin = true;
  const std::vector both{baseline, twin};
  store.append("s", both);
  EXPECT_EQ(store.measurements("s"), both);
  std::string message;
  EXPECT_EQ(error_of([&] { store.append("s", std::vector{twin}); }, &message),
            StatusCode::already_exists);
  EXPECT_NE(message.find("as twin"), std::string::npos) << message;
}

TEST(Store, FiguresThatAreNoNumbersAreRefused) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  Measurement measurement = some_measurement(0, environment);
  measurement.conditions.steal = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([&] { store.append("s", std::vector{measurement}); }),
            StatusCode::invalid_argument);
  measurement.conditions.steal = 0;
  measurement.conditions.kept_waiting = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of([&] { store.append("s", std::vector{measurement}); }),
            StatusCode::invalid_argument);
  measurement.conditions.kept_waiting = 0;
  measurement.conditions.device_share = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of([&] { store.append("s", std::vector{measurement}); }),
            StatusCode::invalid_argument);
  Decision decision = some_decision(64, environment);
  decision.confirmation.low = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of([&] { store.publish(std::vector{decision}, "t"); }),
            StatusCode::invalid_argument);
  EXPECT_TRUE(store.measurements("s").empty());
}

TEST(Store, KeepsWhatALibraryChose) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  std::vector<Measurement> written{some_measurement(0, environment),
                                   some_measurement(1, environment)};
  written[0].conditions.executed = "algorithm=ring,channels=8,protocol=ll";
  written[1].conditions.executed_instead = "algorithm=tree,protocol=simple";
  written[1].conditions.renewals = 2;
  store.append("s", written);
  EXPECT_EQ(store.measurements("s"), written);
}

TEST(Store, NamesWhatIsMissing) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  const std::vector<Measurement> one{some_measurement(0, some_environment("never stored"))};
  EXPECT_EQ(error_of([&] { store.append("s", one); }), StatusCode::not_found);
  EXPECT_EQ(error_of([&] { store.begin_sweep(some_sweep("s", environment)); }),
            StatusCode::failed_precondition);
  store.put_environment(environment);
  EXPECT_EQ(error_of([&] { store.begin_sweep(some_sweep("", environment)); }),
            StatusCode::invalid_argument);
  store.begin_sweep(some_sweep("s", environment));
  EXPECT_EQ(error_of([&] { store.begin_sweep(some_sweep("s", environment)); }),
            StatusCode::already_exists);
  EXPECT_EQ(error_of([&] { store.append("s", one); }), StatusCode::failed_precondition);
  EXPECT_TRUE(store.measurements("s").empty());
  EXPECT_EQ(error_of([&] { (void)store.measurements("t"); }), StatusCode::not_found);
  EXPECT_EQ(error_of([&] { store.finish_sweep("t", SweepState::complete, "", ""); }),
            StatusCode::not_found);
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(error_of([&] { (void)reader.measurements("t"); }), StatusCode::not_found);
  EXPECT_EQ(error_of([&] { (void)reader.published(); }), StatusCode::not_found);
}

TEST(Store, ASweepFinishesOnceWhenComplete) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  EXPECT_EQ(error_of([&] { store.finish_sweep("s", SweepState::running, "", ""); }),
            StatusCode::invalid_argument);
  const std::vector<Measurement> one{some_measurement(0, environment)};
  const std::vector<Measurement> two{some_measurement(1, environment)};
  store.finish_sweep("s", SweepState::partial, "2026-01-02T05:00:00Z", "{}");
  store.append("s", one);  // resumed
  store.finish_sweep("s", SweepState::complete, "2026-01-02T06:00:00Z", "{\"a\":1}");
  EXPECT_EQ(error_of([&] { store.append("s", two); }), StatusCode::failed_precondition);
  EXPECT_EQ(error_of([&] { store.finish_sweep("s", SweepState::failed, "", ""); }),
            StatusCode::failed_precondition);
  const auto sweeps = StoreReader(folder / "a.db").sweeps();
  ASSERT_EQ(sweeps.size(), 1U);
  EXPECT_EQ(sweeps.front().state, SweepState::complete);
  EXPECT_EQ(sweeps.front().finished_at, "2026-01-02T06:00:00Z");
  EXPECT_EQ(sweeps.front().summary, "{\"a\":1}");
  EXPECT_EQ(sweeps.front().seed, 0x8000000000000001ULL);
}

TEST(Store, AProblemThatContradictsItselfIsRefused) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  std::vector<Measurement> one{some_measurement(0, environment)};
  one.front().key.problem.collective = Collective::all_gather;
  EXPECT_EQ(error_of([&] { store.append("s", one); }), StatusCode::invalid_argument);
}

TEST(StoreReader, SeesWhatTheOwnerAppendsMeanwhile) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  const StoreReader reader(folder / "a.db");
  for (int i = 0; i < 5; ++i) {
    const std::vector<Measurement> one{some_measurement(i, environment)};
    store.append("s", one);
    EXPECT_EQ(reader.measurements("s").size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(StoreReader(folder / "a.db").measurements().size(), static_cast<std::size_t>(i) + 1);
  }
}

}  // namespace
}  // namespace colltune::test
