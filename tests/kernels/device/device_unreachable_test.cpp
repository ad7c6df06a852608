// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Devices that have virtual memory, and do not reach that of each other.

#include <gtest/gtest.h>

#include <string>

#include "device_fixture.h"
#include "fake_driver_controls.h"
#include "support/pretended_device.h"

namespace colltune::test {
namespace {

class VirtualMemoryOfPeers : public DeviceImplementations {
 protected:
  VirtualMemoryOfPeers() {
    first_.offer_virtual_memory(0, COLLTUNE_FAKE_DRIVER);
    second_.offer_virtual_memory(1, COLLTUNE_FAKE_DRIVER);
  }
  FakeDriver driver_{COLLTUNE_FAKE_DRIVER};
  PretendedDevice first_{"first"};
  PretendedDevice second_{"second"};
};

// As without peer access over PCI Express.
TEST_F(VirtualMemoryOfPeers, ThatItCannotBeReachedIsNoErrorOnAnyRank) {
  driver_.fail("cuMemSetAccess", 3);  // after each rank's own memory
  for (const std::string& reason : prepare_in_vain({&first_, &second_}, find(one_shot))) {
    EXPECT_TRUE(reason.starts_with("unavailable: rank 0: cuMemSetAccess")) << reason;
    EXPECT_TRUE(reason.ends_with("; its device does not reach the memory of rank 1")) << reason;
  }
  driver_.fail_nothing();
  EXPECT_EQ(driver_.live(), 0);
}

TEST_F(VirtualMemoryOfPeers, ThatOnesOwnCannotBeIsAnErrorOnAllRanks) {
  driver_.fail("cuMemSetAccess", 1);
  for (const std::string& reason : prepare_in_vain({&first_, &second_}, find(one_shot)))
    EXPECT_TRUE(reason.starts_with("rank 0: cuMemSetAccess")) << reason;
  driver_.fail_nothing();
  EXPECT_EQ(driver_.live(), 0);
}

}  // namespace
}  // namespace colltune::test
