// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/hosts/launch_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "colltune/hosts/launch_host.h"

namespace colltune {
namespace {

TEST(LaunchSupervisor, IsFoundByTheProcessesOfItsLaunch) {
  const LaunchSupervisor supervisor = become_supervisor();
  EXPECT_EQ(supervisor.host, own_host_name());
  EXPECT_THAT(supervisor.token, testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(supervisor.token.size(), 32);
  setenv(supervised_variable, to_variable(supervisor).c_str(), 1);
  const auto found = find_supervisor();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->host, supervisor.host);
  EXPECT_EQ(found->token, supervisor.token);
}

TEST(LaunchSupervisor, HasANewTokenEachTime) {
  EXPECT_NE(become_supervisor().token, become_supervisor().token);
}

TEST(LaunchSupervisor, IsNotFoundWhereNoneIsNamed) {
  unsetenv(supervised_variable);
  EXPECT_FALSE(find_supervisor());
  for (const char* value : {"", "1", "@host", "token@"}) {
    setenv(supervised_variable, value, 1);
    EXPECT_FALSE(find_supervisor()) << value;
  }
}

}  // namespace
}  // namespace colltune
