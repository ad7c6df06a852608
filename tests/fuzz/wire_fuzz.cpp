// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The wire's reader: what peers send, as the daemon and the client take it. What is read is read
// again from what is written of it.

#include <cstdlib>

#include "colltune/v1/tuning_service.pb.h"
#include "colltune/wire/convert.h"
#include "fuzz_target.h"
#include "request_scan.h"

namespace colltune::fuzz {
namespace {

LookupAnswer some_answer() {
  LookupAnswer answer;
  answer.decision = {.key = {.problem = {.message_size = {1024}},
                             .topology = {.architectures = {{"x86_64", 1}}},
                             .environment_digest = "e"},
                     .ranked = {{.variant = parse_variant("a{n=2,w=x}")}},
                     .reason = "why"};
  answer.compositions = {
      {CompositionMode::merged, {{PartRole::whole, {}, parse_variant("a"), {}}}}};
  return answer;
}

LookupQuery some_query() {
  LookupQuery query{.nodes = 2, .members = Members{{{"x86_64", {"a=1", "b"}}}, {0, 0}}};
  query.problem.kind = ProblemKind::mesh_reduce;
  query.problem.reduce_op = ReduceOp::none;
  query.problem.mesh = parse_mesh("2x3", "0:sum,{0-2|3-5}:sum");
  return query;
}

AnnotatedProgram some_program() {
  return {.device = {.name = "d", .platform = "cuda", .architecture = "sm_90", .links = 18},
          .collectives = {{.name = "a", .replica_groups = {{{0, 1}, {2, 3}}}},
                          {.name = "b", .replica_counts = ReplicaCounts{.groups = 2, .size = 2}},
                          {.name = "c", .replica_tiles = "[2,2]<=[4]"}},
          .nccl = NcclTopology{.ring = {.channels = 2, .intra_gb_per_s = 20}}};
}

template <class T>
void read_as(const message_of<T>& message) {
  try {
    const T value = read_message<T>(message, "input");
    message_of<T> written;
    write_message(value, written);
    if (read_message<T>(written, "again") != value) std::abort();
  } catch (const Error&) {  // what is expected of bad input
  }
}

}  // namespace

std::vector<std::string> seeds() {
  v1::LookupRequest request;
  write_message(some_query(), *request.mutable_query());
  v1::BatchLookupRequest batch;
  for (int i = 0; i < 3; ++i) *batch.add_queries() = request.query();
  v1::LookupResponse response;
  write_message(some_answer(), *response.mutable_answer());
  v1::AnnotateRequest annotate;
  write_message(some_program(), *annotate.mutable_program());
  return {request.SerializeAsString(), batch.SerializeAsString(), response.SerializeAsString(),
          annotate.SerializeAsString()};
}

void run(std::string_view input) {
  const auto parse = [&](auto& message) {
    try {
      scan_request(input, *message.GetDescriptor());
    } catch (const Error&) {
      return false;
    }
    return message.ParseFromArray(input.data(), static_cast<int>(input.size()));
  };
  if (v1::LookupRequest request; parse(request)) read_as<LookupQuery>(request.query());
  if (v1::BatchLookupRequest batch; parse(batch))
    for (const auto& query : batch.queries()) read_as<LookupQuery>(query);
  if (v1::LookupResponse response; parse(response)) read_as<LookupAnswer>(response.answer());
  if (v1::AnnotateRequest annotate; parse(annotate)) read_as<AnnotatedProgram>(annotate.program());
  if (v1::GetTableResponse table; parse(table)) {
    for (const auto& decision : table.decisions()) read_as<Decision>(decision);
    for (const auto& world : table.members()) read_as<WorldMembers>(world);
  }
}

}  // namespace colltune::fuzz
