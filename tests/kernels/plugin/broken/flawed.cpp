// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A plug-in that is flawed in the way that COLLTUNE_TEST_FLAW names, with COLLTUNE_TEST_FAMILY and
// COLLTUNE_TEST_DESCRIPTION as its family and description where they are set. Its all-reduce moves
// nothing: it shows how the host treats what it is told. (It uses no std::to_string, whose table is
// a unique symbol: the object would never be unloaded.)

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "colltune/plugin.h"

struct colltune_operation {
  const colltune_host* host;
  colltune_communicator* communicator;
  colltune_memory* memory;
};

namespace {

const char* setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

bool has_flaw(std::string_view name) { return setting("COLLTUNE_TEST_FLAW", "") == name; }

[[gnu::constructor]] void begin() {
  while (has_flaw("hangs in its constructor")) pause();
}

const char* describe() {
  if (has_flaw("null description")) return nullptr;
  while (has_flaw("hangs in describe")) pause();
  if (has_flaw("crashes in describe")) std::abort();
  if (has_flaw("exits in describe")) std::exit(0);
  return setting("COLLTUNE_TEST_DESCRIPTION",
                 R"({"implementations":[{"name":"idle","collective":"all_reduce",)"
                 R"("description":"does nothing","rounding":"exact","numeric_class":"any"}]})");
}

colltune_status supports(const colltune_problem*, const colltune_variant*, char* reason,
                         std::size_t reason_size) {
  if (has_flaw("unsupported without a reason")) return colltune_unimplemented;
  if (has_flaw("reason without an end")) {
    for (std::size_t i = 0; i < reason_size; ++i) reason[i] = 'x';
    return colltune_unimplemented;
  }
  return colltune_ok;
}

colltune_status misuse(const colltune_operation& operation) {
  const colltune_host& host = *operation.host;
  if (has_flaw("sets a signal that is none")) host.signal_set(operation.memory, 1, 1);
  if (has_flaw("waits for a signal that is none"))
    return host.signal_wait(operation.memory, 0, 1, 1, 0, "nothing");
  if (has_flaw("waits for a rank that is none"))
    return host.signal_wait(operation.memory, 99, 0, 1, 0, "nothing");
  if (has_flaw("reads what is none"))
    return host.part(operation.memory, 99) == nullptr &&
                   host.signal_get(operation.memory, -1, 0) == 0 &&
                   host.node_of(operation.communicator, 99) == -1 &&
                   host.mpi_comm(operation.communicator) == nullptr
               ? colltune_ok
               : colltune_internal;
  if (has_flaw("allocates in start")) {
    colltune_memory* more = nullptr;
    return host.allocate(operation.communicator, 64, 0, host.now_ns(), &more);
  }
  if (has_flaw("throws")) throw std::runtime_error("out of luck");
  if (has_flaw("unknown status")) return 99;
  if (has_flaw("no reason")) return colltune_unavailable;
  if (has_flaw("a reason")) {
    host.fail(operation.communicator, "the cable is loose");
    return colltune_unavailable;
  }
  if (has_flaw("an old reason")) {
    host.fail(operation.communicator, "this was nothing");
    return colltune_ok;
  }
  if (has_flaw("misses a rank")) {
    host.miss(operation.communicator, 0, "its turn");
    return host.is_aborted(operation.communicator) != 0 ? colltune_aborted
                                                        : colltune_deadline_exceeded;
  }
  return colltune_ok;
}

colltune_status prepare(const colltune_host* host, colltune_communicator* communicator,
                        const colltune_call* call, const colltune_variant*,
                        std::int64_t deadline_ns, colltune_operation** operation) {
  if (has_flaw("says what it was given")) {
    char text[64];
    std::snprintf(text, sizeof text, "capacity %llu",
                  static_cast<unsigned long long>(call->capacity));
    host->fail(communicator, text);
    return colltune_failed_precondition;
  }
  if (has_flaw("no operation")) return colltune_ok;
  if (has_flaw("prepare fails")) {
    host->fail(communicator, "not today");
    return colltune_failed_precondition;
  }
  const std::int32_t signals = has_flaw("negative signals") ? -1 : 1;
  const std::size_t bytes = has_flaw("absurd size") ? static_cast<std::size_t>(-1) : 0;
  colltune_memory* memory = nullptr;
  const colltune_status status = host->allocate(communicator, bytes, signals, deadline_ns, &memory);
  if (status == colltune_ok) *operation = new colltune_operation{host, communicator, memory};
  return status;
}

colltune_status bind(colltune_operation* operation, const void*, void*) {
  if (!has_flaw("bind fails")) return colltune_ok;
  operation->host->fail(operation->communicator, "no more of them");
  return colltune_invalid_argument;
}

colltune_status rebind(colltune_operation* operation, const colltune_call* call) {
  if (has_flaw("throws in rebind")) throw std::runtime_error("out of calls");
  if (!has_flaw("rebind fails")) return colltune_ok;
  const colltune_problem& problem = *call->problem;
  char text[128];
  std::snprintf(text, sizeof text, "%s %s %llu bytes, root %d, sends %zu, capacity %llu",
                problem.data_type, problem.reduce_op,
                static_cast<unsigned long long>(problem.message_size), call->root, call->send_size,
                static_cast<unsigned long long>(call->capacity));
  operation->host->fail(operation->communicator, text);
  return colltune_unavailable;
}

colltune_status start(colltune_operation* operation) { return misuse(*operation); }

colltune_status wait(colltune_operation*, std::int64_t) {
  return has_flaw("an old reason") ? colltune_internal : colltune_ok;
}

// The memory is left to the host.
void destroy(colltune_operation* operation) { delete operation; }

}  // namespace

const colltune_plugin* colltune_plugin_entry(std::uint32_t) {
  if (has_flaw("null table")) return nullptr;
  static colltune_plugin table;
  table = {.struct_size = sizeof(colltune_plugin),
           .abi_version = colltune_plugin_abi_version,
           .family = setting("COLLTUNE_TEST_FAMILY", "flawed"),
           .describe = describe,
           .supports = supports,
           .prepare = prepare,
           .start = start,
           .wait = wait,
           .destroy = destroy,
           .bind = bind,
           .rebind = rebind};
  if (has_flaw("small struct")) table.struct_size = offsetof(colltune_plugin, destroy);
  if (has_flaw("large struct")) table.struct_size += 64;
  if (has_flaw("first revision")) table.struct_size = offsetof(colltune_plugin, bind);
  if (has_flaw("second revision")) table.struct_size = offsetof(colltune_plugin, rebind);
  if (has_flaw("null bind")) table.bind = nullptr;
  if (has_flaw("null bind") || has_flaw("null rebind")) table.rebind = nullptr;
  if (has_flaw("rebind without bind")) table.bind = nullptr;
  if (has_flaw("newer version")) table.abi_version = 2;
  if (has_flaw("null family")) table.family = nullptr;
  if (has_flaw("null describe")) table.describe = nullptr;
  if (has_flaw("null supports")) table.supports = nullptr;
  if (has_flaw("null prepare")) table.prepare = nullptr;
  if (has_flaw("null start")) table.start = nullptr;
  if (has_flaw("null wait")) table.wait = nullptr;
  if (has_flaw("null destroy")) table.destroy = nullptr;
  return &table;
}
