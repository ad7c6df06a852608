// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Devices of unlike processes: a pretended one in each, whose virtual memory the others map by the
// file descriptors that they are sent.

#include <gtest/gtest.h>

#include <string>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "conformance.h"
#include "device/virtual_memory.h"
#include "fake_driver_controls.h"
#include "foreign_memory.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

class DevicesOfProcesses : public testing::Test {
 protected:
  DevicesOfProcesses() {
    const auto world = make_mpi_world(abort_flag_, soon_enough());
    device_ = std::make_unique<PretendedDevice>("device " + std::to_string(world->rank()));
    device_->offer_virtual_memory(world->rank(), COLLTUNE_FAKE_DRIVER);
    world_ = make_mpi_world(abort_flag_, soon_enough(), {}, device_.get());
  }
  FakeDriver driver_{COLLTUNE_FAKE_DRIVER};
  AbortFlag abort_flag_;
  std::unique_ptr<PretendedDevice> device_;
  std::unique_ptr<Communicator> world_;
};

TEST_F(DevicesOfProcesses, EveryImplementationIsRight) {
  Implementations catalogue = make_catalogue();
  // One of each way to meet, by signals, by words, through all memories at once: of those that
  // take no buffers of the caller's, since a pretended device shares none of these.
  std::erase_if(catalogue, [](const auto& one) {
    return one->name() != "cuda.all_reduce_pipeline" &&
           one->name() != "cuda.all_gather_low_latency" &&
           one->name() != "cuda.all_to_all_poison" && !one->name().ends_with("multicast");
  });
  ASSERT_EQ(catalogue.size(), 8U);
  EXPECT_GT(run_conformance(*world_, catalogue, Usually::covering_sample), 20);
  EXPECT_EQ(driver_.live() > 0, device_->virtual_memory()->count_kept() > 0)
      << "only parts that another rank may have looked at are kept";
}

// One rank alone fails, at each step: all throw, and say which one and why.
TEST_F(DevicesOfProcesses, WhatFailsInOneProcessFailsInAll) {
  const Problem problem{.collective = Collective::all_reduce,
                        .data_type = DataType::f32,
                        .reduce_op = ReduceOp::sum,
                        .message_size = {64}};
  const std::string name = "cuda.all_reduce_two_shot_multicast";
  const Implementations catalogue = make_catalogue();
  const DeviceMemory send(*device_, {64});
  const DeviceMemory receive(*device_, {64});
  for (const char* const function :
       {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemMap",
        "cuMemSetAccess", "cuMulticastAddDevice", "cuMulticastBindMem"}) {
    if (world_->rank() == 1) driver_.fail(function, 1);
    try {
      static_cast<void>(
          find_implementation(catalogue, name)
              ->prepare(*world_, {problem, 0, {send.bytes(), receive.bytes()}},
                        parse_variant(
                            name + "{blocks=1,launch=stream,scratch=device,threads=32,vector=16}"),
                        soon_enough()));
      ADD_FAILURE() << function << " failed, and nobody noticed";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("rank 1: " + std::string(function)), 0U)
          << error.what();
    }
    driver_.fail_nothing();
    EXPECT_EQ(driver_.live(), 0) << function;
    world_->barrier(soon_enough());
  }
}

TEST_F(DevicesOfProcesses, BuffersOfOtherAllocatorsComeByDescriptors) {
  std::string why_not;
  const auto library = Driver::open(COLLTUNE_FAKE_DRIVER, why_not);
  ASSERT_NE(library, nullptr) << why_not;
  using fake_driver::granule;
  const ForeignMemory memory(library, {granule, granule, granule});
  // In one allocation; the send buffer in two; more of them on one rank than on the others.
  for (const std::size_t at : {std::size_t{64}, granule - 2048})
    EXPECT_EQ(add_up(*world_, memory.bytes().subspan(at)), "") << at;
  EXPECT_EQ(add_up(*world_, memory.bytes().subspan(world_->rank() == 1 ? granule - 2048 : 0)), "");
  // Of one rank they cannot be opened: closed, or no virtual memory.
  const ForeignMemory closed(library, {granule}, 0);
  const std::string why = add_up(*world_, world_->rank() == 1 ? closed.bytes() : memory.bytes());
  EXPECT_EQ(why.find("unavailable: rank 1: its registered send buffer of 4KiB cannot be opened by "
                     "other ranks: its allocation of 2MiB at 0x"),
            0U)
      << why;
  const DeviceMemory plain(*device_, {8192});
  const std::string of_one = add_up(*world_, world_->rank() == 1 ? plain.bytes() : memory.bytes());
  EXPECT_EQ(of_one,
            "unavailable: rank 1: its registered send buffer of 4KiB cannot be opened by other "
            "processes: a pretended device is of one process");
}

}  // namespace
}  // namespace colltune::test
