// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Memory of devices that others map, with a library in the place of the CUDA driver.

#include "device/virtual_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arithmetic/numerics.h"
#include "colltune/kernels/catalogue.h"
#include "conformance.h"
#include "fake_driver_controls.h"
#include "support/fake_driver/fake_driver.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using fake_driver::granule;
using fake_driver::multicast_granule;

class Virtual : public testing::Test {
 protected:
  ~Virtual() override {
    driver_.fail_nothing();
    for (const auto& [attribute, value] : {std::pair{driver::has_virtual_memory, 1},
                                           {driver::has_file_descriptors, 1},
                                           {driver::has_fabric_handles, 0},
                                           {driver::has_multicast, 1}})
      driver_.set(attribute, value);
  }
  [[nodiscard]] static std::unique_ptr<VirtualMemory> open(
      int ordinal = 0, const char* library = COLLTUNE_FAKE_DRIVER) {
    std::string why_not;
    auto memory = VirtualMemory::open(ordinal, why_not, library);
    EXPECT_NE(memory, nullptr) << why_not;
    return memory;
  }
  /// Why there is none.
  [[nodiscard]] static std::string refused(int ordinal = 0,
                                           const char* library = COLLTUNE_FAKE_DRIVER) {
    std::string why_not;
    EXPECT_EQ(VirtualMemory::open(ordinal, why_not, library), nullptr);
    return why_not;
  }
  FakeDriver driver_{COLLTUNE_FAKE_DRIVER};
};

TEST_F(Virtual, MemoryIsMadeInWholeGranules) {
  const auto memory = open();
  EXPECT_EQ(memory->size_for(0), granule);
  EXPECT_EQ(memory->size_for(1), granule);
  EXPECT_EQ(memory->size_for(granule), granule);
  EXPECT_EQ(memory->size_for(granule + 1), 2 * granule);
  EXPECT_EQ(memory->size_for(granule + 1, 4), multicast_granule);
  EXPECT_EQ(memory->size_for(multicast_granule + 1, 4), 2 * multicast_granule);
  const MappedMemory made = memory->create(2 * granule);
  EXPECT_EQ(made.bytes().size(), 2 * granule);
  std::ranges::fill(made.bytes(), std::byte{0x5A});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.bytes().data()) % granule, 0U);
}

TEST_F(Virtual, SharedMemoryIsTheSameMemory) {
  const auto one = open(0);
  const auto other = open(1);
  std::optional<MappedMemory> own = one->create(granule);
  const MappedMemory peer = other->open_shared(own->handle.share(), granule);
  EXPECT_NE(peer.bytes().data(), own->bytes().data());
  own->bytes()[77] = std::byte{1};
  EXPECT_EQ(peer.bytes()[77], std::byte{1});
  peer.bytes()[granule - 1] = std::byte{2};
  EXPECT_EQ(own->bytes()[granule - 1], std::byte{2});
  own.reset();  // who has it mapped keeps it
  EXPECT_EQ(peer.bytes()[77], std::byte{1});
}

TEST_F(Virtual, WhatIsMissingIsSaid) {
  EXPECT_NE(refused(0, "libthere_is_no_such_library.so.1").find("there is no CUDA driver"),
            std::string::npos);
  EXPECT_NE(refused(0, "libm.so.6").find("lacks functions"), std::string::npos);
  EXPECT_NE(refused(99).find("cuDeviceGet"), std::string::npos);
  driver_.fail("cuInit", 1);
  EXPECT_NE(refused().find("cuInit: the operation cannot be performed (401)"), std::string::npos);
  driver_.fail_nothing();
  driver_.set(driver::has_file_descriptors, 0);
  EXPECT_EQ(refused(), "the GPU does not share its memory by file descriptors");
  driver_.set(driver::has_fabric_handles, 1);
  EXPECT_EQ(refused(),
            "the GPU shares its memory by fabric handles alone, not by file descriptors");
  driver_.set(driver::has_virtual_memory, 0);
  EXPECT_EQ(refused(), "the GPU has no virtual memory of the driver's");
}

