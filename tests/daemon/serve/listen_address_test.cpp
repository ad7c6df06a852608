// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "literals.h"
#include "temporary_folder.h"

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

/// A bound Unix socket; listening or, as after a kill, not.
int bind_socket(const std::filesystem::path& path, bool listens) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  if (listens) {
    EXPECT_EQ(::listen(descriptor, 1), 0);
  }
  return descriptor;
}

TEST(ClearStaleSocket, RemovesOnlyWhatNobodyListensOn) {
  const TemporaryFolder folder;
  const auto path = folder / "a.sock";
  clear_stale_socket(path);  // nothing there: nothing to do
  ::close(bind_socket(path, false));
  ASSERT_TRUE(std::filesystem::exists(path));
  clear_stale_socket(path);
  EXPECT_FALSE(std::filesystem::exists(path));

  const int listening = bind_socket(path, true);
  EXPECT_THAT(error_of_action(StatusCode::already_exists, [&] { clear_stale_socket(path); }),
              HasSubstr("another process listens"));
  EXPECT_TRUE(std::filesystem::exists(path));
  ::close(listening);
}

TEST(ClearStaleSocket, LeavesOtherFilesAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder / "data") << "precious";
  EXPECT_THAT(error_of_action(StatusCode::failed_precondition,
                              [&] { clear_stale_socket(folder / "data"); }),
              HasSubstr("is no socket"));
  EXPECT_TRUE(std::filesystem::exists(folder / "data"));
  EXPECT_THAT(error_of_action(StatusCode::failed_precondition,
                              [&] { clear_stale_socket(folder / "missing/a.sock"); }),
              HasSubstr("does not exist"));
}

TEST(WhyNotBindable, SaysWhatTheSystemSays) {
  EXPECT_EQ(why_not_bindable({.socket = {}, .host = "127.0.0.1", .port = 0}), "");
  EXPECT_NE(why_not_bindable({.socket = {}, .host = "203.0.113.77", .port = 0}), "");
}

}  // namespace
}  // namespace colltune
