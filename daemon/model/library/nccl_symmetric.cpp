// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/nccl_symmetric.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "classic_figures.h"
#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

/// NCCL's figures of an architecture. Its GB are 2^30 bytes.
struct Figures {
  double low_latency_base_us;         ///< of all but all_gather
  double low_latency_gather_base_us;  ///< of all_gather
  double reduce_base_us;              ///< of the other kernels of all_reduce
  double base_us;                     ///< of all others
  double reduce_block;                ///< GB/s of one block of an all_reduce
  double block;                       ///< of all_gather and reduce_scatter
  double peak;                        ///< GB/s of all blocks
  double multicast_peak;              ///< of an all_reduce by loads and stores of multicast
  int multicast_blocks;               ///< over the ranks: the most that multicast takes
  // Across nodes, bytes/s.
  double nvlink;
  double rail_block;            ///< of one block that loads from each rank
  double rail_multicast_block;  ///< of one that loads by multicast
};
constexpr Figures hopper{4.5, 4.5, 7.8, 7.8, 65, 44, 320, 480, 16, 360e9, 13.7e9, 4.22e9};
constexpr Figures blackwell{11, 8.5, 19.5, 13, 55, 55, 600, 1000, 32, 720e9, 26.6e9, 8.44e9};
constexpr int most_blocks = 64;
constexpr double bytes_per_us_of_gb = 1073741824.0 / 1e6;
constexpr double low_latency_bus_bytes = 9;  // for each byte of each rank
// Kernels of low latency count elements in 32 bits, all kernels chunks of 32 bytes.
constexpr std::uint64_t most_of_low_latency = std::uint64_t{2} << 30U;
constexpr std::uint64_t most_of_all = 32 * most_of_low_latency;
constexpr double multicast_of_low_latency = 1.1;
constexpr double multicast_of_each_rank = 0.55;
constexpr double as_good_as_best = 1.025;
constexpr double price_of_block = 0.025;
constexpr int fewest_of_multicast = 3;  // ranks of a node
constexpr std::uint64_t ring_chunk = std::uint64_t{1} << 20U;
constexpr std::uint64_t rail_chunk = std::uint64_t{128} << 10U;
constexpr double network_seconds = 14e-6;  // a ring's Simple protocol, as in the classic tables

/// What is known of a kernel besides the figures of its architecture.
struct Traits {
  EntryKind kind;
  bool has_low_latency = false;
  bool stores_by_multicast = false;
  bool loads_by_multicast = false;
  bool copies_by_tma = false;
  bool crosses_nodes = false;
};

Traits traits_of(SymmetricKernel kernel) {
  using enum SymmetricKernel;
  using enum EntryKind;
  switch (kernel) {
    case ar_ag_ll:
      return {.kind = all_reduce, .has_low_latency = true};
    case ar_ag_ll_mc:
      return {.kind = all_reduce, .has_low_latency = true, .stores_by_multicast = true};
    case ar_tma_ld_st:
      return {.kind = all_reduce, .copies_by_tma = true};
    case ar_ld_st:
      return {.kind = all_reduce};
    case ar_ld_mc_st_mc:
      return {.kind = all_reduce, .stores_by_multicast = true, .loads_by_multicast = true};
    case ag_ll:
      return {.kind = all_gather, .has_low_latency = true};
    case ag_ll_mc:
      return {.kind = all_gather, .has_low_latency = true, .stores_by_multicast = true};
    case ag_tma_st:
      return {.kind = all_gather, .copies_by_tma = true};
    case ag_st:
      return {.kind = all_gather};
    case ag_tma_st_mc:
      return {.kind = all_gather, .stores_by_multicast = true, .copies_by_tma = true};
    case ag_st_mc:
      return {.kind = all_gather, .stores_by_multicast = true};
    case ag_rail_ring_st_mc:
      return {.kind = all_gather, .stores_by_multicast = true, .crosses_nodes = true};
    case rs_ll:
      return {.kind = reduce_scatter, .has_low_latency = true};
    case rs_tma_ld:
      return {.kind = reduce_scatter, .copies_by_tma = true};
    case rs_ld:
      return {.kind = reduce_scatter};
    case rs_rail_ld:
      return {.kind = reduce_scatter, .crosses_nodes = true};
    case rs_rail_ld_mc:
      return {.kind = reduce_scatter, .loads_by_multicast = true, .crosses_nodes = true};
    case rs_ld_mc:
      break;
  }
  return {.kind = reduce_scatter, .loads_by_multicast = true};
}