// Any call that fails is named, and what was there before it is given back (FakeDriver looks).
TEST_F(Virtual, AFailingCallLeavesNothingBehind) {
  for (const char* const function :
       {"cuMemGetAllocationGranularity", "cuMemCreate", "cuMemAddressReserve", "cuMemMap",
        "cuMemSetAccess", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle"})
    for (const int nth : {1, 2}) {
      driver_.fail(function, nth);
      std::string why_not;
      const auto memory = VirtualMemory::open(0, why_not, COLLTUNE_FAKE_DRIVER);
      if (memory) {  // it needs one such call alone
        EXPECT_EQ(nth, 2) << function;
        continue;
      }
      EXPECT_NE(why_not.find(function), std::string::npos) << why_not;
      EXPECT_EQ(driver_.live(), 0) << function << ", call " << nth;
    }
  driver_.fail_nothing();
  const auto memory = open();
  driver_.fail("cuMemCreate", 1, driver::out_of_memory);
  try {
    static_cast<void>(memory->create(granule));
    ADD_FAILURE() << "there was memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::resource_exhausted);
    EXPECT_NE(std::string(error.what()).find("cuMemCreate of 2MiB"), std::string::npos)
        << error.what();
  }
}

TEST_F(Virtual, MulticastIsUnavailableWithTheReason) {
  EXPECT_EQ(open()->why_no_multicast(), "");
  driver_.set(driver::has_multicast, 0);
  const auto without_switches = open();
  EXPECT_EQ(without_switches->why_no_multicast(),
            "the GPU has no NVLink switches that spread and add up");
  EXPECT_THROW(static_cast<void>(without_switches->create_multicast(2, multicast_granule)), Error);
  FakeDriver older(COLLTUNE_FAKE_DRIVER_WITHOUT_MULTICAST);
  EXPECT_EQ(open(0, COLLTUNE_FAKE_DRIVER_WITHOUT_MULTICAST)->why_no_multicast(),
            "the CUDA driver is older than multicast objects (530)");
}

/// Three devices, each of which has its part of one object.
class VirtualMulticast : public Virtual {
 protected:
  VirtualMulticast() {
    for (int ordinal = 0; ordinal < 3; ++ordinal) devices_.push_back(open(ordinal));
    objects_.push_back(devices_[0]->create_multicast(3, multicast_granule));
    for (std::size_t i = 1; i < 3; ++i)
      objects_.push_back(devices_[i]->open_multicast(objects_[0]->share(), 3, multicast_granule));
    for (const auto& device : devices_) memories_.push_back(device->create(multicast_granule));
  }
  std::vector<std::unique_ptr<VirtualMemory>> devices_;
  std::vector<MappedMemory> memories_;
  std::vector<std::unique_ptr<Multicast>> objects_;  // go first
};

TEST_F(VirtualMulticast, AllDevicesAreAddedThenBoundThenMapped) {
  for (const auto& object : objects_) object->add_device();
  for (std::size_t i = 0; i < 3; ++i) objects_[i]->bind(memories_[i]);
  std::vector<std::byte*> addresses;
  for (const auto& object : objects_) addresses.push_back(object->map());
  EXPECT_NE(addresses[0], nullptr);
  EXPECT_NE(addresses[0], addresses[1]);
}

// The driver would wait without an end: that what stands for it refuses shows that nobody asks.
TEST_F(VirtualMulticast, NothingIsBoundOrMappedBeforeAllAreAdded) {
  objects_[0]->add_device();
  objects_[2]->add_device();
  EXPECT_THROW(objects_[0]->bind(memories_[0]), Error);
  EXPECT_THROW(static_cast<void>(objects_[0]->map()), Error);
  EXPECT_THROW(objects_[2]->add_device(), Error) << "each device once";
}

TEST_F(VirtualMulticast, APartIsKeptUntilAllHaveLeft) {
  for (const auto& object : objects_) object->add_device();
  for (std::size_t i = 0; i < 3; ++i) objects_[i]->bind(memories_[i]);
  AbortFlag nobody_aborts;
  const auto world = make_thread_world(3, nobody_aborts);
  std::vector<std::shared_ptr<SymmetricMemory>> parting(3);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 3; ++i)
      threads.emplace_back(
          [&, i] { parting[i] = world[i]->allocate({sizeof(std::uint64_t)}, soon_enough()); });
  }
  const auto leave = [&](std::size_t i) {
    devices_[i]->leave({.memory = std::move(memories_[i]),
                        .multicast = std::move(objects_[i]),
                        .parting = parting[i],
                        .rank = static_cast<int>(i),
                        .ranks = 3});
  };
  leave(1);
  EXPECT_EQ(devices_[1]->count_kept(), 1U);
  leave(0);
  EXPECT_EQ(devices_[0]->count_kept(), 1U);
  leave(2);
  EXPECT_EQ(devices_[2]->count_kept(), 0U) << "it was the last one";
  // The others' go when they look again, or with the device.
  EXPECT_EQ(devices_[0]->count_kept() + devices_[1]->count_kept(), 2U);
  static_cast<void>(devices_[0]->create(granule));
  EXPECT_EQ(devices_[0]->count_kept(), 0U);
}

