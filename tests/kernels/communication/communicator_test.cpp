// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Communicators, symmetric memory and signals on ranks that are threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>

#include "colltune/kernels/communication/signals.h"
#include "peer_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

Deadline in_50_milliseconds() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
}

TEST(ThreadCommunicator, BarrierHoldsUntilAllHaveCome) {
  std::atomic<int> came = 0;
  run_ranks(5, [&](Communicator& communicator) {
    for (int round = 1; round <= 50; ++round) {
      ++came;
      communicator.barrier(soon_enough());
      EXPECT_GE(came.load(), 5 * round);
      communicator.barrier(soon_enough());
    }
  });
}

TEST(ThreadCommunicator, BarrierNamesTheMissingRank) {
  AbortFlag abort_flag;
  const auto world = make_thread_world(2, abort_flag);
  try {
    world[0]->barrier(in_50_milliseconds());
    FAIL() << "rank 1 never came";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 1);
    EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
    EXPECT_STREQ(missing.what(), "timed out waiting for the barrier of rank 1");
  }
}

TEST(ThreadCommunicator, TheLargestValueIsKnownToAllInEveryCall) {
  run_ranks(5, [&](Communicator& communicator) {
    for (std::int64_t round = 0; round < 200; ++round) {
      const std::int64_t own = 1000 * round - (communicator.rank() == round % 5 ? 0 : 7);
      EXPECT_EQ(communicator.all_reduce_max(own, soon_enough()), 1000 * round);
    }
    EXPECT_EQ(communicator.all_reduce_max(-5 - communicator.rank(), soon_enough()), -5);
  });
}

TEST(ThreadCommunicator, WordsStayInOrderAndGoToWhomTheyAreSent) {
  run_ranks(4, [&](Communicator& communicator) {
    for (std::int64_t round = 0; round < 50; ++round)
      for (int other = 1; other < 4; ++other) {
        if (communicator.rank() == 0) {
          communicator.send_word(other, 100 * round + other, soon_enough());
          EXPECT_EQ(communicator.receive_word(other, soon_enough()), round - other);
        } else if (communicator.rank() == other) {
          EXPECT_EQ(communicator.receive_word(0, soon_enough()), 100 * round + other);
          communicator.send_word(0, round - other, soon_enough());
        }
      }
  });
}

TEST(ThreadCommunicator, AWordThatDoesNotComeNamesItsSender) {
  AbortFlag abort_flag;
  const auto world = make_thread_world(3, abort_flag);
  try {
    (void)world[0]->receive_word(2, in_50_milliseconds());
    FAIL() << "rank 2 sent nothing";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 2);
  }
  EXPECT_THROW(world[0]->send_word(1, 7, in_50_milliseconds()), RankMissing);
}

TEST(ThreadCommunicator, AbortFlagEndsAWait) {
  AbortFlag abort_flag;
  const auto world = make_thread_world(2, abort_flag);
  std::jthread other([&] { abort_flag.raise(); });
  try {
    world[0]->barrier(soon_enough());
    FAIL() << "rank 1 never came";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.code(), StatusCode::aborted);
  }
}

TEST(ThreadCommunicator, SplitOrdersByKeyThenRank) {
  run_ranks(6, [](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto half = communicator.split(rank % 2, -rank, soon_enough());
    ASSERT_NE(half, nullptr);
    EXPECT_EQ(half->size(), 3);
    EXPECT_EQ(half->rank(), 2 - rank / 2);
    half->barrier(soon_enough());
    const auto none = communicator.split(rank == 4 ? 0 : -1, 0, soon_enough());
    EXPECT_EQ(none != nullptr, rank == 4);
    if (none) {
      EXPECT_EQ(none->size(), 1);
    }
  });
}

TEST(ThreadCommunicator, DuplicateKeepsRanksAndNodes) {
  run_ranks(
      3,
      [](Communicator& communicator) {
        const auto copy = communicator.duplicate(soon_enough());
        EXPECT_EQ(copy->rank(), communicator.rank());
        EXPECT_EQ(std::vector(copy->nodes().begin(), copy->nodes().end()), (std::vector{0, 1, 0}));
        EXPECT_FALSE(copy->is_one_node());
        EXPECT_EQ(copy->native_mpi(), nullptr);
        copy->barrier(soon_enough());
      },
      {.node = {7, 3, 7}});
}

