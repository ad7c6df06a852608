// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "colltune/json/json.h"
#include "colltune/trace/trace.h"

namespace colltune {
namespace {

using nlohmann::json;

// The most that is recorded takes far less.
constexpr std::size_t most_text = std::size_t{16} << 20U;
// A message of MPI is counted by an int for each rank.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 56U;

void check(const Trace& trace, const std::string& where) {
  const auto refuse = [&](const std::string& place, const std::string& what) {
    throw Error(StatusCode::invalid_argument, fmt::format("{}: {}: {}", where, place, what));
  };
  if (trace.version != Trace::current_version)
    refuse("/version",
           fmt::format("{} is not known; allowed is {}", trace.version, Trace::current_version));
  if (trace.ranks < 1 || trace.nodes < 1 || trace.nodes > trace.ranks)
    refuse("/ranks", fmt::format("{} ranks on {} nodes; a launch has at least one of each, and no "
                                 "more nodes than ranks",
                                 trace.ranks, trace.nodes));
  if (trace.rank_time.count() < 0 || trace.not_kept.time.count() < 0)
    refuse("/rank_time_ns", "a time is less than 0");
  for (std::size_t i = 0; i < trace.worlds.size(); ++i) {
    const TracedWorld& world = trace.worlds[i];
    const bool is_even = world.ranks_per_node == 0 ||
                         std::int64_t{world.nodes} * world.ranks_per_node == world.ranks;
    if (world.ranks < 1 || world.nodes < 0 || world.nodes > world.ranks ||
        world.ranks_per_node < 0 || !is_even)
      refuse(fmt::format("/worlds/{}", i),
             fmt::format("{} ranks, {} nodes, {} on each; they do not fit together", world.ranks,
                         world.nodes, world.ranks_per_node));
  }
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    const TracedCalls& calls = trace.calls[i];
    const std::string place = fmt::format("/calls/{}", i);
    if (calls.world >= trace.worlds.size())
      refuse(place + "/world", fmt::format("{} is none of the {} worlds, which count from 0",
                                           calls.world, trace.worlds.size()));
    if (calls.by_ranks.calls == 0 || calls.by_ranks.time.count() < 0)
      refuse(place + "/by_ranks", "allowed are at least one call and a time of at least 0");
    if (calls.call.persistent && !calls.call.is_nonblocking)
      refuse(place + "/call/is_nonblocking",
             "false; a call with a persistent request is nonblocking, so true is allowed");
    if (calls.call.message_size.value > most_bytes)
      refuse(place + "/call/message_size_bytes",
             fmt::format("{} bytes; allowed are at most {}", calls.call.message_size.value,
                         most_bytes));
  }
}

/// `value` as a member `name` whose items have a line each.
std::string lines_of(std::string_view name, const json& list) {
  std::string text = fmt::format("\"{}\":[", name);
  for (std::size_t i = 0; i < list.size(); ++i)
    text += (i == 0 ? "\n " : ",\n ") + list[i].dump(-1, ' ', true, json::error_handler_t::replace);
  return text + "]";
}

}  // namespace

std::string pack(const Trace& trace) {
  std::string bytes;
  json::to_cbor(to_json_value(trace), bytes);
  return bytes;
}

Trace unpack_trace(std::string_view bytes) {
  const json value = json::from_cbor(bytes, true, false);
  if (value.is_discarded())
    throw Error(StatusCode::data_loss, "what a rank recorded arrived damaged");
  return from_json_value<Trace>(value, "trace");
}

std::string to_text(const Trace& trace) {
  json head = to_json_value(trace);
  const json worlds = std::move(head["worlds"]);
  const json calls = std::move(head["calls"]);
  head.erase("worlds");
  head.erase("calls");
  std::string text = head.dump(-1, ' ', true, json::error_handler_t::replace);
  text.pop_back();  // its closing brace
  return fmt::format("{},\n{},\n{}}}\n", text, lines_of("worlds", worlds),
                     lines_of("calls", calls));
}

Trace parse_trace(std::string_view text, const std::string& where) {
  if (text.size() > most_text)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{}: {} bytes; a trace has at most {}", where, text.size(), most_text));
  json value;
  try {
    value = json::parse(text);
  } catch (const json::exception& error) {
    throw Error(
        StatusCode::invalid_argument,
        fmt::format("{}: no trace as 'colltune run --record' writes it: {}", where, error.what()));
  }
  if (!value.is_object())
    throw Error(
        StatusCode::invalid_argument,
        fmt::format("{}: no trace as 'colltune run --record' writes it: not one object", where));
  const Trace trace = from_json_value<Trace>(value, where + ":");
  check(trace, where);
  return trace;
}

Trace load_trace(const std::string& path) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path, error))
    throw Error(
        StatusCode::failed_precondition,
        path + ": no file that can be read; give a trace that 'colltune run --record' wrote");
  std::ostringstream text;
  text << file.rdbuf();
  return parse_trace(text.view(), path);
}

}  // namespace colltune