/// Ranks on a pretended device each, with virtual memory.
class VirtualRanks : public Virtual {
 protected:
  void make_devices(int count) {
    for (int i = 0; i < count; ++i) {
      auto& device = devices_.emplace_back("device " + std::to_string(i));
      device.offer_virtual_memory(i, COLLTUNE_FAKE_DRIVER);
    }
    for (PretendedDevice& device : devices_) pointers_.push_back(&device);
  }
  std::deque<PretendedDevice> devices_;
  std::vector<Device*> pointers_;
};

Problem small_sum() {
  return {.collective = Collective::all_reduce,
          .data_type = DataType::f32,
          .reduce_op = ReduceOp::sum,
          .message_size = {4096}};
}

/// Runs a call of small_sum() by `name` on ranks that each have `devices`.
void run_call(const std::string& name, std::span<Device* const> devices,
              const std::function<void(Communicator&)>& after = {}) {
  const Implementations catalogue = make_catalogue();
  const Variant variant =
      parse_variant(name + "{blocks=1,launch=stream,scratch=device,threads=32,vector=16}");
  run_ranks(
      static_cast<int>(devices.size()),
      [&](Communicator& communicator) {
        Device& device = *communicator.device();
        const DeviceMemory send(device, {4096});
        const DeviceMemory receive(device, {4096});
        const VerifiedCall call{small_sum(), communicator.size(), 0, DataPattern::exact, 1};
        {
          const auto operation =
              find_implementation(catalogue, name)
                  ->prepare(communicator, {small_sum(), 0, {send.bytes(), receive.bytes()}},
                            variant, soon_enough());
          for (int number = 0; number < 3; ++number) {
            fill_send(call, communicator.rank(), send.bytes());
            communicator.barrier(soon_enough());
            operation->start();
            operation->wait(soon_enough());
            EXPECT_EQ(find_mismatch(call, communicator.rank(), rounding_at_once(small_sum()),
                                    receive.bytes()),
                      std::nullopt);
          }
        }
        communicator.barrier(soon_enough());
        if (after) after(communicator);
      },
      {}, devices);
}

// Its scratch memory would not be found without: no device of these reaches another one otherwise.
TEST_F(VirtualRanks, DevicesReachEachOtherByDescriptors) {
  make_devices(3);
  for (PretendedDevice& device : devices_) device.forbid_peers();
  run_call("cuda.all_reduce_one_shot", pointers_);
  EXPECT_EQ(driver_.live(), 0);
}

TEST_F(VirtualRanks, RanksThatShareADeviceAreReachedByTheOthers) {
  make_devices(2);
  for (PretendedDevice& device : devices_) device.forbid_peers();
  const std::vector<Device*> of_ranks{pointers_[0], pointers_[1], pointers_[0], pointers_[1]};
  run_call("cuda.all_reduce_one_shot", of_ranks);
}

TEST_F(VirtualRanks, WhereOneDeviceHasNoneAllDoWithout) {
  make_devices(2);
  PretendedDevice without("without");
  std::vector<Device*> of_ranks = pointers_;
  of_ranks.push_back(&without);
  driver_.fail("cuMemCreate", 1);
  run_call("cuda.all_reduce_one_shot", of_ranks);
}

TEST_F(VirtualRanks, EveryImplementationIsRight) {
  make_devices(3);
  Implementations catalogue = make_catalogue();
  std::erase_if(catalogue, [](const auto& one) {
    return one->name() != "cuda.all_reduce_two_shot_push" &&
           one->name() != "cuda.all_gather_push" && !one->name().ends_with("multicast");
  });
  ASSERT_EQ(catalogue.size(), 7U);
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(
      3,
      [&](Communicator& communicator) {
        run += run_conformance(communicator, catalogue, chosen,
                               UnderSanitizer::each_variant_by_buffers, Usually::covering_sample);
      },
      {}, pointers_);
  EXPECT_GT(run, 20 * 3);
}

