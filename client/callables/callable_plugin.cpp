// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "callable_plugin.h"

#include <mpi.h>

#include <array>
#include <cstdio>
#include <memory>

#include "colltune/vocabulary/error.h"
#include "registrations.h"

/// One prepared call of a callable.
struct colltune_operation {
  const colltune_host* host;
  colltune_communicator* communicator;
  const colltune_callable* callable;
  std::string parameters;
  std::string problem;
  colltune_callable_call call;
};

namespace colltune {
namespace {

thread_local const CallablePlugin* current = nullptr;

const char* describe_callables() { return current->description().c_str(); }

/// What a rank's own check says travels with its capabilities (CallableImplementation), since this
/// rank answers for the others here.
colltune_status supports_always(const colltune_problem*, const colltune_variant*, char*, size_t) {
  return colltune_ok;
}

colltune_status prepare(const colltune_host* host, colltune_communicator* communicator,
                        const colltune_call* call, const colltune_variant* variant, int64_t,
                        colltune_operation** operation) {
  const colltune_callable* const callable = current->find(variant->implementation);
  const auto* const comm = static_cast<const MPI_Comm*>(host->mpi_comm(communicator));
  if (callable == nullptr || comm == nullptr) {
    host->fail(communicator, callable == nullptr ? "this rank did not register it"
                                                 : "its ranks are no MPI processes");
    return colltune_failed_precondition;
  }
  auto made = std::make_unique<colltune_operation>();
  made->host = host;
  made->communicator = communicator;
  made->callable = callable;
  made->parameters = parameters_text(*variant);
  made->problem = problem_text(*call->problem);
  made->call = {.struct_size = sizeof(colltune_callable_call),
                .problem = made->problem.c_str(),
                .parameters = made->parameters.c_str(),
                .send = call->send,
                .send_size = call->send_size,
                .receive = call->receive,
                .receive_size = call->receive_size,
                .count = call->problem->block_elements,
                .root = call->root,
                .communicator = PMPI_Comm_c2f(*comm)};
  *operation = made.release();
  return colltune_ok;
}

/// All is done in `wait`: a start never waits for other ranks, and a callable may.
colltune_status start(colltune_operation*) { return colltune_ok; }

colltune_status wait(colltune_operation* operation, int64_t) {
  constexpr std::size_t longest_message = 1024;
  std::array<char, longest_message> message{};
  const int32_t status = operation->callable->run(operation->callable->context, &operation->call,
                                                  message.data(), message.size());
  if (status == 0) return colltune_ok;
  message.back() = '\0';
  operation->host->fail(operation->communicator,
                        message.front() == '\0' ? "it gave no reason" : message.data());
  return colltune_internal;
}

void destroy(colltune_operation* operation) { delete operation; }

colltune_status bind(colltune_operation* operation, const void* send, void* receive) {
  operation->call.send = send;
  operation->call.receive = receive;
  return colltune_ok;
}

}  // namespace

std::string problem_text(const colltune_problem& problem) {
  return nlohmann::json{{"collective", problem.collective},
                        {"data_type", problem.data_type},
                        {"reduce_op", problem.reduce_op},
                        {"message_size", problem.message_size},
                        {"count", problem.block_elements},
                        {"element_size", problem.element_size},
                        {"ranks", problem.ranks},
                        {"nodes", problem.nodes},
                        {"ranks_per_node", problem.ranks_per_node},
                        {"in_place", (problem.flags & colltune_in_place) != 0}}
      .dump();
}

std::string parameters_text(const colltune_variant& variant) {
  nlohmann::json parameters = nlohmann::json::object();
  for (std::size_t i = 0; i < variant.parameter_count; ++i) {
    const std::string text = variant.parameter_values[i];
    const std::int64_t number = variant.parameter_numbers[i];
    if (text == std::to_string(number))
      parameters[variant.parameter_names[i]] = number;
    else
      parameters[variant.parameter_names[i]] = text;
  }
  return parameters.dump();
}

CallablePlugin::CallablePlugin(const std::vector<nlohmann::json>& entries,
                               std::span<const colltune_callable> own)
    : description_(nlohmann::json{{"implementations", entries}}.dump()),
      table_{.struct_size = sizeof(colltune_plugin),
             .abi_version = colltune_plugin_abi_version,
             .family = callables_prefix,
             .describe = describe_callables,
             .supports = supports_always,
             .prepare = prepare,
             .start = start,
             .wait = wait,
             .destroy = destroy,
             .bind = bind,
             .rebind = nullptr} {
  if (current != nullptr)
    throw Error(StatusCode::failed_precondition, "a sweep is running on this thread already");
  for (const colltune_callable& callable : own)
    own_.emplace_back(described_entry(callable).at("name").get<std::string>(), &callable);
  current = this;
}

CallablePlugin::~CallablePlugin() { current = nullptr; }

const colltune_callable* CallablePlugin::find(const std::string& name) const {
  for (const auto& [own, callable] : own_)
    if (own == name) return callable;
  return nullptr;
}

}  // namespace colltune