TEST(ThreadCommunicator, MemoryIsZeroedAlignedAndShared) {
  run_ranks(3, [](Communicator& communicator) {
    const auto memory = communicator.allocate({5000}, soon_enough());
    for (int r = 0; r < 3; ++r) {
      ASSERT_EQ(memory->part(r).size(), 5000U);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->part(r).data()) % (2U << 20), 0U);
      for (const std::byte b : memory->part(r)) ASSERT_EQ(b, std::byte{});
    }
    communicator.barrier(soon_enough());
    memory->part(communicator.rank())[4999] = static_cast<std::byte>(communicator.rank() + 1);
    communicator.barrier(soon_enough());
    for (int r = 0; r < 3; ++r) EXPECT_EQ(memory->part(r)[4999], static_cast<std::byte>(r + 1));
    communicator.barrier(soon_enough());
  });
}

template <class Act>
StatusCode code_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return StatusCode::internal;
}

TEST(ThreadCommunicator, AllocateFailsOnAllRanksAlike) {
  run_ranks(2, [](Communicator& communicator) {
    EXPECT_EQ(code_of([&] { (void)communicator.allocate({1ULL << 60}, soon_enough()); }),
              StatusCode::resource_exhausted);
    const Bytes unlike{64U * static_cast<unsigned>(communicator.rank() + 1)};
    EXPECT_EQ(code_of([&] { (void)communicator.allocate(unlike, soon_enough()); }),
              StatusCode::invalid_argument);
    EXPECT_NE(communicator.allocate({64}, soon_enough()), nullptr);  // it still works
  });
}

TEST(ThreadCommunicator, MemoryIsSharedWithinEachNodeAlone) {
  run_ranks(3, check_memory_of_nodes, {.node = {0, 0, 1}});
}

TEST(ThreadCommunicator, MessagesArriveByTagAndInOrder) {
  run_ranks(3, check_messages, {.node = {0, 1, 2}});
}

TEST(ThreadCommunicator, MessagesAreGivenUp) {
  run_ranks(2, check_messages_given_up, {.node = {0, 1}});
  // What was sent and given up does not arrive.
  run_ranks(1, [](Communicator& self) {
    const std::vector<std::byte> sent(8);
    std::vector<std::byte> received(8);
    const auto mailbox = self.open_messages(2, soon_enough());
    mailbox->send(0, 0, 1, sent);
    EXPECT_TRUE(mailbox->give_up(soon_enough()));
    mailbox->receive(1, 0, 1, received);
    EXPECT_FALSE(mailbox->is_done(1));
  });
}

TEST(ThreadCommunicator, FindsWherePeersKeepTheirRegisteredBuffers) {
  for (const int ranks : {1, 2, 5}) run_ranks(ranks, check_places);
}

TEST(ThreadCommunicator, RefusesAWorldThatCannotBe) {
  AbortFlag abort_flag;
  EXPECT_EQ(code_of([&] { (void)make_thread_world(0, abort_flag); }), StatusCode::invalid_argument);
  EXPECT_EQ(code_of([&] {
              (void)make_thread_world(3, abort_flag, {.node = {0, 1}});
            }),
            StatusCode::invalid_argument);
  EXPECT_EQ(code_of([&] {
              (void)make_thread_world(3, abort_flag, {.cache = {0, 1}});
            }),
            StatusCode::invalid_argument);
}

