// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "child_process.h"
#include "colltune/db/store.h"
#include "colltune/v1/tuning_service.grpc.pb.h"
#include "colltune/wire/convert.h"
#include "literals.h"
#include "temporary_folder.h"

namespace colltune::literals {

/// A database and the daemon over it as a process.
class Colltuned : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path database() const { return folder_ / "tuning.db"; }
  [[nodiscard]] std::string socket() const { return "unix:" + (folder_ / "a.sock").string(); }

  [[nodiscard]] std::vector<std::string> command(const std::string& listen) const {
    return {COLLTUNED, "--db", database().string(), "--listen", listen};
  }

  /// Publishes one decision whose winner is called `name`.
  void publish(const std::string& name) {
    Store store(database());
    const std::string digest = store.put_environment({.cpu_model = "one"});
    const std::string sweep = "sweep-of-" + name;
    store.begin_sweep({.uuid = sweep,
                       .started_at = "2026-01-01T00:00:00Z",
                       .configuration = "{}",
                       .environment_digest = digest});
    Decision decision = decide(all_reduce(8), {{name, 10}, {"base", 20, true}}, world(), digest);
    decision.sweep_uuid = sweep;
    generation_ = store.publish(std::vector{decision}, "2026-01-01T00:00:00Z").number;
  }

  /// One lookup; fails only after the deadline, since a call waits for the server.
  grpc::Status lookup(const std::string& address, v1::LookupResponse& response,
                      std::uint64_t generation = 0) {
    const auto stub = v1::TuningService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::LookupRequest request;
    write_message(LookupQuery{.problem = all_reduce(8)}, *request.mutable_query());
    if (generation != 0) request.mutable_query()->set_generation(generation);
    return stub->Lookup(&context, request, &response);
  }

  static std::string winner_of(const v1::LookupResponse& response) {
    return response.answer().decision().ranked(0).variant().implementation();
  }

  TemporaryFolder folder_;
  std::uint64_t generation_ = 0;
};

}  // namespace colltune::literals
