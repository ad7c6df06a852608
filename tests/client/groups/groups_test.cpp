// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that open a table in the documented way, as threads of several processes, while generations
// are published in a store, the daemon is restarted and some come late: never two answers.

#include <gtest/gtest.h>

#include "colltune/db/store.h"
#include "daemon.h"
#include "process.h"
#include "ranks.h"
#include "support/full_run.h"

namespace colltune::testing {
namespace {

class Groups : public ::testing::Test {
 protected:
  Groups() {
    Store store(database_);
    store.put_environment(test_environment());
    store.begin_sweep({.uuid = "sweep-1",
                       .started_at = "2026-01-01T00:00:00Z",
                       .configuration = "{}",
                       .environment_digest = digest_of(test_environment())});
    publish(store, 0);
  }

  void publish(Store& store, std::uint64_t number) {
    (void)store.publish(decisions_of(number), "2026-01-01T00:01:00Z");
    ++board_->published;
  }

  TemporaryFolder folder_;
  std::string database_ = folder_.file("tuning.db");
  SharedBoard board_;
};

TEST_F(Groups, NeverHaveTwoAnswers) {
  const bool is_full = test::is_full_run();
  const std::uint64_t rounds = is_full ? 100 : 6;
  const std::vector<pid_t> children = start_ranks(*board_, "unix:" + folder_.file("socket"));
  int restarts = 0;
  const auto begin = Clock::now();
  {
    std::jthread publisher([&](std::stop_token stop) {
      Store store(database_);
      for (std::uint64_t number = 1; !stop.stop_requested(); ++number) publish(store, number);
    });
    const auto end = Clock::now() + (is_full ? std::chrono::hours(1) : patience);
    while (board_->rounds < rounds && Clock::now() < end) {
      DaemonProcess daemon(folder_, database_);
      daemon.wait_until_ready();
      ++restarts;
      const Client late(daemon.address, std::chrono::seconds(5));
      join_late(*board_, late, board_->rounds + std::max<std::uint64_t>(rounds / 4, 2), end);
    }
    board_->is_over = true;
  }
  std::cout << describe(*board_, Clock::now() - begin);
  for (const pid_t child : children) EXPECT_EQ(wait_for_process(child), 0);
  EXPECT_EQ(board_->divergent, 0U);
  EXPECT_GE(board_->rounds, rounds);
  EXPECT_GE(restarts, 2);
}

}  // namespace
}  // namespace colltune::testing
