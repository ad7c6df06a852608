// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "stream_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "call_gate.h"
#include "work_lane.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

struct FakeStream final : StreamGate::Stream {
  void begin() override { calls.emplace_back("begin"); }
  void cancel() override { calls.emplace_back("cancel"); }
  void wind_up(bool has_begun) override {
    calls.emplace_back(has_begun ? "wind up" : "wind up before its turn");
  }
  std::vector<std::string> calls;
};

class Gate : public ::testing::Test {
 protected:
  static constexpr StreamGate::Clock::time_point start_{1h};
  StreamGate gate_{{.most_active = 1, .most_waiting = 2, .stall = 10s, .turn = 60s}};
  FakeStream first_;
  FakeStream second_;
  FakeStream third_;
};

TEST_F(Gate, OthersWaitForTheirTurn) {
  EXPECT_TRUE(gate_.admit(first_, start_));
  EXPECT_TRUE(gate_.admit(second_, start_));
  EXPECT_TRUE(gate_.admit(third_, start_));
  FakeStream one_too_many;
  EXPECT_FALSE(gate_.admit(one_too_many, start_));
  EXPECT_THAT(second_.calls, ElementsAre());
  gate_.leave(first_, start_);
  EXPECT_THAT(second_.calls, ElementsAre("begin"));
  EXPECT_FALSE(gate_.withdraw(second_));
  EXPECT_TRUE(gate_.withdraw(third_));
  gate_.leave(second_, start_);
  EXPECT_THAT(third_.calls, ElementsAre());
}

TEST_F(Gate, WhoDoesNotReadLosesHisPlaceOnce) {
  EXPECT_TRUE(gate_.admit(first_, start_));
  EXPECT_EQ(gate_.cancel_late(start_ + 10s), 0U);
  gate_.note_progress(first_, start_ + 9s);
  EXPECT_EQ(gate_.cancel_late(start_ + 19s), 0U);
  EXPECT_EQ(gate_.cancel_late(start_ + 20s), 1U);
  EXPECT_EQ(gate_.cancel_late(start_ + 30s), 0U);
  EXPECT_THAT(first_.calls, ElementsAre("begin", "cancel"));
}

TEST_F(Gate, ATurnIsBoundedOnlyWhileOthersWait) {
  EXPECT_TRUE(gate_.admit(first_, start_));
  gate_.note_progress(first_, start_ + 61s);
  EXPECT_EQ(gate_.cancel_late(start_ + 61s), 0U);
  EXPECT_TRUE(gate_.admit(second_, start_ + 61s));
  EXPECT_EQ(gate_.cancel_late(start_ + 61s), 1U);
}

TEST_F(Gate, AtTheEndNobodyWaitsForATurn) {
  EXPECT_TRUE(gate_.admit(first_, start_));
  EXPECT_TRUE(gate_.admit(second_, start_));
  gate_.wind_up();
  EXPECT_THAT(first_.calls, ElementsAre("begin", "wind up"));
  EXPECT_THAT(second_.calls, ElementsAre("wind up before its turn"));
  gate_.leave(second_, start_);
  gate_.leave(first_, start_);
}

TEST(CallGate, RefusesAfterItClosedAndSaysWhenItIsEmpty) {
  CallGate gate;
  ASSERT_TRUE(gate.enter());
  gate.close();
  EXPECT_FALSE(gate.enter());
  EXPECT_FALSE(gate.wait_until_empty(std::chrono::steady_clock::now()));
  std::jthread call([&] { gate.leave(); });
  EXPECT_TRUE(gate.wait_until_empty(std::chrono::steady_clock::now() + 30s));
}

TEST(WorkLane, RunsInOrderAndRefusesWhatDoesNotFit) {
  std::vector<int> done;
  std::latch begun(1);
  std::latch go_on(1);
  {
    WorkLane lane(100);
    ASSERT_TRUE(lane.submit(60, [&] {
      begun.count_down();
      go_on.wait();
      done.push_back(1);
    }));
    begun.wait();
    EXPECT_FALSE(lane.submit(41, [&] { done.push_back(9); }));
    EXPECT_TRUE(lane.submit(40, [&] { done.push_back(2); }));
    go_on.count_down();
  }
  EXPECT_THAT(done, ElementsAre(1, 2));
}

}  // namespace
}  // namespace colltune
