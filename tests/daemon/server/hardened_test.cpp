// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The daemon under limits, signals, and beside another one.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "colltuned_fixture.h"

namespace colltune {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Hardened : public Colltuned {
 protected:
  void SetUp() override { publish("ring"); }

  /// The daemon after `limit` ("ulimit -n 64").
  [[nodiscard]] std::vector<std::string> command_under(const std::string& limit) const {
    return {"/bin/sh", "-c",
            limit + "; exec \"$0\" --db \"$1\" --listen \"$2\"",
            COLLTUNED, database().string(), socket()};
  }

  [[nodiscard]] int connect_silently() const {
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ / "a.sock").c_str());
    ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address);
    return descriptor;
  }
};

TEST_F(Hardened, ServesAfterMoreConnectionsThanItMayHaveDescriptors) {
  for (const int limit : {64, 1024}) {
    ChildProcess daemon(command_under("ulimit -n " + std::to_string(limit)));
    ASSERT_NE(daemon.read_line(), "");
    std::vector<int> idle;
    for (int i = 0; i < limit + 20; ++i) idle.push_back(connect_silently());
    for (const int descriptor : idle) ::close(descriptor);
    v1::LookupResponse response;
    const grpc::Status status = lookup(socket(), response);
    EXPECT_TRUE(status.ok()) << limit << ": " << status.error_message();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
  }
}

TEST_F(Hardened, RefusesToServeWithTooFewDescriptors) {
  for (const int limit : {10, 32}) {
    ChildProcess daemon(command_under("ulimit -n " + std::to_string(limit)));
    EXPECT_THAT(daemon.read_log_until("files"),
                HasSubstr("may open " + std::to_string(limit) + " files"));
    EXPECT_EQ(daemon.wait(), 4);
  }
}

TEST_F(Hardened, OfTwoThatBeginTogetherOneServes) {
  for (int round = 0; round < 5; ++round) {
    std::vector<std::unique_ptr<ChildProcess>> daemons;
    for (int i = 0; i < 2; ++i)
      daemons.push_back(std::make_unique<ChildProcess>(command(socket())));
    int served = 0;
    for (const auto& daemon : daemons) served += daemon->read_line().empty() ? 0 : 1;
    EXPECT_EQ(served, 1);
    v1::LookupResponse response;
    EXPECT_TRUE(lookup(socket(), response).ok());
  }
}

TEST_F(Hardened, HangupReadsAgainAndUserSignalsDoNothing) {
  ChildProcess daemon(command(socket()));
  ASSERT_NE(daemon.read_line(), "");
  ASSERT_NE(daemon.read_log_until("serving generation"), "");
  daemon.signal(SIGUSR1);
  daemon.signal(SIGUSR2);
  daemon.signal(SIGHUP);
  EXPECT_NE(daemon.read_log_until("received SIGHUP"), "");
  EXPECT_NE(daemon.read_log_until("serving generation"), "");
  v1::LookupResponse response;
  EXPECT_TRUE(lookup(socket(), response).ok());
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

TEST_F(Hardened, EndsSoonAfterATableWasFetched) {
  for (int round = 0; round < 12; ++round) {
    ChildProcess daemon(command(socket()));
    ASSERT_NE(daemon.read_line(), "");
    const auto stub = v1::TuningService::NewStub(
        grpc::CreateChannel(socket(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 20s);
    const auto reader = stub->GetTable(&context, {});
    v1::GetTableResponse message;
    while (reader->Read(&message)) {
    }
    EXPECT_TRUE(reader->Finish().ok());
    const auto begin = std::chrono::steady_clock::now();
    daemon.signal(SIGTERM);
    EXPECT_EQ(daemon.wait(), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 9s);  // gRPC's own patience is 10 s
  }
}

TEST_F(Hardened, LargeRequestsInLittleMemoryAreRefusedAndNotTheEnd) {
  ChildProcess daemon(command_under("ulimit -v 307200"));
  ASSERT_NE(daemon.read_line(), "");
  v1::LookupRequest request;
  write_message(LookupQuery{.problem = all_reduce(8)}, *request.mutable_query());
  auto& members = *request.mutable_query()->mutable_members();
  members.add_kinds()->set_architecture("x86_64");
  for (int i = 0; i < 1'000'000; ++i) members.add_kind_of_rank(0);
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      const auto stub = v1::TuningService::NewStub(
          grpc::CreateChannel(socket(), grpc::InsecureChannelCredentials()));
      for (int i = 0; i < 4; ++i) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 60s);
        v1::LookupResponse response;
        const grpc::Status status = stub->Lookup(&context, request, &response);
        EXPECT_TRUE(status.error_code() == grpc::StatusCode::NOT_FOUND ||
                    status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
            << status.error_code() << ": " << status.error_message();
      }
    });
  callers.clear();
  v1::LookupResponse response;
  EXPECT_TRUE(lookup(socket(), response).ok());
  daemon.signal(SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
}

}  // namespace
}  // namespace colltune
