// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The daemon as a process: what scripts and supervisors see of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "colltuned_fixture.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;

TEST_F(Colltuned, ServesUntilSigterm) {
  publish("ring");
  ChildProcess daemon(
      {COLLTUNED, "--db", database().string(), "--listen", socket(), "--listen", "127.0.0.1:0"});
  EXPECT_EQ(daemon.read_line(), "listening on " + socket());
  const std::string second = daemon.read_line();
  ASSERT_THAT(second, ::testing::StartsWith("listening on 127.0.0.1:"));
  for (const std::string& address : {socket(), second.substr(std::strlen("listening on "))}) {
    v1::LookupResponse response;
    const grpc::Status status = lookup(address, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(winner_of(response), "ring");
  }
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  EXPECT_EQ(daemon.read_line(), "");  // stdout holds the two lines and nothing else
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.sock"));
}

TEST_F(Colltuned, EndsOnSigint) {
  publish("ring");
  ChildProcess daemon(command(socket()));
  ASSERT_NE(daemon.read_line(), "");
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait(), 0);
}

TEST_F(Colltuned, ANewGenerationIsServedAndTheOldOneStaysPinnable) {
  publish("ring");
  const std::uint64_t first = generation_;
  ChildProcess daemon(command(socket()));
  ASSERT_NE(daemon.read_line(), "");
  publish("tree");
  ASSERT_NE(daemon.read_log_until("serving generation " + std::to_string(generation_)), "");
  v1::LookupResponse response;
  ASSERT_TRUE(lookup(socket(), response).ok());
  EXPECT_EQ(winner_of(response), "tree");
  ASSERT_TRUE(lookup(socket(), response, first).ok());
  EXPECT_EQ(winner_of(response), "ring");
  EXPECT_EQ(lookup(socket(), response, 999).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(Colltuned, ABadSnapshotIsLoggedAndTheOldOneKeepsServing) {
  publish("ring");
  ChildProcess daemon(command(socket()));
  ASSERT_NE(daemon.read_line(), "");
  const auto snapshot = snapshot_path(database());
  std::ofstream(folder_ / "bad") << "this is no database";
  std::filesystem::rename(folder_ / "bad", snapshot);
  EXPECT_THAT(daemon.read_log_until("is not served"), HasSubstr(snapshot.string()));
  v1::LookupResponse response;
  ASSERT_TRUE(lookup(socket(), response).ok());
  EXPECT_EQ(winner_of(response), "ring");
  publish("tree");  // opening the store heals the old snapshot first: the daemon may serve that too
  ASSERT_NE(daemon.read_log_until("serving generation " + std::to_string(generation_)), "");
  ASSERT_TRUE(lookup(socket(), response).ok());
  EXPECT_EQ(winner_of(response), "tree");
}

TEST_F(Colltuned, StartsWithoutAGenerationAndServesTheFirst) {
  { const Store store(database()); }
  ChildProcess daemon(command(socket()));
  ASSERT_NE(daemon.read_line(), "");
  v1::LookupResponse response;
  const grpc::Status status = lookup(socket(), response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("no published generation"));
  publish("ring");
  ASSERT_NE(daemon.read_log_until("serving generation"), "");
  ASSERT_TRUE(lookup(socket(), response).ok());
  EXPECT_EQ(winner_of(response), "ring");
}

TEST_F(Colltuned, ServesASnapshotGivenAsTheDatabase) {
  publish("ring");
  const auto copy = folder_ / "copy.db";
  std::filesystem::copy_file(snapshot_path(database()), copy);
  ChildProcess daemon({COLLTUNED, "--db", copy.string(), "--listen", socket()});
  ASSERT_NE(daemon.read_line(), "");
  v1::LookupResponse response;
  ASSERT_TRUE(lookup(socket(), response).ok());
  EXPECT_EQ(winner_of(response), "ring");
}

struct Refused {
  std::vector<std::string> arguments;
  std::string message;
};

TEST_F(Colltuned, WrongInputIsOneClearErrorAndExitCode2) {
  publish("ring");
  const std::string db = database().string();
  for (const Refused& refused : std::vector<Refused>{
           {{"--listen", socket()}, "--db is required"},
           {{"--db", db}, "--listen is required"},
           {{"--db", db, "--listen", socket(), "--port"}, "--port"},
           {{"--db", db + ".missing", "--listen", socket()}, "there is no database"},
           {{"--db", db, "--listen", "nonsense"}, "there is no port"},
           {{"--db", db, "--listen", "0.0.0.0:0"}, "--allow-insecure-network"},
           {{"--db", db, "--listen", "unix:/no/such/folder/a.sock"}, "does not exist"}}) {
    std::vector<std::string> command{COLLTUNED};
    command.insert(command.end(), refused.arguments.begin(), refused.arguments.end());
    ChildProcess daemon(command);
    EXPECT_THAT(daemon.read_log_until(refused.message), HasSubstr(refused.message));
    EXPECT_EQ(daemon.wait(), 2) << refused.message;
    EXPECT_EQ(daemon.read_line(), "");
  }
}

TEST_F(Colltuned, DamagedDatabaseIsRefused) {
  std::ofstream(database()) << "this is no database, but long enough to hold a header of one";
  ChildProcess daemon(command(socket()));
  EXPECT_THAT(daemon.read_log_until("tuning.db"), HasSubstr("colltuned: "));
  const int exit_code = daemon.wait();
  EXPECT_TRUE(exit_code == 2 || exit_code == 5) << exit_code;
}

TEST_F(Colltuned, SecondDaemonOnOneAddressIsRefused) {
  publish("ring");
  ChildProcess first(
      {COLLTUNED, "--db", database().string(), "--listen", socket(), "--listen", "127.0.0.1:0"});
  ASSERT_NE(first.read_line(), "");
  const std::string tcp = first.read_line().substr(std::strlen("listening on "));
  for (const std::string& address : {socket(), tcp}) {
    ChildProcess second(command(address));
    EXPECT_THAT(second.read_log_until("cannot listen"), HasSubstr("cannot listen on " + address));
    EXPECT_EQ(second.wait(), 2);
  }
  v1::LookupResponse response;
  EXPECT_TRUE(lookup(socket(), response).ok());
}

TEST_F(Colltuned, SocketOfAKilledDaemonIsTakenOver) {
  publish("ring");
  {
    ChildProcess killed(command(socket()));
    ASSERT_NE(killed.read_line(), "");
  }
  ASSERT_TRUE(std::filesystem::exists(folder_ / "a.sock"));
  ChildProcess daemon(command(socket()));
  EXPECT_EQ(daemon.read_line(), "listening on " + socket());
}

TEST_F(Colltuned, TellsTheSupervisorWhenReady) {
  publish("ring");
  const std::string path = (folder_ / "notify").string();
  const int supervisor = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  const timeval limit{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(supervisor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(::bind(supervisor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ChildProcess daemon(command(socket()), {"NOTIFY_SOCKET=" + path});
  const auto receive = [&] {
    char state[64];
    const ssize_t size = ::recv(supervisor, state, sizeof state, 0);
    return size < 0 ? std::string("nothing") : std::string(state, static_cast<std::size_t>(size));
  };
  EXPECT_EQ(receive(), "READY=1");
  daemon.signal(SIGTERM);
  EXPECT_EQ(receive(), "STOPPING=1");
  EXPECT_EQ(daemon.wait(), 0);
  ::close(supervisor);
}

TEST_F(Colltuned, HelpShowsAnExample) {
  ChildProcess daemon({COLLTUNED, "--help"});
  std::string help;
  for (std::string line = daemon.read_line(); help.size() < 100'000; line = daemon.read_line()) {
    help += line + '\n';
    if (line.find("anything else") != std::string::npos) break;
  }
  EXPECT_THAT(help, HasSubstr("colltuned --db tuning.db --listen unix:/run/colltune.sock"));
  EXPECT_EQ(daemon.wait(), 0);
}

}  // namespace
}  // namespace colltune