bool uses_multicast(const Traits& traits) {
  return traits.stores_by_multicast || traits.loads_by_multicast;
}

double softplus(double x) { return x > 700 ? x : std::log1p(std::exp(x)); }

/// About the lesser of x and `most`; `width` is how soft.
double softmin(double x, double most, double width) {
  return most - width * std::log1p((std::exp(most / width) - 1) * std::exp(-x / width));
}

/// Of the busiest device. An all_gather's and a reduce_scatter's size is that of one rank's part.
double bus_bytes(const Traits& traits, const SymmetricCall& call) {
  const auto message = static_cast<double>(call.message.value);
  const double part = message / call.ranks;
  if (traits.kind != EntryKind::all_reduce)
    return traits.has_low_latency ? message * low_latency_bus_bytes : message - part;
  if (traits.has_low_latency) return call.ranks * message * low_latency_bus_bytes;
  return uses_multicast(traits) ? part + message : 2 * (message - part);
}

double worth_of_multicast(const Traits& traits, int ranks) {
  if (!uses_multicast(traits)) return 1;
  if (traits.has_low_latency) return multicast_of_low_latency;
  return traits.kind == EntryKind::all_reduce ? ranks : multicast_of_each_rank * ranks;
}

double base_of(const Traits& traits, const Figures& figures) {
  if (traits.has_low_latency)
    return traits.kind == EntryKind::all_gather ? figures.low_latency_gather_base_us
                                                : figures.low_latency_base_us;
  return traits.kind == EntryKind::all_reduce ? figures.reduce_base_us : figures.base_us;
}

Microseconds time_of(const Traits& traits, const SymmetricCall& call, int blocks,
                     const Figures& figures) {
  const bool is_reduce = traits.kind == EntryKind::all_reduce;
  const double block = is_reduce ? figures.reduce_block : figures.block;
  const double peak =
      is_reduce && traits.loads_by_multicast ? figures.multicast_peak : figures.peak;
  const double bandwidth =
      softmin(blocks * block * worth_of_multicast(traits, call.ranks), peak, block) *
      bytes_per_us_of_gb;
  return Microseconds(base_of(traits, figures) + softplus(bus_bytes(traits, call) / bandwidth - 1));
}

int divided_up(int value, int by) { return (value + by - 1) / by; }

/// Blocks for so many chunks: at least one, at most `most`.
int blocks_of(std::uint64_t bytes, std::uint64_t chunk, int most) {
  const std::uint64_t chunks = (bytes + chunk - 1) / chunk;
  return std::max(1, static_cast<int>(std::min(chunks, static_cast<std::uint64_t>(most))));
}

Microseconds of_seconds(double seconds) { return Microseconds(1e6 * seconds); }

/// One rank's part, and the paths that it takes.
struct Rails {
  std::uint64_t part = 0;
  int per_node = 1;
  double network = 0;  ///< bytes/s
};

Rails rails_of(const SymmetricCall& call) {
  return {.part = call.message.value / static_cast<std::uint64_t>(call.ranks),
          .per_node = call.ranks / call.nodes,
          .network = 1e9 * call.network_gb_per_s};
}

