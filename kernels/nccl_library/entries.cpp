// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "entries.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace colltune::nccl {
namespace {

// NCCL gives each channel at least this much traffic.
constexpr std::uint64_t traffic_of_channel = 16 << 10;
// A channel moves some 20 GB/s. With more bytes per channel than this a call takes milliseconds,
// and more channels are always better. LL writes a flag for each four bytes, so it reaches at most
// half of the link; NCCL's own model drops it below a megabyte.
constexpr std::uint64_t most_bytes_of_channel = std::uint64_t{64} << 20;
constexpr std::uint64_t most_bytes_of_ll = std::uint64_t{16} << 20;
constexpr std::array<int, 6> channel_counts{1, 2, 4, 8, 16, 32};
// Each count needs another communicator. If channels can be forced, counts that NCCL's default
// communicators cover (16 to 32, depending on the GPU) need not be tried again as CTAs, only larger
// ones.
constexpr std::array<int, 4> cta_counts{4, 16, 32, 64};
constexpr int fewest_unforced_ctas = 32;

/// Whether this many channels leave each with little enough to be worth trying.
bool is_little_for(std::uint64_t bytes, int channels) {
  return bytes / static_cast<std::uint64_t>(channels) <= most_bytes_of_channel;
}

bool has_all_protocols(Algorithm algorithm) {
  return algorithm == Algorithm::ring || algorithm == Algorithm::tree;
}

bool can_run(Function function, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return true;
    case Algorithm::tree:
    case Algorithm::collnet_chain:
    case Algorithm::nvls_tree:
      return function == Function::all_reduce;
    case Algorithm::collnet_direct:
    case Algorithm::nvls:
      return function != Function::broadcast && function != Function::reduce;
    case Algorithm::pat:
      return function == Function::all_gather || function == Function::reduce_scatter;
  }
  return false;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return made;
}

/// The parts of `text` between `separator`s.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The function's name as NCCL_ALGO spells it before a list.
std::string_view function_name(Function function) {
  constexpr std::array<std::string_view, function_count> names{"broadcast", "reduce", "allgather",
                                                               "reducescatter", "allreduce"};
  return names[static_cast<std::size_t>(function)];
}

bool is_in_list(std::string_view list, std::string_view what) {
  const bool excludes = list.starts_with('^');
  if (excludes) list.remove_prefix(1);
  const bool is_named =
      std::ranges::any_of(split(list, ','), [&](std::string_view name) { return name == what; });
  return is_named != excludes;
}

}  // namespace

std::vector<Entry> entries_of(Function function) {
  std::vector<Entry> entries;
  for (const auto& algorithm : enum_names(Algorithm{}))
    for (const auto& protocol : enum_names(Protocol{}))
      if (can_run(function, algorithm.value) &&
          (has_all_protocols(algorithm.value) || protocol.value == Protocol::simple))
        entries.push_back({algorithm.value, protocol.value});
  return entries;
}

std::string why_not_there(const Entry& entry, const Topology& topology) {
  switch (entry.algorithm) {
    case Algorithm::tree:
    case Algorithm::ring:
    case Algorithm::nvls:
      return {};
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
    case Algorithm::nvls_tree:
      return topology.nodes > 1 ? std::string() : "NCCL has it across nodes alone";
    case Algorithm::pat:
      if (topology.nodes < 2) return "NCCL has it across nodes alone";
      return topology.ranks_per_node == 1 ? std::string()
                                          : "NCCL has it where each node has one rank";
  }
  return {};
}

int most_channels_of(Function function, Protocol protocol, std::uint64_t bytes) {
  const std::uint64_t traffic_of_byte =
      (function == Function::all_reduce ? 2 : 1) * (protocol == Protocol::ll ? 4 : 1);
  const std::uint64_t cell = traffic_of_channel / traffic_of_byte;
  const std::uint64_t cells = (bytes + cell - 1) / cell;
  return static_cast<int>(std::clamp<std::uint64_t>(cells, 1, most_channels));
}

std::vector<int> channels_to_try(Function function, const Entry& entry, std::uint64_t bytes) {
  std::vector<int> channels;
  if (entry.protocol == Protocol::ll && bytes > most_bytes_of_ll) return channels;
  channels.push_back(0);
  const int most = most_channels_of(function, entry.protocol, bytes);
  if (takes_channels_on_trust(entry.algorithm) || most == 1) return channels;
  for (const int count : channel_counts)
    if (count <= most && is_little_for(bytes, count)) channels.push_back(count);
  return channels;
}

int most_ctas_of(Collective collective, std::uint64_t bytes) {
  // NCCL chooses the protocol, and LL has the most channels. Collectives without a tuner question
  // move each byte once, as all_gather does.
  return most_channels_of(function_of(collective).value_or(Function::all_gather), Protocol::ll,
                          bytes);
}

std::vector<int> ctas_to_try(Collective collective, std::uint64_t bytes) {
  std::vector<int> ctas;
  const int most = most_ctas_of(collective, bytes);
  if (most == 1) return ctas;
  for (const int count : cta_counts)
    if (count <= most && is_little_for(bytes, count) &&
        (!function_of(collective) || count >= fewest_unforced_ctas))
      ctas.push_back(count);
  return ctas;
}

bool is_allowed_by(std::string_view text, Function function, std::string_view what) {
  if (text.empty()) return true;
  const std::string words = lower(text);
  // The first part may apply to all functions; a part with this function's name takes precedence.
  std::string_view for_all;
  const auto parts = split(words, ';');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t colon = parts[i].find(':');
    if (colon == std::string_view::npos) {
      if (i == 0) for_all = parts[i];
    } else if (parts[i].substr(0, colon) == function_name(function)) {
      return is_in_list(parts[i].substr(colon + 1), what);
    }
  }
  return for_all.empty() || is_in_list(for_all, what);
}

}  // namespace colltune::nccl
