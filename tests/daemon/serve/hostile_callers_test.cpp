// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Callers that mean no good, or know no better: what they do must not keep others from being
// answered.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "colltune/serve/lookup_service.h"
#include "server_fixture.h"

namespace colltune {
namespace {

using namespace literals;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* lookup_method = "/colltune.v1.TuningService/Lookup";

class Hostile : public Server {
 protected:
  /// A connection that says nothing.
  int connect_silently() const {
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (folder_ / "a.sock").c_str());
    EXPECT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return descriptor;
  }

  grpc::Status sound_lookup() {
    v1::LookupRequest request;
    v1::LookupResponse response;
    *request.mutable_query() = query_for(3);
    return lookup(request, response);
  }

  std::string answer_to(const v1::LookupRequest& request) {
    return generic_call(lookup_method, request.SerializeAsString());
  }
};

TEST_F(Hostile, WhatCannotBeParsedIsInvalidWithAText) {
  for (const std::string& bytes :
       {std::string("\xff\xff"), std::string("\x0a\x7f"), std::string("\x0a\x02\x0a"),
        std::string("\x00", 1), std::string("\x0b\x0c"), std::string("no protobuf at all")})
    for (const char* method : {lookup_method, "/colltune.v1.TuningService/BatchLookup",
                               "/colltune.v1.TuningService/GetTable",
                               "/colltune.v1.TuningService/GetGeneration"})
      EXPECT_THAT(generic_call(method, bytes), StartsWith("status 3: request: the bytes are no"))
          << method;
  EXPECT_TRUE(sound_lookup().ok());
}

TEST_F(Hostile, TextThatIsNoUtf8IsNamed) {
  v1::LookupRequest request;
  *request.mutable_query() = query_for(3);
  request.mutable_query()->set_family("xx");
  std::string bytes = request.SerializeAsString();
  bytes.replace(bytes.find("xx"), 2, "\xC3(");
  EXPECT_EQ(generic_call(lookup_method, bytes), "status 3: query.family: the string is no UTF-8");
}

TEST_F(Hostile, ManyTinyPartsAreRefusedBeforeTheyTakeMemory) {
  v1::LookupRequest request;
  *request.mutable_query() = query_for(3);
  auto& kind = *request.mutable_query()->mutable_members()->add_kinds();
  for (int i = 0; i < 200'000; ++i) kind.add_features();
  EXPECT_THAT(answer_to(request), HasSubstr("holds more than 131072 texts and messages"));
}

/// What took 6 s of processor time once: every step computed the size of the mesh anew.
TEST_F(Hostile, WorkOfARequestIsBoundedByItsSize) {
  v1::LookupRequest request;
  auto& problem = *request.mutable_query()->mutable_problem();
  problem.set_kind(v1::PROBLEM_KIND_MESH_REDUCE);
  problem.set_collective(v1::COLLECTIVE_ALL_REDUCE);
  problem.set_data_type(v1::DATA_TYPE_F32);
  problem.set_reduce_op(v1::REDUCE_OP_NONE);
  for (int i = 0; i < 300'000; ++i) problem.mutable_mesh()->add_shape(1);
  auto& step = *problem.mutable_mesh()->add_steps();
  step.set_op(v1::REDUCE_OP_SUM);
  step.set_dimension(0);
  EXPECT_THAT(answer_to(request), HasSubstr("query.problem.mesh.shape: has 300000 entries"));

  // The largest that is allowed: whether its steps merge is not looked into where nothing is
  // stored.
  problem.mutable_mesh()->clear_shape();
  problem.mutable_mesh()->add_shape(1 << 20);
  while (problem.mesh().steps_size() < 4096) {
    auto& next = *problem.mutable_mesh()->add_steps();
    next.set_op(v1::REDUCE_OP_SUM);
    next.set_dimension(0);
  }
  request.mutable_query()->set_form(v1::COMPOSITION_MODE_MERGED);
  EXPECT_THAT(answer_to(request), StartsWith("status 5: "));
}

TEST_F(Hostile, SilentConnectionsAreClosedAndOthersAreServed) {
  server_.reset();
  start(ServerOptions{.listen = {parse_listen_address("unix:" + (folder_ / "a.sock").string())},
                      .handshake_limit = 200ms,
                      .most_connections = 8});
  std::vector<int> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(connect_silently());
  EXPECT_TRUE(sound_lookup().ok());  // after those before it in the queue were closed
  for (const int descriptor : silent) ::close(descriptor);
  EXPECT_TRUE(sound_lookup().ok());
}

TEST_F(Hostile, ManyIdleConnectionsKeepNobodyOff) {
  std::vector<int> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(connect_silently());
  EXPECT_TRUE(sound_lookup().ok());
  for (const int descriptor : idle) ::close(descriptor);
  EXPECT_TRUE(sound_lookup().ok());
}

TEST_F(Hostile, LargeRequestsOfOneHoldUpNobodysHealth) {
  v1::BatchLookupRequest large;
  for (std::size_t i = 0; i < LookupService::largest_batch; ++i) {
    *large.add_queries() = query_for(worlds + 1);
    large.mutable_queries(static_cast<int>(i))->set_family(std::string(3000, 'x'));
  }
  std::atomic<bool> done = false;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      const auto own = stub();
      while (!done) {
        grpc::ClientContext context;
        set_deadline(context);
        v1::BatchLookupResponse response;
        const grpc::Status status = own->BatchLookup(&context, large, &response);
        EXPECT_TRUE(status.ok() ||
                    status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
            << status.error_message();
      }
    });
  // Each has its own deadline; bench/adversaries_bench measures the time.
  for (int i = 0; i < 50; ++i) EXPECT_EQ(health(""), 1);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(sound_lookup().ok());
  done = true;
}

TEST_F(Hostile, WhoDoesNotReadATableLosesItAndOthersGetTheirs) {
  server_.reset();
  // Large enough not to fit into what the connection holds for a caller that does not read.
  std::vector<Decision> decisions;
  for (int nodes = 1; nodes <= 4000; ++nodes) {
    decisions.push_back(
        decide(all_reduce(8), {{"ring", 10}, {"base", 20, true}}, world(nodes, 2)));
    decisions.back().reason = std::string(1000, 'r');
  }
  source_.replace(std::make_shared<const DecisionTable>(
      DecisionSet{.generation = generation(2),
                  .decisions = std::move(decisions),
                  .environments = {{"e1", {.cpu_model = "one"}}}}));
  std::atomic<int> warnings = 0;
  start(ServerOptions{.listen = {parse_listen_address("unix:" + (folder_ / "a.sock").string())},
                      .warn = [&](const std::string&) { ++warnings; },
                      .stall_limit = 300ms});
  struct Unread {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::GetTableResponse>> reader;
  };
  std::vector<std::unique_ptr<Unread>> unread;
  const auto own = stub();
  for (int i = 0; i < 40; ++i) {
    unread.push_back(std::make_unique<Unread>());
    set_deadline(unread.back()->context);
    unread.back()->reader = own->GetTable(&unread.back()->context, {});
  }
  std::vector<v1::GetTableResponse> messages;
  const grpc::Status status = table({}, messages);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(warnings, 0);
  int cancelled = 0;
  for (const auto& one : unread) {
    v1::GetTableResponse message;
    while (one->reader->Read(&message)) {
    }
    cancelled += one->reader->Finish().ok() ? 0 : 1;
  }
  EXPECT_GT(cancelled, 0);
}

TEST_F(Hostile, AtTheEndCallsAreAnsweredOrUnavailable) {
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0;
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      const auto own = stub();
      while (!done) {
        grpc::ClientContext context;
        set_deadline(context);
        v1::LookupRequest request;
        *request.mutable_query() = query_for(3);
        v1::LookupResponse response;
        const grpc::Status status = own->Lookup(&context, request, &response);
        if (status.ok()) {
          ++answered;
          continue;
        }
        EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
        return;
      }
    });
  while (answered < 20) std::this_thread::yield();
  server_->shutdown(5s);
  done = true;
}

