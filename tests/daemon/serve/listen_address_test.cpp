// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;

TEST(ListenAddress, ReadsWhatItPrints) {
  for (const std::string text : {"unix:/run/colltune.sock", "127.0.0.1:50061", "[::1]:0",
                                 "localhost:1", "0.0.0.0:65535", "node-7.cluster:80"})
    EXPECT_EQ(to_string(parse_listen_address(text)), text);
  EXPECT_EQ(parse_listen_address("unix:///run/a.sock").socket, "/run/a.sock");
}

TEST(ListenAddress, RefusesAnythingElse) {
  const auto refused = [](const std::string& text) {
    return error_of_action(StatusCode::invalid_argument, [&] { (void)parse_listen_address(text); });
  };
  EXPECT_THAT(refused(""), HasSubstr("there is no port"));
  EXPECT_THAT(refused("unix:"), HasSubstr("absolute path"));
  EXPECT_THAT(refused("unix:relative.sock"), HasSubstr("absolute path"));
  EXPECT_THAT(refused("unix:/" + std::string(200, 'x')), HasSubstr("201 bytes"));
  EXPECT_THAT(refused("127.0.0.1"), HasSubstr("no port"));
  EXPECT_THAT(refused("127.0.0.1:"), HasSubstr("not a port"));
  EXPECT_THAT(refused("127.0.0.1:70000"), HasSubstr("'70000' is not a port"));
  EXPECT_THAT(refused("127.0.0.1:-1"), HasSubstr("not a port"));
  EXPECT_THAT(refused("127.0.0.1:80x"), HasSubstr("not a port"));
  EXPECT_THAT(refused("::1:80"), HasSubstr("brackets"));
  EXPECT_THAT(refused(":80"), HasSubstr("no host"));
}

TEST(ListenAddress, KnowsWhatOtherHostsReach) {
  for (const char* text : {"unix:/a", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1"})
    EXPECT_TRUE(is_local(parse_listen_address(text))) << text;
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "node:1", "[fe80::1]:1"})
    EXPECT_FALSE(is_local(parse_listen_address(text))) << text;
}

TEST(ListenAddress, EscapesStandForBytesAsInGrpcsClients) {
  EXPECT_EQ(parse_listen_address("unix:/run/a%20b%25.sock").socket, "/run/a b%.sock");
  EXPECT_EQ(to_string(parse_listen_address("unix:/run/a%20b%25.sock")), "unix:/run/a%20b%25.sock");
  EXPECT_EQ(to_string(parse_listen_address("unix:/run/a b.sock")), "unix:/run/a%20b.sock");
  // Two spellings of one path are one address.
  EXPECT_EQ(parse_listen_address("unix:/run/%61.sock"), parse_listen_address("unix:/run/./a.sock"));
  for (const char* text : {"unix:/a%", "unix:/a%2", "unix:/a%zz", "unix:/a%00b"})
    EXPECT_NE(error_of_action(StatusCode::invalid_argument,
                              [&] { (void)parse_listen_address(text); }),
              "nothing was thrown")
        << text;
}

}  // namespace
}  // namespace colltune
