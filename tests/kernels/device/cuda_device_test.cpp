// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels on a GPU: the conformance test of the whole catalogue with ranks that share one,
// and what lies below. Skipped, with the reason, where there is none.

#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/device/cuda_device.h"
#include "conformance.h"
#include "device/virtual_memory.h"
#include "device_fixture.h"
#include "random_calls.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;

// Nothing new begins after COLLTUNE_SECONDS of the program, where that is set.
const std::chrono::steady_clock::time_point end_of_time = [] {
  const char* const text = std::getenv("COLLTUNE_SECONDS");
  if (text == nullptr) return std::chrono::steady_clock::time_point::max();
  int seconds = 0;
  const char* const end = text + std::strlen(text);
  if (const auto read = std::from_chars(text, end, seconds);
      read.ec != std::errc() || read.ptr != end || seconds < 0) {
    std::cerr << "COLLTUNE_SECONDS is '" << text << "'; allowed are whole numbers from 0 on\n";
    std::exit(2);
  }
  return std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
}();

class OnAGpu : public testing::Test {
 protected:
  void SetUp() override {
    const CudaDevices gpus = count_cuda_devices();
    if (gpus.count == 0 && std::getenv("COLLTUNE_NEEDS_GPU") != nullptr) FAIL() << gpus.why_none;
    if (gpus.count == 0) GTEST_SKIP() << gpus.why_none;
    device_ = open_cuda_device(0);
  }
  std::unique_ptr<Device> device_;
};

class ConformanceOnAGpu : public OnAGpu, public testing::WithParamInterface<int> {};

// One after the other, each in a world of its own: the text says what was right when the time was
// over, and how long each took.
TEST_P(ConformanceOnAGpu, EveryImplementationIsRight) {
  const int ranks = GetParam();
  const std::vector<Device*> devices(static_cast<std::size_t>(ranks), device_.get());
  int run = 0;
  bool is_whole = true;
  std::string without_calls;
  for (auto& implementation : make_catalogue()) {
    if (!implementation->runs_on_device()) continue;
    const std::string name(implementation->name());
    const auto begin = std::chrono::steady_clock::now();
    if (begin > end_of_time) {
      is_whole = false;
      std::cout << "NOT MEASURED: " << name << " with " << ranks << " ranks: no time is left\n";
      continue;
    }
    Implementations alone;
    alone.push_back(std::move(implementation));
    std::atomic<int> own = 0;
    run_ranks(
        ranks, [&](Communicator& communicator) { own += run_conformance(communicator, alone); }, {},
        devices);
    run += own;
    if (own == 0) {
      without_calls += ' ' + name;
      continue;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::cout << name << ", " << ranks << " ranks: " << own / ranks << " calls of variants, "
              << took.count() << " s" << std::endl;
  }
  std::cout << "unavailable to " << ranks << " ranks:" << without_calls << std::endl;
  if (is_whole) {
    EXPECT_GT(run, 100 * ranks);
  }
  RecordProperty("calls_of_variants", run);
}

INSTANTIATE_TEST_SUITE_P(VirtualRanks, ConformanceOnAGpu, testing::Values(1, 2, 4, 8));

// Ranks that share a launch, and, where there is another GPU, ranks that may be a call apart.
TEST_F(OnAGpu, KernelsTakeRandomCalls) {
  const Implementations catalogue = make_catalogue();
  std::vector<std::vector<Device*>> worlds{{device_.get(), device_.get(), device_.get()}};
  const std::unique_ptr<Device> other =
      count_cuda_devices().count > 1 ? open_cuda_device(1) : nullptr;
  if (other != nullptr) worlds.push_back({device_.get(), other.get()});
  for (const std::vector<Device*>& devices : worlds)
    run_ranks(
        static_cast<int>(devices.size()),
        [&](Communicator& communicator) {
          EXPECT_EQ(find_fault_in_random_calls(
                        communicator, catalogue,
                        {.calls = 500,
                         .seed = devices.size(),
                         .takes =
                             [](const Implementation& implementation, const Variant&) {
                               return implementation.name().starts_with("cuda.");
                             }}),
                    "");
        },
        {}, devices);
}

// Two queues of one GPU are not sure to run at the same time: of 3,500 random calls one hung.
TEST_F(OnAGpu, IsOpenedOnce) {
  const std::unique_ptr<Device> again = open_cuda_device(0);
  const Implementations catalogue = make_catalogue();
  const std::vector<Device*> devices{device_.get(), again.get()};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(catalogue, communicator);
        EXPECT_EQ(capability.value("device.openings"), "2");
        const Problem problem{.message_size = {1024}};
        for (const auto& one : catalogue) {
          if (!one->name().starts_with("cuda.all_reduce")) continue;
          const Topology topology = topology_of(communicator, capability);
          for (const Variant& variant : one->variants(problem, topology, capability)) {
            EXPECT_FALSE(one->supports(problem, topology, capability, variant));
          }
        }
      },
      {}, devices);
}

