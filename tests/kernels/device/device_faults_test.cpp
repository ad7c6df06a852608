// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come, devices that fail and calls that no device takes: all ranks say why.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "conformance.h"
#include "device_fixture.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;

/// The reason with which each rank of `devices` ends where rank `missing` never begins.
std::vector<std::string> run_without(int missing, const std::vector<Device*>& devices,
                                     const Implementation& implementation,
                                     std::vector<int>* named = nullptr) {
  const int ranks = static_cast<int>(devices.size());
  std::vector<std::string> reasons(devices.size());
  if (named != nullptr) named->assign(devices.size(), -1);
  run_ranks(
      ranks,
      [&](Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        const SmallCall call(communicator, implementation);
        if (communicator.rank() != missing) call.operation->start();
        communicator.barrier(soon_enough());
        if (communicator.rank() != missing) {
          try {
            call.operation->wait(std::chrono::steady_clock::now() + 100ms);
          } catch (const RankMissing& error) {
            reasons[rank] = error.what();
            if (named != nullptr) (*named)[rank] = error.rank();
          }
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
  return reasons;
}

TEST_F(DeviceImplementations, ARankThatNeverComesToASharedDeviceIsNamed) {
  PretendedDevice device;
  std::vector<int> named;
  const auto reasons = run_without(1, {&device, &device, &device}, find(one_shot), &named);
  EXPECT_EQ(named, (std::vector{1, -1, 1}));
  EXPECT_NE(reasons[0].find("its call on the same device of rank 1"), std::string::npos)
      << reasons[0];
}

// The kernels of the first device run, and wait for what never comes.
TEST_F(DeviceImplementations, ARankThatNeverComesToAnotherDeviceIsNamed) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  std::vector<int> named;
  const auto reasons = run_without(2, {&first, &first, &second}, find(one_shot), &named);
  EXPECT_EQ(named, (std::vector{2, 2, -1}));
  EXPECT_NE(reasons[0].find("a signal on the device of rank 2"), std::string::npos) << reasons[0];
}

// Its buffers may be gone: the kernel that would write there is not started.
TEST_F(DeviceImplementations, WhoComesAfterAnotherHasGivenUpStartsNothing) {
  PretendedDevice device;
  const std::vector<Device*> devices{&device, &device};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, find(one_shot));
        device.fill(call.receive.bytes(), 0x5A);
        if (communicator.rank() == 0) {
          call.operation->start();
          EXPECT_THROW(call.operation->wait(std::chrono::steady_clock::now() + 50ms), RankMissing);
          communicator.barrier(soon_enough());
        } else {
          communicator.barrier(soon_enough());
          call.operation->start();
          try {
            call.operation->wait(soon_enough());
            ADD_FAILURE() << "the call came to an end";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), StatusCode::aborted);
            EXPECT_NE(std::string(error.what()).find("rank 0 has given up"), std::string::npos);
          }
        }
        communicator.barrier(soon_enough());
        std::vector<std::byte> received(16);
        device.read(received, call.receive.bytes().data());
        EXPECT_EQ(received, std::vector<std::byte>(16, std::byte{0x5A}));
      },
      {}, devices);
}

TEST_F(DeviceImplementations, ALaunchThatFailsFailsOnAllItsRanks) {
  PretendedDevice device;
  const std::vector<Device*> devices{&device, &device};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, find(one_shot));
        communicator.barrier(soon_enough());
        device.break_down();
        call.operation->start();
        try {
          call.operation->wait(soon_enough());
          ADD_FAILURE() << "the call came to an end";
        } catch (const Error& error) {
          EXPECT_STREQ(error.what(), "the pretended device starts nothing");
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, ADeviceThatSaysNothingOfItselfIsAnErrorOnAllRanks) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.break_down();
  const std::vector<Device*> devices{&first, &second, &first};
  run_ranks(
      3,
      [&](Communicator& communicator) {
        try {
          (void)detect_capability(all_, communicator);
          ADD_FAILURE() << "rank " << communicator.rank();
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("the device of rank 1 cannot be used"),
                    std::string::npos);
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, TheAbortFlagEndsAKernel) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, find(one_shot));
        if (communicator.rank() == 0) {
          call.operation->start();
          EXPECT_THROW(call.operation->wait(soon_enough()), RankMissing);
        } else {
          communicator.abort_flag().raise();
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, WhereOneDeviceHasNoMemoryLeftAllRanksSaySo) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.limit_memory(1024);
  for (const std::string& reason : prepare_in_vain({&first, &second}, find(one_shot)))
    EXPECT_EQ(reason, "rank 1: the pretended device has no memory left");
  second.limit_memory(~std::size_t{0});
  for (const std::string& reason : prepare_in_vain({&first, &second}, find(one_shot)))
    EXPECT_EQ(reason, "");
}