TEST(ThreadCommunicator, PlacesAreNumberedFromZeroAndSetApartByNode) {
  AbortFlag abort_flag;
  // On the third node a rank is bound to no domain alone.
  const auto world =
      make_thread_world(6, abort_flag, {.node = {7, 7, 3, 3, 5, 5}, .numa = {4, 9, 4, 4, 1, -1}});
  const RankPlaces& places = world.front()->places();
  EXPECT_THAT(places.node, testing::ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(places.numa, testing::ElementsAre(0, 1, 2, 2, 3, 3));
  EXPECT_THAT(places.cache, testing::ElementsAre(0, 0, 1, 1, 2, 2));  // nothing said: the node's
}

TEST(ThreadCommunicator, PlacesAreKeptWhenSplit) {
  run_ranks(4,
            [](Communicator& communicator) {
              const auto half = communicator.split(communicator.rank() % 2, 0, soon_enough());
              EXPECT_THAT(half->places().numa, testing::ElementsAre(0, 1));
              const auto same = communicator.split(communicator.rank() / 2, 0, soon_enough());
              EXPECT_THAT(same->places().numa, testing::ElementsAre(0, 0));
            },
            {.numa = {0, 0, 1, 1}});
}

TEST(ThreadCommunicator, KnowsWhenRanksShareCores) {
  AbortFlag abort_flag;
  EXPECT_FALSE(make_thread_world(1, abort_flag).front()->is_oversubscribed());
  EXPECT_TRUE(make_thread_world(5000, abort_flag).front()->is_oversubscribed());
}

TEST(ThreadCommunicator, PartsShareCoresAsTheWholeDoesUnlessTheOthersSleep) {
  cpu_set_t usable;
  ASSERT_EQ(::sched_getaffinity(0, sizeof usable, &usable), 0);
  run_ranks(CPU_COUNT(&usable) + 1, [](Communicator& all) {
    ASSERT_TRUE(all.is_oversubscribed());
    const int rank = all.rank();
    // Each of one rank, which alone would have a core to itself.
    const auto one = all.split(rank, 0, soon_enough());
    EXPECT_TRUE(one->is_oversubscribed());
    EXPECT_TRUE(one->duplicate(soon_enough())->is_oversubscribed());
    const auto alone = all.split(rank == 0 ? 0 : -1, 0, OtherRanks::sleeping, soon_enough());
    ASSERT_EQ(alone != nullptr, rank == 0);
    if (alone == nullptr) return;
    EXPECT_FALSE(alone->is_oversubscribed());
    EXPECT_FALSE(alone->duplicate(soon_enough())->is_oversubscribed());
    EXPECT_FALSE(alone->split(0, 0, soon_enough())->is_oversubscribed());
  });
}

TEST(Signals, CarryWhatWasWrittenBefore) {
  run_ranks(2, [](Communicator& communicator) {
    constexpr std::size_t data = 64;
    const auto memory = communicator.allocate({data + 64 + Signals::size(1)}, soon_enough());
    const Signals signals(communicator, *memory, 128);
    const int peer = 1 - communicator.rank();
    for (std::uint64_t epoch = 1; epoch <= 2000; ++epoch) {
      auto* own = reinterpret_cast<std::uint64_t*>(memory->part(communicator.rank()).data());
      own[epoch % 2] = epoch * 3;
      signals.set(0, epoch);
      signals.wait_until_all(0, epoch, soon_enough(), "the epoch");
      const auto* other = reinterpret_cast<const std::uint64_t*>(memory->part(peer).data());
      ASSERT_EQ(other[epoch % 2], epoch * 3);
    }
    communicator.barrier(soon_enough());
  });
}

TEST(Signals, NameTheRankThatDoesNotSignal) {
  run_ranks(3, [](Communicator& communicator) {
    const auto memory = communicator.allocate({Signals::size(2)}, soon_enough());
    const Signals signals(communicator, *memory, 0);
    if (communicator.rank() != 2) signals.set(1, 4);
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) {
      signals.wait_until(1, 1, 4, in_50_milliseconds(), "the chunk");
      try {
        signals.wait_until_all(1, 4, in_50_milliseconds(), "the chunk");
        ADD_FAILURE() << "rank 2 never signalled";
      } catch (const RankMissing& missing) {
        EXPECT_EQ(missing.rank(), 2);
        EXPECT_STREQ(missing.what(), "timed out waiting for the chunk of rank 2");
      }
    }
    communicator.barrier(soon_enough());
  });
}

TEST(RunRanks, PassesOnTheFirstFailureAndFreesTheOthers) {
  EXPECT_THROW(run_ranks(3,
                         [](Communicator& communicator) {
                           if (communicator.rank() == 1) throw std::out_of_range("rank 1");
                           communicator.barrier(soon_enough());
                         }),
               std::out_of_range);
}

}  // namespace
}  // namespace colltune::test
