// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/ring/ring_parameters.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t without_end = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max();

constexpr std::uint64_t most_chunk = 16 * mib;
constexpr std::uint64_t least_chunk_v1 = 256 * kib;
constexpr std::uint64_t untuned_below_v1 = 64 * kib;  ///< of a rank
constexpr std::uint64_t staging_v2 = 128 * mib;
constexpr std::uint64_t staging_v3 = 32 * mib;
constexpr std::uint64_t large_chunk = 2 * mib;  ///< what chunks of many ranks grow to
constexpr std::uint64_t least_staging = 16;     ///< the largest element

/// A value for all sizes below `below`, and from the tier before it on.
struct Tier {
  std::uint64_t below;
  std::uint64_t value;
};

/// Chunks of a shard that are in flight, by bytes of a rank.
constexpr Tier depth_v1[] = {{1 * mib, 2}, {4 * mib, 4}, {without_end, 2}};
constexpr Tier depth_v2[] = {
    {32 * kib, 1}, {1 * mib, 2}, {16 * mib, 4}, {32 * mib, 2}, {without_end, 1}};
constexpr Tier depth_v3[] = {{32 * kib, 1}, {32 * mib, 2}, {without_end, 1}};
constexpr Tier depth_hopper[] = {
    {32 * kib, 1}, {1 * mib, 2}, {4 * mib, 4}, {8 * mib, 2}, {without_end, 1}};

/// Blocks, by bytes of a chunk.
constexpr Tier blocks_default[] = {{8 * kib, 1}, {32 * kib, 2}, {64 * kib, 4}, {without_end, 8}};
constexpr Tier blocks_hopper[] = {{128 * kib, 1}, {512 * kib, 2}, {without_end, 4}};
constexpr Tier threads_hopper[] = {{16 * kib, 384}, {without_end, 512}};

std::uint64_t value_at(std::span<const Tier> tiers, std::uint64_t size) {
  for (const Tier& tier : tiers)
    if (size < tier.below) return tier.value;
  return tiers.back().value;
}

std::span<const Tier> depth_tiers(const RingSetting& setting) {
  if (setting.rules == RingRules::v1) return depth_v1;
  if (setting.architecture == RingArchitecture::hopper) return depth_hopper;
  if (setting.rules == RingRules::v2) return depth_v2;
  return depth_v3;
}

std::uint64_t ceil_of(std::uint64_t number, std::uint64_t by) {
  return number / by + (number % by == 0 ? 0 : 1);
}

/// How the staging buffer is cut.
struct Cut {
  std::uint64_t chunk;
  std::uint64_t chunks;

  /// Whether both together exceed `bytes`; the product itself may have no 64 bits.
  [[nodiscard]] bool exceeds(std::uint64_t bytes) const { return chunk > bytes / chunks; }
};

std::uint64_t max_bdp_of(RingArchitecture architecture, const RingOverrides& overrides) {
  if (overrides.max_bdp_bytes > 0) return static_cast<std::uint64_t>(overrides.max_bdp_bytes);
  return architecture == RingArchitecture::hopper ? 32 * mib : 128 * mib;
}

/// The product of both overrides of the staging buffer; empty unless both are set.
std::optional<std::uint64_t> product_of(const RingOverrides& overrides) {
  if (overrides.chunk_bytes <= 0 || overrides.chunks <= 0) return {};
  if (overrides.chunk_bytes > static_cast<std::int64_t>(most_bytes) / overrides.chunks)
    throw Error(StatusCode::out_of_range, std::string(ring_variable_prefix) +
                                              "TMPBUF_CHUNK_SIZE times TMPBUF_NUM_CHUNKS is " +
                                              std::to_string(overrides.chunk_bytes) + " * " +
                                              std::to_string(overrides.chunks) +
                                              "; the product must be at most 9223372036854775807");
  return static_cast<std::uint64_t>(overrides.chunk_bytes * overrides.chunks);
}

/// A message as the rules see it.
struct Load {
  std::uint64_t message;  ///< rounded to a power of two
  std::uint64_t ranks;
  std::uint64_t depth;
  std::uint64_t max_bdp;
};

/// The text clamps the number of bytes alone, and names a loop that lowers the chunk first and then
/// the number. The loop's floor is the clamp's: without one the number would never be lowered. A
/// product that is still too large with one chunk makes that one smaller, since the bound is
/// promised and the floor is not.
Cut cut_v1(const Load& load) {
  const std::uint64_t part = std::min(load.message, load.max_bdp);
  Cut cut{.chunk = 0, .chunks = load.depth * load.ranks};
  cut.chunk = std::clamp(part / cut.chunks, least_chunk_v1, most_chunk);
  while (cut.exceeds(load.max_bdp)) {
    if (cut.chunk > least_chunk_v1)
      cut.chunk = std::max(cut.chunk / 2, least_chunk_v1);
    else if (cut.chunks > 1)
      cut.chunks /= 2;
    else
      cut.chunk = load.max_bdp;
  }
  return cut;
}

