// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a host that falls silent needs hosts: tests/deploy/hosts_test.py.

#include "colltune/hosts/host_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace colltune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(HostWatch, AHostThatRefusesAConnectionIsThere) {
  const HostWatch watch(resolve_other_hosts({{"localhost", "1"}, {"127.0.0.1", "2"}}));
  EXPECT_THAT(watch.find_silent(), IsEmpty());
  EXPECT_THAT(watch.silent_from_the_start(), IsEmpty());
}

TEST(HostWatch, AHostThatNeverAnsweredIsNotLostButSilentFromTheStart) {
  // To a broadcast address no TCP connection can lead; the other is a name of none (RFC 2606).
  const HostWatch watch(
      resolve_other_hosts({{"255.255.255.255", "1"}, {"no-such-host.invalid", "2"}}));
  EXPECT_THAT(watch.find_silent(), IsEmpty());
  EXPECT_THAT(watch.silent_from_the_start(), ElementsAre(LaunchHost{"255.255.255.255", "1"}));
}

}  // namespace
}  // namespace colltune