// Only the first of a process maps what all its devices reach.
TEST_F(DeviceImplementations, WhereAPartOfTheHostsMemoryIsNotMappedNoneStaysSo) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second, &second};
  for (const int parts : {0, 1, 2}) {
    first.limit_mapped(parts);
    for (const std::string& reason : prepare_in_vain(devices, find(one_shot), "host"))
      EXPECT_EQ(reason, "rank 0: the pretended device maps no more");
    EXPECT_EQ(first.count_mapped(), 0) << parts << " parts";
  }
  first.limit_mapped(3);
  for (const std::string& reason : prepare_in_vain(devices, find(one_shot), "host"))
    EXPECT_EQ(reason, "");
}

TEST_F(DeviceImplementations, ThatDevicesCannotReachEachOtherIsNoErrorOnAnyRank) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.forbid_peers();
  for (const std::string& reason : prepare_in_vain({&first, &first, &second}, find(one_shot)))
    EXPECT_EQ(reason,
              "unavailable: rank 2: second cannot reach first; its device does not reach the "
              "memory of rank 0");
}

TEST_F(DeviceImplementations, WhatWentWrongCountsMoreThanWhatIsUnavailable) {
  PretendedDevice first("first");
  PretendedDevice second("second", 0);
  first.forbid_peers();
  for (const std::string& reason : prepare_in_vain({&first, &second, &first}, find(one_shot)))
    EXPECT_EQ(reason, "rank 1: more blocks than processors");
}

// It says that it can, which proves nothing.
TEST_F(DeviceImplementations, ThatADevicesWritesDoNotComeIsNoErrorOnAnyRank) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.lose_fills_of_peers();
  for (const std::string& reason : prepare_in_vain({&first, &second, &second}, find(one_shot)))
    EXPECT_EQ(reason,
              "unavailable: rank 0: what the device of rank 1 wrote into this rank's memory did "
              "not come");
}

TEST_F(DeviceImplementations, ThroughTheHostsMemoryDevicesNeedNotReachEachOther) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  first.forbid_peers();
  second.forbid_peers();
  const std::vector<Device*> devices{&first, &second, &first, &second};
  run_ranks(
      4,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(all_, communicator);
        const Topology topology = topology_of(communicator, capability);
        for (const auto& one : all_) {
          ConformanceCase test;
          test.problem = {.collective = one->collective(),
                          .data_type = DataType::bf16,
                          .message_size = {4 * 1006}};
          if (!shape_of(one->collective()).reduces) test.problem.reduce_op = ReduceOp::none;
          for (const Variant& variant : one->variants(test.problem, topology, capability))
            if (word(variant, "scratch") == "host" &&
                one->supports(test.problem, topology, capability, variant)) {
              EXPECT_EQ(find_fault(communicator, *one, variant, test), "") << to_string(variant);
            }
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, MoreBlocksThanRunAtOnceAreAnErrorOnAllRanks) {
  PretendedDevice device("full", 0);
  for (const std::string& reason : prepare_in_vain({&device, &device, &device}, find(one_shot)))
    EXPECT_NE(reason.find("more blocks than processors"), std::string::npos) << reason;
}

TEST_F(DeviceImplementations, BuffersInTheHostsMemoryAreRefused) {
  run_ranks(1, [&](Communicator& communicator) {
    std::vector<std::byte> bytes(16);
    EXPECT_THROW((void)find(one_shot).prepare(communicator, {small_sum(), 0, {bytes, bytes}},
                                              variant_of(one_shot), soon_enough()),
                 Error);
  });
}

TEST_F(DeviceImplementations, ADeviceForSomeRanksOnlyIsNoWorld) {
  AbortFlag abort_flag;
  PretendedDevice device;
  const std::vector<Device*> devices{&device};
  EXPECT_THROW((void)make_thread_world(2, abort_flag, {}, devices), Error);
}

}  // namespace
}  // namespace colltune::test