SymmetricPrediction predict_ring(SymmetricKernel kernel, const SymmetricCall& call,
                                 const Figures& figures) {
  const Rails rails = rails_of(call);
  const auto part = static_cast<double>(rails.part);
  const auto steps =
      static_cast<double>((rails.part + ring_chunk - 1) / ring_chunk) * (call.nodes - 1);
  const double inside = part * call.ranks / figures.nvlink;
  const double between = part * (call.nodes - 1) / rails.network;
  const int most = divided_up(figures.multicast_blocks, rails.per_node);
  return {.kernel = kernel,
          .blocks = blocks_of(rails.part, ring_chunk, most),
          .time = of_seconds(steps * network_seconds + std::max(inside, between))};
}

/// What limits a reduce_scatter across nodes: how often each part of the machine carries a byte of
/// a rank's part, and the bytes/s that are left of it.
struct RailCosts {
  double times_by_nvlink = 0;
  double times_by_network = 0;
  double of_block = 0;  ///< bytes/s
  double of_paths = 0;  ///< the lesser of NVLink's and the network's
};

RailCosts rail_costs_of(bool by_multicast, const SymmetricCall& call, const Figures& figures) {
  const Rails rails = rails_of(call);
  const int loads = by_multicast ? 1 : rails.per_node;
  const int others = call.nodes - 1;
  const int times_by_block = (rails.per_node == 1 ? 0 : loads * others) + loads + others;
  RailCosts costs{
      .times_by_nvlink =
          static_cast<double>(by_multicast ? rails.per_node : rails.per_node - 1) * call.nodes,
      .times_by_network = static_cast<double>(others),
      .of_block =
          (by_multicast ? figures.rail_multicast_block : figures.rail_block) / times_by_block};
  costs.of_paths = rails.network / costs.times_by_network;
  if (costs.times_by_nvlink > 0)
    costs.of_paths = std::min(costs.of_paths, figures.nvlink / costs.times_by_nvlink);
  return costs;
}

/// The fewest blocks that fill the paths.
int blocks_to_fill(const RailCosts& costs) {
  return static_cast<int>(std::ceil(std::min(double{1 << 30}, costs.of_paths / costs.of_block)));
}

SymmetricPrediction predict_all_to_all(SymmetricKernel kernel, const SymmetricCall& call,
                                       const Figures& figures) {
  const bool by_multicast = traits_of(kernel).loads_by_multicast;
  const Rails rails = rails_of(call);
  const RailCosts costs = rail_costs_of(by_multicast, call, figures);
  // NCCL has inboxes for as many blocks as either form fills the paths with.
  const int inboxes = std::max(blocks_to_fill(rail_costs_of(false, call, figures)),
                               blocks_to_fill(rail_costs_of(true, call, figures)));
  const int most = std::min({most_blocks, inboxes, blocks_to_fill(costs)});
  const int blocks = blocks_of(rails.part, rail_chunk, most);
  const double bandwidth = std::min(blocks * costs.of_block, costs.of_paths);
  const auto first =
      static_cast<double>(std::min(rails.part, rail_chunk * static_cast<std::uint64_t>(blocks)));
  const double of_first =
      costs.times_by_nvlink / figures.nvlink + costs.times_by_network / rails.network;
  return {.kernel = kernel,
          .blocks = blocks,
          .time = of_seconds(static_cast<double>(rails.part) / bandwidth + first * of_first +
                             network_seconds)};
}

SymmetricPrediction predict_kernel(SymmetricKernel kernel, const SymmetricCall& call,
                                   const Figures& figures) {
  const Traits traits = traits_of(kernel);
  if (traits.crosses_nodes)
    return traits.kind == EntryKind::all_gather ? predict_ring(kernel, call, figures)
                                                : predict_all_to_all(kernel, call, figures);
  const bool has_few_blocks = uses_multicast(traits) && !traits.has_low_latency;
  const int most = has_few_blocks ? divided_up(figures.multicast_blocks, call.ranks) : most_blocks;
  const Microseconds enough = time_of(traits, call, most, figures) * as_good_as_best;
  // More blocks are never slower, so the fewest are found by halving.
  int fewest = 1;
  for (int enough_blocks = most; fewest < enough_blocks;) {
    const int middle = (fewest + enough_blocks) / 2;
    if (time_of(traits, call, middle, figures) <= enough)
      enough_blocks = middle;
    else
      fewest = middle + 1;
  }
  return {.kernel = kernel, .blocks = fewest, .time = time_of(traits, call, fewest, figures)};
}