/// The largest part of the message that fits, a power of two.
std::uint64_t part_of(const Load& load) {
  std::uint64_t part = load.message;
  while (part > load.max_bdp) part /= 2;
  return part;
}

Cut cut_part(std::uint64_t part, std::uint64_t chunks) {
  const std::uint64_t chunk = std::clamp(part / chunks, std::uint64_t{1}, most_chunk);
  return {.chunk = chunk, .chunks = std::max(ceil_of(part, chunk), std::uint64_t{1})};
}

Cut cut_v2(const Load& load) { return cut_part(part_of(load), load.depth * load.ranks); }

/// With many ranks a chunk is small beside the message; fewer and larger ones are sent then.
Cut grow_for_many_ranks(Cut cut, const Load& load, std::uint64_t growth) {
  if (growth <= load.depth || cut.chunk >= large_chunk) return cut;
  const std::uint64_t factor = growth / load.depth;
  const std::uint64_t grown =
      factor >= large_chunk / cut.chunk ? large_chunk : std::min(cut.chunk * factor, large_chunk);
  const std::uint64_t bytes = cut.chunk * cut.chunks;
  return {.chunk = grown, .chunks = std::max(bytes / grown, std::uint64_t{1})};
}

Cut cut_v3(const Load& load, const RingSetting& setting, std::uint64_t staging) {
  const std::uint64_t part = part_of(load);
  // "Nearest", though its source speaks of rounding up: 80 ranks have 64 shards.
  Cut cut = cut_part(part, load.depth * nearest_power_of_two(load.ranks));
  if (part <= staging) return cut;
  cut.chunks = std::max(cut.chunks / ceil_of(part, staging), std::uint64_t{1});
  const auto threshold = static_cast<std::uint64_t>(setting.overrides.large_chunk_ranks);
  if (setting.architecture == RingArchitecture::default_values && threshold > 0 &&
      load.ranks > threshold)
    cut = grow_for_many_ranks(cut, load, load.message / part);
  return cut;
}

/// Lowers the product to `bytes`, first by fewer chunks, then by a smaller one. True if it was
/// more.
bool limit(Cut& cut, std::uint64_t bytes, std::uint64_t element) {
  if (!cut.exceeds(bytes)) return false;
  cut.chunks = std::max(bytes / cut.chunk, std::uint64_t{1});
  if (cut.chunk > bytes) cut.chunk = std::max(bytes / element, std::uint64_t{1}) * element;
  return true;
}

/// Overrides, alignment and what is allocated. True if that lowered the product.
bool finish(Cut& cut, const RingSetting& setting, const Load& load, std::uint64_t staging) {
  const RingOverrides& overrides = setting.overrides;
  if (overrides.chunks > 0) cut.chunks = static_cast<std::uint64_t>(overrides.chunks);
  if (overrides.chunk_bytes > 0) cut.chunk = static_cast<std::uint64_t>(overrides.chunk_bytes);
  // The text of v1 has no rule for an unaligned chunk.
  const std::uint64_t element = setting.rules == RingRules::v1 ? 1 : setting.element_bytes;
  const std::uint64_t aligned = std::max(cut.chunk / element, std::uint64_t{1}) * element;
  if (aligned != cut.chunk) {
    cut.chunk = aligned;
    if (overrides.chunks == 0)
      cut.chunks = std::max(ceil_of(load.message, aligned), std::uint64_t{1});
  }
  const bool is_overridden = overrides.chunks > 0 || overrides.chunk_bytes > 0;
  // An override of the buffer wins over the bandwidth-delay product, but not over the buffer.
  const std::uint64_t bound = is_overridden ? staging : std::min(staging, load.max_bdp);
  return limit(cut, bound, element);
}

struct Blocks {
  std::uint64_t blocks;
  std::uint64_t threads;
};

Blocks blocks_of(const RingSetting& setting, std::uint64_t chunk) {
  const bool is_hopper = setting.architecture == RingArchitecture::hopper;
  Blocks result{
      .blocks = is_hopper ? value_at(blocks_hopper, chunk) : value_at(blocks_default, chunk),
      .threads = is_hopper ? value_at(threads_hopper, chunk) : setting.max_threads};
  result.blocks = std::min(result.blocks, setting.max_blocks);
  result.threads = std::min(result.threads, setting.max_threads);
  const RingOverrides& overrides = setting.overrides;
  // v1's text has no exact number; of the cap it says no more than that it overrides.
  if (overrides.blocks > 0 && setting.rules > RingRules::v1)
    result.blocks = static_cast<std::uint64_t>(overrides.blocks);
  else if (overrides.max_blocks > 0)
    result.blocks = std::min(result.blocks, static_cast<std::uint64_t>(overrides.max_blocks));
  if (overrides.threads > 0) result.threads = static_cast<std::uint64_t>(overrides.threads);
  return result;
}

