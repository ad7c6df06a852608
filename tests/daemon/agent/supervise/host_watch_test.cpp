// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a host that falls silent needs hosts: tests/deploy/hosts_test.py.

#include "host_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colltune {
namespace {

using testing::IsEmpty;

TEST(HostWatch, AHostThatRefusesAConnectionIsThere) {
  const HostWatch watch({{"localhost", "1"}, {"127.0.0.1", "2"}});
  EXPECT_THAT(watch.find_silent(), IsEmpty());
}

TEST(HostWatch, NothingIsSaidOfAHostThatNeverAnswered) {
  // An address of a network that exists in documents alone (RFC 5737), and a name of none.
  const HostWatch watch({{"192.0.2.1", "1"}, {"no-such-host.invalid", "2"}});
  EXPECT_THAT(watch.find_silent(), IsEmpty());
}

}  // namespace
}  // namespace colltune
