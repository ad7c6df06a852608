// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "colltune/serve/lookup_server.h"
#include "colltune/v1/tuning_service.grpc.pb.h"
#include "colltune/wire/convert.h"
#include "literals.h"
#include "temporary_folder.h"

namespace colltune::literals {

inline constexpr int worlds = 300;

/// One decision for each of `worlds` numbers of nodes, whose winner names the generation.
inline TableSource::Table make_table(std::uint64_t number) {
  std::vector<Decision> decisions;
  for (int nodes = 1; nodes <= worlds; ++nodes)
    decisions.push_back(decide(
        all_reduce(8), {{"v" + std::to_string(number), 10}, {"base", 20, true}}, world(nodes, 2)));
  return std::make_shared<const DecisionTable>(
      DecisionSet{.generation = generation(number),
                  .decisions = std::move(decisions),
                  .environments = {{"e1", {.cpu_model = "one"}}}});
}

inline v1::LookupQuery query_for(int nodes) {
  v1::LookupQuery message;
  write_message(LookupQuery{.problem = all_reduce(8), .nodes = nodes}, message);
  return message;
}

/// Every call ends, whatever happens.
inline void set_deadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
}

class Server : public ::testing::Test {
 protected:
  void SetUp() override {
    source_.replace(make_table(1));
    start({parse_listen_address("unix:" + (folder_ / "a.sock").string()),
           parse_listen_address("127.0.0.1:0")});
    server_->set_serving(true);
  }
  void start(std::vector<ListenAddress> addresses) {
    start(ServerOptions{.listen = std::move(addresses)});
  }
  void start(const ServerOptions& options) {
    server_ = std::make_unique<LookupServer>(source_, options);
  }
  std::shared_ptr<grpc::Channel> channel(std::size_t address = 0) {
    return grpc::CreateChannel(to_string(server_->addresses().at(address)),
                               grpc::InsecureChannelCredentials());
  }
  std::unique_ptr<v1::TuningService::Stub> stub(std::size_t address = 0) {
    return v1::TuningService::NewStub(channel(address));
  }
  grpc::Status lookup(const v1::LookupRequest& request, v1::LookupResponse& response) {
    grpc::ClientContext context;
    set_deadline(context);
    return stub()->Lookup(&context, request, &response);
  }
  grpc::Status batch(const v1::BatchLookupRequest& request, v1::BatchLookupResponse& response) {
    grpc::ClientContext context;
    set_deadline(context);
    return stub()->BatchLookup(&context, request, &response);
  }
  grpc::Status table(const v1::GetTableRequest& request,
                     std::vector<v1::GetTableResponse>& messages) {
    grpc::ClientContext context;
    set_deadline(context);
    const auto reader = stub()->GetTable(&context, request);
    v1::GetTableResponse message;
    while (reader->Read(&message)) messages.push_back(message);
    return reader->Finish();
  }
  /// What grpc.health.v1 says of `service`: 1 serving, 2 not serving. By its wire form, since
  /// Debian ships no header of that service: field 1 of question and answer.
  int health(const std::string& service) {
    std::string bytes;
    if (!service.empty()) bytes = std::string("\x0a") + static_cast<char>(service.size()) + service;
    const std::string reply = generic_call("/grpc.health.v1.Health/Check", bytes);
    return reply.size() == 2 && reply[0] == '\x08' ? reply[1] : 0;
  }
  /// What is replied, or "status N: message".
  std::string generic_call(const std::string& method, const std::string& bytes) {
    grpc::GenericStub generic(channel());
    grpc::ClientContext context;
    set_deadline(context);
    grpc::CompletionQueue queue;
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    auto call = generic.PrepareUnaryCall(&context, method, request, &queue);
    call->StartCall();
    grpc::ByteBuffer reply;
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    if (!status.ok()) return "status " + std::to_string(status.error_code()) + ": " + status.error_message();
    grpc::Slice joined;
    if (reply.Length() == 0 || !reply.DumpToSingleSlice(&joined).ok()) return {};
    return {reinterpret_cast<const char*>(joined.begin()), joined.size()};
  }

  TemporaryFolder folder_;
  TableSource source_{4};
  std::unique_ptr<LookupServer> server_;
};

}  // namespace colltune::literals