std::optional<Bytes> qp_threshold_of(const RingSetting& setting, std::uint64_t chunk) {
  if (setting.qp_scaling_threshold) return setting.qp_scaling_threshold;
  const RingOverrides& overrides = setting.overrides;
  if (setting.rules < RingRules::v3 || setting.architecture == RingArchitecture::hopper ||
      overrides.qp_threshold_min < 0 || overrides.qp_threshold_max <= 0 ||
      overrides.qp_threshold_max < overrides.qp_threshold_min)
    return {};
  const std::uint64_t share = chunk / std::max(setting.queue_pairs, std::uint64_t{1}) /
                              std::max(setting.devices_of_rank, std::uint64_t{1});
  return Bytes{std::clamp(share, static_cast<std::uint64_t>(overrides.qp_threshold_min),
                          static_cast<std::uint64_t>(overrides.qp_threshold_max))};
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "ctring: " + what);
}

void check(const RingSetting& setting, Bytes message) {
  if (setting.ranks == 0 || setting.ranks > std::numeric_limits<std::int32_t>::max())
    fail(std::to_string(setting.ranks) + " ranks; allowed are 1 to 2147483647");
  if (setting.max_blocks == 0) fail("at most 0 blocks; the kernel must have one");
  if (setting.max_threads == 0) fail("at most 0 threads; a block must have one");
  const std::uint64_t element = setting.element_bytes;
  if (element > least_staging || !std::has_single_bit(element))
    fail("elements of " + std::to_string(element) + " bytes; allowed are 1, 2, 4, 8 and 16");
  if (setting.leaves_small_untuned && setting.rules != RingRules::v1)
    fail("small messages are left untuned by rule set v1 alone, not by " +
         std::string(name_of(setting.rules)));
  check_ring_overrides(setting.overrides);
  const std::int64_t threads = setting.overrides.threads;
  if (threads > 0 && static_cast<std::uint64_t>(threads) > setting.max_threads)
    fail(std::string(ring_variable_prefix) + "THREAD_BLOCK_SIZE is " + std::to_string(threads) +
         "; the kernel can have at most " + std::to_string(setting.max_threads) +
         " threads in a block");
  if (message.value > most_bytes)
    throw Error(StatusCode::out_of_range, "ctring: a message of " + std::to_string(message.value) +
                                              " bytes; at most 9223372036854775807");
}

}  // namespace

Bytes ring_staging_size(RingRules rules, RingArchitecture architecture,
                        const RingOverrides& overrides) {
  const std::optional<std::uint64_t> product = product_of(overrides);
  std::uint64_t size = 0;
  switch (rules) {
    case RingRules::v1:
      size = std::max(product.value_or(0), max_bdp_of(architecture, overrides));
      break;
    case RingRules::v2:
      size = product.value_or(overrides.max_bdp_bytes > 0
                                  ? static_cast<std::uint64_t>(overrides.max_bdp_bytes)
                                  : staging_v2);
      break;
    case RingRules::v3:
      size = product.value_or(overrides.staging_bytes > 0
                                  ? static_cast<std::uint64_t>(overrides.staging_bytes)
                                  : staging_v3);
      break;
  }
  return {std::max(size, least_staging)};
}

int ring_staging_buffers(RingRules rules, const RingOverrides& overrides) {
  return rules < RingRules::v3 || overrides.both_ways_max_bytes == 0 ? 2 : 4;
}

std::optional<RingParameters> ring_parameters(const RingSetting& setting, Bytes message) {
  check(setting, message);
  const std::uint64_t rounded = nearest_power_of_two(message.value);
  const std::uint64_t of_rank = rounded / setting.ranks;
  if (setting.leaves_small_untuned && of_rank < untuned_below_v1) return {};
  const Load load{.message = rounded,
                  .ranks = setting.ranks,
                  .depth = value_at(depth_tiers(setting), of_rank),
                  .max_bdp = max_bdp_of(setting.architecture, setting.overrides)};
  const std::uint64_t staging =
      ring_staging_size(setting.rules, setting.architecture, setting.overrides).value;
  Cut cut = setting.rules == RingRules::v1   ? cut_v1(load)
            : setting.rules == RingRules::v2 ? cut_v2(load)
                                             : cut_v3(load, setting, staging);
  const bool is_limited = finish(cut, setting, load, staging);
  const Blocks blocks = blocks_of(setting, cut.chunk);
  return RingParameters{.chunk = {cut.chunk},
                        .chunks = cut.chunks,
                        .blocks = blocks.blocks,
                        .threads = blocks.threads,
                        .qp_scaling_threshold = qp_threshold_of(setting, cut.chunk),
                        .is_limited = is_limited};
}

std::vector<Bytes> ring_log_sizes() {
  constexpr std::uint64_t first = kib;
  constexpr std::uint64_t last = 32 * 1024 * mib;
  std::vector<Bytes> sizes;
  for (std::uint64_t size = first; size < last; size *= 2) {
    sizes.push_back({size});
    sizes.push_back({size + size / 2});
  }
  sizes.push_back({last});
  return sizes;
}

std::vector<RingDecision> ring_decisions(const RingSetting& setting,
                                         std::span<const Bytes> messages) {
  std::vector<RingDecision> rows;
  for (const Bytes message : messages)
    rows.push_back({.message = message, .parameters = ring_parameters(setting, message)});
  return rows;
}

}  // namespace colltune