TEST_F(OnAGpu, MemoryIsWrittenReadAndFilled) {
  std::vector<std::byte> data(100'003);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7);
  const DeviceMemory memory(*device_, {data.size()});
  device_->write(memory.bytes().data(), data);
  std::vector<std::byte> read(data.size());
  device_->read(read, memory.bytes().data());
  EXPECT_EQ(read, data);
  device_->fill(memory.bytes().first(5000), 0x3C);
  device_->read(read, memory.bytes().data());
  std::fill_n(data.begin(), 5000, std::byte{0x3C});
  EXPECT_EQ(read, data);
}

TEST_F(OnAGpu, ReleasedMemoryIsUsedAgain) {
  std::byte* first = nullptr;
  {
    const DeviceMemory memory(*device_, {1 << 20});
    first = memory.bytes().data();
  }
  const DeviceMemory memory(*device_, {1 << 20});
  EXPECT_EQ(memory.bytes().data(), first);
}

TEST_F(OnAGpu, MoreMemoryThanThereIsIsAnError) {
  EXPECT_THROW(DeviceMemory(*device_, {std::uint64_t{1} << 50}), Error);
  const DeviceMemory memory(*device_, {64});
  device_->fill(memory.bytes(), 1);  // works on
}

TEST_F(OnAGpu, SharedMemoryIsTheHostsToo) {
  const DeviceMemory memory(*device_, {64}, Device::Memory::shared);
  std::memset(memory.bytes().data(), 0x5A, 64);
  std::vector<std::byte> read(64);
  device_->read(read, memory.bytes().data());
  EXPECT_EQ(read, std::vector<std::byte>(64, std::byte{0x5A}));
}

TEST_F(OnAGpu, ARankKnowsItsGpu) {
  const std::vector<Device*> devices(2, device_.get());
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(make_catalogue(), communicator);
        EXPECT_TRUE(capability.architecture.starts_with("sm_")) << capability.architecture;
        EXPECT_EQ(capability.value("device.ranks"), "2");
        for (const char* const feature : {"device.name", "device.processors", "device.memory.bytes",
                                          "cuda.driver", "cuda.runtime", "cuda.compute_capability",
                                          "cuda.peers", "device.whole_lines", "device.handles"})
          EXPECT_TRUE(capability.has(feature)) << feature;
        EXPECT_NE(capability.has("device.multicast"),
                  capability.has("device.multicast.unavailable"));
      },
      {}, devices);
}

TEST_F(OnAGpu, VirtualMemoryIsTheSameForWhoIsSentItsDescriptor) {
  const std::unique_ptr<Device> other = open_cuda_device(0);
  VirtualMemory* const own = device_->virtual_memory();
  if (own == nullptr) GTEST_SKIP() << "the GPU offers no virtual memory by file descriptors";
  const std::size_t size = own->size_for(100'003);
  const MappedMemory memory = own->create(size);
  const MappedMemory opened = other->virtual_memory()->open_shared(memory.handle.share(), size);
  device_->fill(memory.bytes(), 0x5A);
  std::vector<std::byte> read(size);
  other->read(read, opened.bytes().data());
  EXPECT_EQ(read, std::vector<std::byte>(size, std::byte{0x5A}));
}

// As of an allocator that makes its memory of the driver's virtual memory, and of one that does
// not.
TEST_F(OnAGpu, MemoryOfOtherAllocatorsIsSharedInPieces) {
  const std::unique_ptr<Device> other = open_cuda_device(0);
  VirtualMemory* const own = device_->virtual_memory();
  if (own == nullptr) GTEST_SKIP() << "the GPU offers no virtual memory by file descriptors";
  const std::size_t size = own->size_for(100'003);
  const MappedMemory memory = own->create(size);
  const std::span<std::byte> bytes = memory.bytes().subspan(1000, 2000);
  const auto shared = own->share_foreign(bytes, 4);
  ASSERT_TRUE(shared.has_value());
  EXPECT_EQ(shared->sizes, std::vector<std::size_t>{size});
  EXPECT_EQ(shared->offset, 1000U);
  const MappedMemory opened =
      other->virtual_memory()->open_pieces(shared->descriptors, shared->sizes);
  device_->fill(memory.bytes(), 0);
  device_->fill(bytes, 0x5A);
  std::vector<std::byte> read(bytes.size());
  other->read(read, opened.bytes().data() + shared->offset);
  EXPECT_EQ(read, std::vector<std::byte>(bytes.size(), std::byte{0x5A}));
  const DeviceMemory plain(*device_, {4096});
  EXPECT_FALSE(own->share_foreign(plain.bytes(), 4).has_value());
}

// Two devices of one GPU: each launches a kernel of its own, and the first one's waits in vain.
TEST_F(OnAGpu, AKernelThatWaitsInVainEndsAndNamesWhoIsMissing) {
  const std::unique_ptr<Device> other = open_cuda_device(0);
  const std::vector<Device*> devices{device_.get(), other.get()};
  const Implementations catalogue = make_catalogue();
  const auto begin = std::chrono::steady_clock::now();
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, *find_implementation(catalogue, one_shot));
        if (communicator.rank() == 0) {
          call.operation->start();
          try {
            call.operation->wait(std::chrono::steady_clock::now() + 200ms);
            ADD_FAILURE() << "the call came to an end alone";
          } catch (const RankMissing& error) {
            EXPECT_EQ(error.rank(), 1);
          }
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

}  // namespace
}  // namespace colltune::test
