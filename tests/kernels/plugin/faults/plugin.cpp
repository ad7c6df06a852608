// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The plug-in's table. It is C++ behind a C interface: nothing here lets an exception out.

#include "colltune/plugin.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string>

#include "faults.h"
#include "mpi_wait.h"

namespace faults {
namespace {

const char* describe() {
  static const std::string text = [] {
    std::string json;
    for (const Fault& fault : all_faults()) {
      json += json.empty() ? R"({"implementations":[)" : ",";
      json += std::string(R"({"name":")") + fault.name + R"(","description":")" +
              fault.description + R"(","parameters":)" + fault.parameters +
              R"(,"collective":"all_reduce","rounding":"each_step","numeric_class":"rank_order")"
              R"(,"limits":{"data_types":["f32","f64","i32"],"reduce_ops":["sum"]})"
              R"(,"cost":{"steps":{"constant":1},)"
              R"("bytes_per_rank":{"size_times_ranks":1,"size":-1},)"
              R"("reduced_bytes":{"size_times_ranks":1}}})";
    }
    return json + "]}";
  }();
  return text.c_str();
}

const Fault* find(std::string_view name) {
  const auto faults = all_faults();
  const auto found = std::ranges::find(faults, name, [](const Fault& f) { return f.name; });
  return found == faults.end() ? nullptr : &*found;
}

/// Empty where the settings make sense on so many ranks.
std::string why_not(const Fault& fault, const colltune_problem& problem, const Settings& settings) {
  if (problem.nodes > 1) return "it works in shared memory, on one node alone";
  if (fault.needs_own_input && (problem.flags & colltune_in_place) != 0)
    return "in place, the input is overwritten anyway";
  if (settings.number("rank") >= problem.ranks)
    return "there is no rank " + std::to_string(settings.number("rank"));
  if (settings.has("n") && settings.number("n") < 1) return "n must be at least 1";
  if (settings.has("factor") && settings.number("factor") < 1) return "factor must be at least 1";
  if (settings.number("bytes") < 0 || settings.number("element") < 0)
    return "bytes and element must not be negative";
  constexpr std::array<std::string_view, 3> places{"prepare", "start", "wait"};
  if (settings.has("at") && std::ranges::find(places, settings.word("at")) == places.end())
    return "at must be prepare, start or wait";
  const std::string_view peers = settings.word("peers");
  if (!peers.empty() && peers != "signals" && peers != "mpi") return "peers must be signals or mpi";
  if (peers == "mpi" && !can_wait_in_mpi()) return "this plug-in was built without MPI";
  return {};
}

colltune_status supports(const colltune_problem* problem, const colltune_variant* variant,
                         char* reason, std::size_t reason_size) {
  const Fault* const fault = find(variant->implementation);
  const std::string why =
      fault == nullptr ? "no such fault" : why_not(*fault, *problem, Settings(*variant));
  std::snprintf(reason, reason_size, "%s", why.c_str());
  return why.empty() ? colltune_ok : colltune_unimplemented;
}

colltune_status prepare(const colltune_host* host, colltune_communicator* communicator,
                        const colltune_call* call, const colltune_variant* variant,
                        std::int64_t deadline_ns, colltune_operation** operation) {
  try {
    const Settings settings(*variant);
    const Request request{*host, communicator, *call, settings};
    auto made = find(variant->implementation)->make(request);
    const colltune_status status = made->allocate(deadline_ns);
    if (status == colltune_ok) *operation = made.release();
    return status;
  } catch (const std::exception& error) {
    host->fail(communicator, error.what());
    return colltune_internal;
  }
}

colltune_status bind(colltune_operation* operation, const void* send, void* receive) {
  return operation->bind(send, receive);
}
colltune_status start(colltune_operation* operation) { return operation->start(); }
colltune_status wait(colltune_operation* operation, std::int64_t deadline_ns) {
  return operation->wait(deadline_ns);
}
void destroy(colltune_operation* operation) { delete operation; }

constexpr colltune_plugin table{.struct_size = sizeof(colltune_plugin),
                                .abi_version = colltune_plugin_abi_version,
                                .family = "fault",
                                .describe = describe,
                                .supports = supports,
                                .prepare = prepare,
                                .start = start,
                                .wait = wait,
                                .destroy = destroy,
                                .bind = bind};

}  // namespace
}  // namespace faults

const colltune_plugin* colltune_plugin_entry(std::uint32_t host_abi_version) {
  return host_abi_version == colltune_plugin_abi_version ? &faults::table : nullptr;
}
