// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Two processes: the owner's lock, and what a kill leaves.

#include <unistd.h>

#include <fstream>

#include "child.h"
#include "samples.h"

namespace colltune::test {
namespace {

TEST(OwnerLock, AnotherProcessIsRefusedUntilTheOwnerIsKilled) {
  const TemporaryFolder folder;
  Child owner([&](int pipe) {
    Store store(folder / "a.db");
    report(pipe, 1);
    pause();
  });
  ASSERT_EQ(owner.next(), 1);
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }, &message),
            StatusCode::failed_precondition);
  EXPECT_NE(message.find("process " + std::to_string(owner.pid()) + " on host "), std::string::npos)
      << message;
  EXPECT_NE(message.find(" since 2"), std::string::npos) << message;
  EXPECT_NO_THROW(StoreReader reader(folder / "a.db"));
  owner.kill_now();
  EXPECT_NO_THROW(Store store(folder / "a.db"));
}

TEST(OwnerLock, ALinkInItsPlaceIsNotFollowedAndAnotherFileNotEmptied) {
  const TemporaryFolder folder;
  const auto size_of_victim = [&] { return std::filesystem::file_size(folder / "victim"); };
  std::ofstream(folder / "victim") << "precious";
  std::filesystem::create_symlink(folder / "victim", folder / "a.db.lock");
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }, &message),
            StatusCode::permission_denied);
  EXPECT_NE(message.find("is a symbolic link"), std::string::npos) << message;
  EXPECT_EQ(size_of_victim(), 8U);

  std::filesystem::remove(folder / "a.db.lock");
  std::filesystem::create_hard_link(folder / "victim", folder / "a.db.lock");
  EXPECT_NO_THROW(Store store(folder / "a.db"));
  EXPECT_EQ(size_of_victim(), 8U);
}

TEST(OwnerLock, ASecondOwnerInThisProcessIsRefusedUnderAnyName) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder / "a.db", folder / "link.db");
  {
    Store store(folder / "a.db");
    EXPECT_EQ(error_of([&] { Store second(folder / "a.db"); }), StatusCode::failed_precondition);
    EXPECT_EQ(error_of([&] { Store second(folder / "link.db"); }), StatusCode::failed_precondition);
    Store moved = std::move(store);
    EXPECT_EQ(error_of([&] { Store second(folder / "a.db"); }), StatusCode::failed_precondition);
  }
  EXPECT_NO_THROW(Store again(folder / "link.db"));
}

TEST(Kill, LosesNothingThatWasAcknowledged) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  int acknowledged = -1;
  int next = 0;
  for (int round = 0; round < 12; ++round) {
    {
      Child owner([&](int pipe) {
        Store store(folder / "a.db");
        store.put_environment(environment);
        if (next == 0) store.begin_sweep(some_sweep("s", environment));
        for (int i = next;; ++i) {
          store.append("s", std::vector{some_measurement(i, environment)});
          report(pipe, i);
        }
      });
      const int wanted = next + 3 + 5 * round;
      while (acknowledged < wanted) {
        const int value = owner.next();
        ASSERT_GE(value, 0);
        acknowledged = value;
      }
      owner.kill_now();
      for (int value = owner.next(); value >= 0; value = owner.next()) acknowledged = value;
    }
    // Read beside nobody, with the log as the kill left it; then by the next owner.
    const auto seen = StoreReader(folder / "a.db").measurements("s");
    ASSERT_GE(seen.size(), static_cast<std::size_t>(acknowledged) + 1);
    ASSERT_LE(seen.size(), static_cast<std::size_t>(acknowledged) + 2);
    for (std::size_t i = 0; i < seen.size(); ++i)
      ASSERT_EQ(seen[i], some_measurement(static_cast<int>(i), environment));
    next = static_cast<int>(seen.size());
  }
  Store store(folder / "a.db");
  EXPECT_EQ(store.measurements("s").size(), static_cast<std::size_t>(next));
}

TEST(Kill, WhilePublishingLeavesAWholeGenerationAndTheOwnerHealsTheSnapshot) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 6; ++round) {
    {
      Child owner([&](int pipe) {
        Store store(folder / "a.db");
        store.put_environment(environment);
        for (std::uint64_t size = 8;; size += 8) {
          const auto winner = "w" + std::to_string(size + acknowledged);
          store.publish(std::vector{some_decision(size % 64 + 8, environment, winner)}, "t");
          report(pipe, 1);
        }
      });
      for (int i = 0; i < 2 + round; ++i, ++acknowledged) ASSERT_EQ(owner.next(), 1);
      owner.kill_now();
      while (owner.next() == 1) ++acknowledged;
    }
    Generation newest;
    {
      const StoreReader reader(snapshot_path(folder / "a.db"));
      EXPECT_FALSE(reader.published().decisions.empty());
    }
    {
      Store store(folder / "a.db");
      newest = StoreReader(folder / "a.db").published().generation;
    }
    EXPECT_GE(newest.number, acknowledged);
    EXPECT_EQ(StoreReader(snapshot_path(folder / "a.db")).published().generation, newest);
    acknowledged = newest.number;
  }
}

}  // namespace
}  // namespace colltune::test