TEST_F(Hostile, AnAddressGivenTwiceIsRefused) {
  const auto again = [&](const std::string& one, const std::string& other) {
    return error_of_action(StatusCode::invalid_argument, [&] {
      const LookupServer second(
          source_, {.listen = {parse_listen_address(one), parse_listen_address(other)}});
    });
  };
  const std::string path = (folder_ / "b.sock").string();
  EXPECT_THAT(again("unix:" + path, "unix:" + path), HasSubstr("is given twice"));
  EXPECT_THAT(again("127.0.0.1:50999", "127.0.0.1:50999"), HasSubstr("is given twice"));
}

TEST_F(Hostile, PinsWithAnotherContentAreAnError) {
  v1::LookupRequest request;
  v1::LookupResponse response;
  *request.mutable_query() = query_for(3);
  request.mutable_query()->set_generation(1);
  request.set_generation_digest("digest-1");
  EXPECT_TRUE(lookup(request, response).ok());
  request.set_generation_digest("another");
  EXPECT_EQ(lookup(request, response).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  request.mutable_query()->clear_generation();
  EXPECT_EQ(lookup(request, response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  v1::GetTableRequest whole;
  whole.set_generation(1);
  whole.set_generation_digest("another");
  std::vector<v1::GetTableResponse> messages;
  EXPECT_EQ(table(whole, messages).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::BatchLookupRequest many;
  *many.add_queries() = query_for(1);
  many.set_generation(1);
  many.set_generation_digest("another");
  v1::BatchLookupResponse answers;
  EXPECT_EQ(batch(many, answers).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace colltune