// All ranks have left before any of them looks again: all parts are given back.
TEST_F(VirtualRanks, MulticastIsMadeAndGivenBack) {
  make_devices(3);
  for (PretendedDevice& device : devices_) device.forbid_peers();
  run_call("cuda.all_reduce_one_shot_multicast", pointers_);
  run_call("cuda.all_reduce_two_shot_multicast", pointers_);
  std::size_t kept = 0;
  for (PretendedDevice& device : devices_) kept += device.virtual_memory()->count_kept();
  EXPECT_LE(kept, 2U + 2U) << "of each call, the last one to leave keeps nothing";
  devices_.clear();
  EXPECT_EQ(driver_.live(), 0);
}

/// What preparing a multicast call on `devices` throws, on every rank.
std::string refused_on(std::span<Device* const> devices) {
  const std::string name = "cuda.all_reduce_one_shot_multicast";
  std::string said;
  std::mutex mutex;
  run_ranks(
      static_cast<int>(devices.size()),
      [&](Communicator& communicator) {
        const Implementations catalogue = make_catalogue();
        const DeviceMemory send(*communicator.device(), {4096});
        const DeviceMemory receive(*communicator.device(), {4096});
        try {
          static_cast<void>(
              find_implementation(catalogue, name)
                  ->prepare(
                      communicator, {small_sum(), 0, {send.bytes(), receive.bytes()}},
                      parse_variant(name +
                                    "{blocks=1,launch=stream,scratch=device,threads=32,vector=16}"),
                      soon_enough()));
          ADD_FAILURE() << "it was prepared";
        } catch (const Error& error) {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(said.empty() || said == error.what()) << error.what();
          said = error.what();
        }
      },
      {}, devices);
  return said;
}

TEST_F(VirtualRanks, WhatFailsOnOneRankFailsOnAll) {
  make_devices(3);
  for (const char* const function :
       {"cuMemCreate", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemMap",
        "cuMemSetAccess", "cuMulticastCreate", "cuMulticastAddDevice", "cuMulticastBindMem"})
    for (const int nth : {1, 3}) {
      if (std::string_view(function) == "cuMulticastCreate" && nth > 1) continue;
      driver_.fail(function, nth);
      const std::string said = refused_on(pointers_);
      EXPECT_NE(said.find(function), std::string::npos) << said;
      driver_.fail_nothing();
      EXPECT_EQ(driver_.live(), 0) << function << ", call " << nth;
    }
}

TEST_F(VirtualRanks, MulticastNeedsAllDevicesEachOnce) {
  make_devices(2);
  EXPECT_NE(refused_on(std::vector{pointers_[0], pointers_[1], pointers_[0]})
                .find("2 ranks share a device, and multicast reaches each device once"),
            std::string::npos);
  driver_.set(driver::has_multicast, 0);
  PretendedDevice without("without switches");
  without.offer_virtual_memory(2, COLLTUNE_FAKE_DRIVER);
  EXPECT_NE(refused_on(std::vector<Device*>{pointers_[0], pointers_[1], &without})
                .find("rank 2: the GPU has no NVLink switches that spread and add up"),
            std::string::npos);
}

TEST_F(VirtualRanks, CapabilitiesSayWhyThereIsNoMulticast) {
  driver_.set(driver::has_multicast, 0);
  make_devices(2);
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const Implementations catalogue = make_catalogue();
        const Capability capability = detect_capability(catalogue, communicator);
        const Support support =
            find_implementation(catalogue, "cuda.all_reduce_one_shot_multicast")
                ->supports(small_sum(), {.nodes = 1, .ranks = 2}, capability,
                           parse_variant("cuda.all_reduce_one_shot_multicast{blocks=1,launch="
                                         "stream,scratch=device,threads=32,vector=16}"));
        EXPECT_NE(support.reason().find("the GPU has no NVLink switches that spread and add up"),
                  std::string::npos)
            << support.reason();
      },
      {}, pointers_);
}

}  // namespace
}  // namespace colltune::test
