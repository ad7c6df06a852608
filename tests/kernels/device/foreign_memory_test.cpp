// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Registered buffers in memory of other allocators, with a library in the place of the CUDA driver.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/virtual_memory.h"
#include "fake_driver_controls.h"
#include "foreign_memory.h"
#include "support/fake_driver/fake_driver.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using fake_driver::granule;

class ForeignBuffers : public testing::Test {
 protected:
  ForeignBuffers() {
    std::string why_not;
    library_ = Driver::open(COLLTUNE_FAKE_DRIVER, why_not);
    own_ = VirtualMemory::open(0, why_not, COLLTUNE_FAKE_DRIVER);
    peer_ = VirtualMemory::open(1, why_not, COLLTUNE_FAKE_DRIVER);
    if (!library_ || !own_ || !peer_) throw Error(StatusCode::not_found, why_not);
  }
  ~ForeignBuffers() override { driver_.fail_nothing(); }

  /// Why `bytes` cannot be shared.
  [[nodiscard]] std::string refused(std::span<const std::byte> bytes) const {
    try {
      static_cast<void>(own_->share_foreign(bytes, 4));
      return "";
    } catch (const UnavailableHere& error) {
      return error.what();
    }
  }

  FakeDriver driver_{COLLTUNE_FAKE_DRIVER};
  std::shared_ptr<const Driver> library_;
  std::unique_ptr<VirtualMemory> own_;
  std::unique_ptr<VirtualMemory> peer_;
};

TEST_F(ForeignBuffers, EachPieceIsSharedAndMappedInItsPlace) {
  const ForeignMemory memory(library_, {granule, 3 * granule, granule});
  for (const auto& [first, last, pieces] : {std::tuple{std::size_t{100}, 200UL, 1UL},
                                            {granule - 8, granule + 8, 2UL},
                                            {granule, 4 * granule, 1UL},
                                            {std::size_t{5}, 5 * granule, 3UL},
                                            {4 * granule + 1, 4 * granule + 2, 1UL}}) {
    const std::span<std::byte> bytes = memory.bytes().subspan(first, last - first);
    const auto shared = own_->share_foreign(bytes, 4);
    ASSERT_TRUE(shared.has_value());
    EXPECT_EQ(shared->descriptors.size(), pieces);
    const MappedMemory opened = peer_->open_pieces(shared->descriptors, shared->sizes);
    const std::span<std::byte> there = opened.bytes().subspan(shared->offset, bytes.size());
    EXPECT_NE(there.data(), bytes.data());
    std::ranges::fill(bytes, std::byte{0x11});
    bytes.front() = std::byte{0x22};
    bytes.back() = std::byte{0x33};
    EXPECT_TRUE(std::ranges::equal(bytes, there)) << first << " to " << last;
    there.back() = std::byte{0x44};
    EXPECT_EQ(bytes.back(), std::byte{0x44});
  }
}

TEST_F(ForeignBuffers, OtherMemoryIsLeftToOthers) {
  std::vector<std::byte> host(64);
  EXPECT_FALSE(own_->share_foreign(host, 4).has_value());
}

TEST_F(ForeignBuffers, WhatCannotBeSharedSaysWhichAllocationAndWhy) {
  const ForeignMemory closed(library_, {2 * granule}, 0);
  const std::string why = refused(closed.bytes().subspan(10, 20));
  EXPECT_EQ(why.find("its allocation of 4MiB at 0x"), 0U) << why;
  EXPECT_NE(why.find("was made without file descriptors for other processes (handle types 0)"),
            std::string::npos)
      << why;
  const ForeignMemory many(library_, std::vector<std::size_t>(5, granule));
  EXPECT_EQ(refused(many.bytes()),
            "it lies in more than 4 allocations of the driver's virtual memory");
  EXPECT_EQ(refused(many.bytes().first(4 * granule)), "");
  const ForeignMemory memory(library_, {granule});
  const std::string beyond =
      refused({memory.bytes().data(), memory.bytes().size() + 1});  // never touched
  EXPECT_NE(beyond.find("nothing is mapped"), std::string::npos) << beyond;
  driver_.fail("cuMemExportToShareableHandle", 1);
  const std::string failed = refused(memory.bytes());
  EXPECT_NE(failed.find("gives no file descriptor: cuMemExportToShareableHandle: the operation "
                        "cannot be performed (401)"),
            std::string::npos)
      << failed;
}

// What was there before a call that fails is given back: FakeDriver counts at its end.
TEST_F(ForeignBuffers, AFailingCallLeavesNothingBehind) {
  const ForeignMemory memory(library_, {granule, granule});
  const int before = driver_.live();
  for (const char* const function :
       {"cuMemGetAddressRange", "cuMemGetAllocationPropertiesFromHandle",
        "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemAddressReserve",
        "cuMemMap", "cuMemSetAccess"})
    for (const int nth : {1, 2}) {
      if (nth == 2 && std::string(function) == "cuMemAddressReserve") continue;  // once for all
      driver_.fail(function, nth);
      try {
        const auto shared = own_->share_foreign(memory.bytes(), 4);
        static_cast<void>(peer_->open_pieces(shared->descriptors, shared->sizes));
        ADD_FAILURE() << function << ", call " << nth;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(function), std::string::npos) << error.what();
      }
      driver_.fail_nothing();
      EXPECT_EQ(driver_.live(), before) << function << ", call " << nth;
    }
}

/// Two ranks, each on a device of its own, whose buffers lie `at` bytes in `first` and `second`:
/// what add_up said on each.
std::vector<std::string> add_up_on_two(const ForeignMemory& first, const ForeignMemory& second,
                                       std::size_t at) {
  PretendedDevice devices[2]{PretendedDevice("first"), PretendedDevice("second")};
  for (int i = 0; i < 2; ++i) {
    devices[i].offer_virtual_memory(i, COLLTUNE_FAKE_DRIVER);
    devices[i].forbid_peers();  // only what is mapped is reached
  }
  std::vector<std::string> said(2);
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        said[rank] = add_up(communicator, (rank == 0 ? first : second).bytes().subspan(at));
      },
      {}, std::vector<Device*>{&devices[0], &devices[1]});
  return said;
}

TEST_F(ForeignBuffers, RanksAddUpWhatLiesThere) {
  const ForeignMemory first(library_, {granule, granule, granule});
  const ForeignMemory second(library_, {2 * granule, granule});
  // In one allocation; the send buffer across two; the receive buffer across two.
  for (const std::size_t at : {std::size_t{256}, granule - 2048, 2 * granule - 4096 - 2048})
    EXPECT_EQ(add_up_on_two(first, second, at), std::vector<std::string>(2)) << at;
}

TEST_F(ForeignBuffers, ARankWithClosedMemoryIsNamedByAll) {
  const ForeignMemory open(library_, {granule});
  const ForeignMemory closed(library_, {granule}, 0);
  for (const std::string& one : add_up_on_two(open, closed, 0)) {
    EXPECT_EQ(one.find("unavailable: rank 1: its registered send buffer of 4KiB cannot be opened "
                       "by other ranks: its allocation of 2MiB at 0x"),
              0U)
        << one;
    EXPECT_NE(one.find("without file descriptors"), std::string::npos) << one;
  }
}

}  // namespace
}  // namespace colltune::test