bool is_eight_bit_float(DataType type) {
  return type == DataType::f8e4m3 || type == DataType::f8e5m2;
}

/// Whether NCCL has symmetric kernels that reduce this.
bool can_reduce(const SymmetricCall& call) {
  const bool is_float = call.data_type == DataType::f16 || call.data_type == DataType::bf16 ||
                        call.data_type == DataType::f32 || is_eight_bit_float(call.data_type);
  return is_float && (call.reduce_op == ReduceOp::sum || call.reduce_op == ReduceOp::avg);
}

[[noreturn]] void fail_without_kernel(const std::string& what) {
  throw Error(StatusCode::failed_precondition, "NCCL 2.30.7 has no symmetric kernel " + what);
}

void check(const SymmetricCall& call) {
  if (call.ranks < 2)
    throw Error(StatusCode::invalid_argument, fmt::format("{} ranks; at least 2", call.ranks));
  if (call.nodes < 1 || call.ranks % call.nodes != 0)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{} ranks on {} nodes; NCCL's symmetric kernels need as many on each",
                            call.ranks, call.nodes));
  if (call.nodes > 1 && !(call.network_gb_per_s > 0))
    throw Error(StatusCode::invalid_argument,
                fmt::format("a network of {} GB/s; across nodes its bandwidth is needed",
                            call.network_gb_per_s));
  if (call.compute_capability < classic::first_hopper)
    throw Error(StatusCode::invalid_argument,
                fmt::format("compute capability {}; NCCL 2.30's figures of symmetric kernels are "
                            "known for {} and later",
                            call.compute_capability, classic::first_hopper));
  if (call.kind == EntryKind::all_to_all || call.kind == EntryKind::send_recv)
    fail_without_kernel(fmt::format("of {}", name_of(call.kind)));
  if (call.nodes > 1 && call.kind == EntryKind::all_reduce)
    fail_without_kernel("of all_reduce across nodes");
  if (call.kind != EntryKind::all_gather && !can_reduce(call))
    fail_without_kernel(
        fmt::format("for {} of {}", name_of(call.reduce_op), name_of(call.data_type)));
  if (call.message.value >= most_of_all) fail_without_kernel("for 64 GiB and more");
}

bool can_run(const Traits& traits, const SymmetricCall& call) {
  if (traits.kind != call.kind || traits.crosses_nodes != (call.nodes > 1)) return false;
  if (traits.copies_by_tma &&
      !(call.may_use_tma && call.compute_capability >= classic::first_blackwell))
    return false;
  if (traits.has_low_latency && call.message.value >= most_of_low_latency) return false;
  if (!uses_multicast(traits)) return true;
  if (!call.has_multicast || call.ranks / call.nodes < fewest_of_multicast) return false;
  return !traits.loads_by_multicast || !is_eight_bit_float(call.data_type) ||
         call.compute_capability >= classic::first_blackwell;
}

}  // namespace

SymmetricPrediction predict_nccl_2_30_symmetric(const SymmetricCall& call) {
  check(call);
  const Figures& figures = call.compute_capability < classic::first_blackwell ? hopper : blackwell;
  std::optional<SymmetricPrediction> best;
  double least = 0;
  for (const auto& named : enum_names(SymmetricKernel{})) {
    if (!can_run(traits_of(named.value), call)) continue;
    const SymmetricPrediction one = predict_kernel(named.value, call, figures);
    const double price = one.time.count() * (1 + price_of_block * one.blocks);
    if (best && price >= least) continue;
    best = one;
    least = price;
  }
  if (!best)
    fail_without_kernel(
        "of all_gather across nodes without multicast among 3 ranks of a node or more");
  return *best;
}

}  // namespace colltune::library_models
