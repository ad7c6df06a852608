// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The figures and formulas are those of NCCL 2.30.7, src/graph/tuning.cc. Its GB are 10^9 bytes.

#include "colltune/model/library/nccl_classic.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

/// One figure for each protocol.
using Row = std::array<double, 3>;
/// One row for each algorithm. A 0 is never looked at: NVLS has no protocol but Simple.
using Rows = std::array<Row, 3>;

constexpr Rows base_us{{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}}};
constexpr Rows nvlink_us{{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}}};
constexpr Rows pci_us{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {}}};
constexpr Rows network_us{{{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}}};

/// For one node, two, and more.
using ByNodes = std::array<double, 3>;

/// GB/s that an architecture reaches. `ll` is of all channels, the others of each one.
struct ClassicFigures {
  int least_capability;
  double ll;  ///< on one node
  double ring_ll128;
  ByNodes tree_ll128;
  ByNodes tree;
  double nvls_share;  ///< of the channels' bandwidth; 0: it has no NVLS
};
constexpr std::array<ClassicFigures, 4> architectures{{
    {100, 282.0, 40.0, {55.6, 31.67, 20.0}, {70.0, 42.8, 24.0}, 0.74},
    {90, 141.0, 36.7, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}, 0.85},
    {80, 87.7, 20.0, {20.0, 20.0, 20.0}, {24.0, 23.6, 17.8}, 0},
    {0, 39.0, 20.0, {20.0, 20.0, 20.0}, {26.5, 18.5, 10.0}, 0},
}};
// LL across nodes, by the processors: the first is never looked at.
constexpr ByNodes ll_of_amd{0, 22.5, 19.0};
constexpr ByNodes ll_of_others{0, 39.0, 20.4};

// What trees reach of their bandwidth, by the power of two of the size from 64 bytes on.
constexpr std::size_t corrected_sizes = 23;
constexpr std::array<std::array<double, corrected_sizes>, 3> tree_shares{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

constexpr double ring_ll_share = 0.5;
constexpr double payload_of_ll128 = 0.92;  // NCCL's figure for 120 of 128 bytes
constexpr double tree_share = 0.92;
constexpr double tree_ll_share = 1 / 3.8;
constexpr double tree_ll128_share_of_one_node = 7.0 / 9.0;
constexpr double tree_ll128_share = 120.0 / 128.0;
constexpr double plain_tree_share = 0.85;
constexpr int most_channels = 64;
constexpr int first_ll128 = 70;
constexpr int first_ampere = 80;
constexpr int most_ranks_of_nvls = 32;  // of all_gather and reduce_scatter
constexpr int fewest_channels_of_nvls = 2;
constexpr int most_ranks_of_f8_ring = 8;
constexpr std::uint64_t plateau_bytes = 64;
constexpr double plateau = 1.4;
constexpr double plateau_before_ampere = 1.9;

[[noreturn]] void fail(const std::string& what) { throw Error(StatusCode::invalid_argument, what); }

std::size_t index_of(ClassicAlgorithm algorithm) { return static_cast<std::size_t>(algorithm); }
std::size_t index_of(ClassicProtocol protocol) { return static_cast<std::size_t>(protocol); }

const ClassicFigures& figures_of(int compute_capability) {
  return *std::ranges::find_if(architectures, [&](const ClassicFigures& one) {
    return compute_capability >= one.least_capability;
  });
}

double at(const ByNodes& row, int nodes) {
  return row.at(static_cast<std::size_t>(std::min(nodes, 3) - 1));
}

int log2_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)) - 1; }

int steps_of(const ClassicCall& call, int ranks) {
  return call.kind == EntryKind::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

/// Posting to the network takes that long.
double post_us(HostCpu cpu, ClassicProtocol protocol) {
  return (cpu == HostCpu::amd ? 2.0 : 1.0) * (protocol == ClassicProtocol::simple ? 3 : 1);
}

/// One communicator's model: what its times have in common.
class ClassicModel {
 public:
  ClassicModel(const ClassicCall& call, const NcclTopology& topology)
      : call_(call), topology_(topology), figures_(figures_of(call.compute_capability)) {}

  [[nodiscard]] const NcclGraph* graph_of(ClassicAlgorithm algorithm) const {
    switch (algorithm) {
      case ClassicAlgorithm::tree:
        return call_.kind == EntryKind::all_reduce && topology_.tree ? &*topology_.tree : nullptr;
      case ClassicAlgorithm::ring:
        return &topology_.ring;
      case ClassicAlgorithm::nvls:
        break;
    }
    return has_nvls() ? &*topology_.nvls : nullptr;
  }

  [[nodiscard]] bool has(ClassicAlgorithm algorithm, ClassicProtocol protocol) const {
    if (algorithm == ClassicAlgorithm::nvls) return protocol == ClassicProtocol::simple;
    const bool by_default =
        !topology_.pci.value_or(false) && call_.compute_capability >= first_ll128;
    return protocol != ClassicProtocol::ll128 || topology_.ll128.value_or(by_default);
  }

  [[nodiscard]] Microseconds time(ClassicAlgorithm algorithm, ClassicProtocol protocol,
                                  const NcclGraph& graph) const {
    double bandwidth = bus(algorithm, protocol, graph) * share_of_bus(algorithm);
    double latency = latency_us(algorithm, protocol);
    const std::uint64_t bytes = call_.message.value;
    const std::uint64_t units = bytes >> 6U;
    if (algorithm == ClassicAlgorithm::tree && units > 0 &&
        static_cast<std::size_t>(log2_of(units)) < corrected_sizes)
      bandwidth *= tree_shares[index_of(protocol)][static_cast<std::size_t>(log2_of(units))];
    if (algorithm == ClassicAlgorithm::ring && protocol == ClassicProtocol::simple &&
        call_.nodes > 1 && call_.kind == EntryKind::all_reduce &&
        bytes / (static_cast<std::uint64_t>(channels()) *
                 static_cast<std::uint64_t>(call_.ranks)) >=
            plateau_bytes)
      latency *= call_.compute_capability < first_ampere ? plateau_before_ampere : plateau;
    return Microseconds(latency + static_cast<double>(bytes) / (1e3 * bandwidth));
  }

 private:
  [[nodiscard]] int per_node() const { return call_.ranks / call_.nodes; }

  /// Of the communicator: as many as both ring and tree have.
  [[nodiscard]] int channels() const {
    return std::min(topology_.ring.channels,
                    topology_.tree ? topology_.tree->channels : topology_.ring.channels);
  }

  /// Across nodes it needs CollNet, which is left out.
  [[nodiscard]] bool has_nvls() const {
    if (!topology_.nvls || figures_.nvls_share == 0 || call_.nodes > 1 ||
        topology_.nvls->channels < fewest_channels_of_nvls)
      return false;
    if (call_.kind != EntryKind::all_reduce && call_.ranks > most_ranks_of_nvls) return false;
    if (call_.kind == EntryKind::all_gather) return true;
    const ReduceOp op = call_.reduce_op;
    switch (call_.data_type) {
      case DataType::i32:
      case DataType::u32:
      case DataType::i64:
      case DataType::u64:
      case DataType::f16:
      case DataType::bf16:
        return op == ReduceOp::sum || op == ReduceOp::min || op == ReduceOp::max;
      case DataType::f32:
      case DataType::f64:
        return op == ReduceOp::sum;
      case DataType::i8:
      case DataType::u8:
      case DataType::f8e4m3:
      case DataType::f8e5m2:
        break;
    }
    return false;
  }

  [[nodiscard]] double between(const NcclGraph& graph) const {
    return graph.inter_gb_per_s.value_or(graph.intra_gb_per_s);
  }

  /// GB/s of all channels together.
  [[nodiscard]] double bus(ClassicAlgorithm algorithm, ClassicProtocol protocol,
                           const NcclGraph& graph) const {
    // NCCL looks at the network from the third node on.
    const double one = call_.nodes <= 2 ? graph.intra_gb_per_s : between(graph);
    const double all = graph.channels * one;
    switch (algorithm) {
      case ClassicAlgorithm::tree:
        return tree_bus(protocol, graph, all);
      case ClassicAlgorithm::ring:
        return ring_bus(protocol, graph, all);
      case ClassicAlgorithm::nvls:
        break;
    }
    double inside = graph.intra_gb_per_s * figures_.nvls_share * (graph.channels - 1) /
                    static_cast<double>(graph.channels);
    // An all_reduce sends and receives at once; of the others a rank keeps its own part.
    inside *= call_.kind == EntryKind::all_reduce
                  ? 2
                  : static_cast<double>(per_node() - 1) / static_cast<double>(per_node());
    return graph.channels * std::min(inside, between(graph));
  }

  [[nodiscard]] double ring_bus(ClassicProtocol protocol, const NcclGraph& graph,
                                double all) const {
    switch (protocol) {
      case ClassicProtocol::ll:
        return std::min(most_of_ll(), all * ring_ll_share);
      case ClassicProtocol::ll128:
        return std::min(all * payload_of_ll128, graph.channels * figures_.ring_ll128);
      case ClassicProtocol::simple:
        break;
    }
    return all;
  }

  [[nodiscard]] double tree_bus(ClassicProtocol protocol, const NcclGraph& graph,
                                double all) const {
    double bus = std::min(all * tree_share, graph.channels * at(figures_.tree, call_.nodes));
    if (protocol == ClassicProtocol::ll) bus = std::min(bus * tree_ll_share, most_of_ll());
    if (protocol == ClassicProtocol::ll128)
      bus = std::min(bus * (call_.nodes == 1 ? tree_ll128_share_of_one_node : tree_ll128_share),
                     graph.channels * at(figures_.tree_ll128, call_.nodes));
    return topology_.plain_tree.value_or(false) ? bus * plain_tree_share : bus;
  }

  [[nodiscard]] double most_of_ll() const {
    if (call_.nodes == 1) return figures_.ll;
    const bool is_amd = topology_.cpu == HostCpu::amd || topology_.cpu == HostCpu::mixed;
    return at(is_amd ? ll_of_amd : ll_of_others, call_.nodes);
  }

  /// Bytes of the message for each byte on the bus.
  [[nodiscard]] double share_of_bus(ClassicAlgorithm algorithm) const {
    if (algorithm == ClassicAlgorithm::tree) return 0.5;
    if (algorithm == ClassicAlgorithm::nvls && call_.kind != EntryKind::all_reduce) return 1;
    return static_cast<double>(call_.ranks) / steps_of(call_, call_.ranks);
  }

  [[nodiscard]] double latency_us(ClassicAlgorithm algorithm, ClassicProtocol protocol) const {
    const std::size_t row = index_of(algorithm);
    const std::size_t column = index_of(protocol);
    double inside = (topology_.pci.value_or(false) ? pci_us : nvlink_us)[row][column];
    // With one rank on each node nothing hides the network's latency: NCCL takes the tree's.
    const std::size_t network_row = per_node() == 1 ? index_of(ClassicAlgorithm::tree) : row;
    const double plugin = topology_.network_latency_us.value_or(0);
    const double across =
        network_us[network_row][column] + plugin * (protocol == ClassicProtocol::simple ? 2 : 1);
    switch (algorithm) {
      case ClassicAlgorithm::tree:
        return base_us[row][column] +
               2 * ((per_node() - 1) * inside +
                    log2_of(static_cast<std::uint64_t>(call_.nodes)) * across);
      case ClassicAlgorithm::ring: {
        if (call_.nodes > 1) inside = std::max(inside, post_us(*topology_.cpu, protocol));
        const int steps_across = call_.nodes == 1 ? 0 : steps_of(call_, call_.nodes);
        return base_us[row][column] + (steps_of(call_, call_.ranks) - steps_across) * inside +
               steps_across * across;
      }
      case ClassicAlgorithm::nvls:
        break;
    }
    return inside;
  }

  const ClassicCall& call_;
  const NcclTopology& topology_;
  const ClassicFigures& figures_;
};

void check_graph(const std::string& name, const NcclGraph& graph) {
  if (graph.channels < 1 || graph.channels > most_channels)
    fail(fmt::format("{}.channels is {}; 1 to {}", name, graph.channels, most_channels));
  const auto check_positive = [&](std::string_view field, double value) {
    if (!std::isfinite(value) || value <= 0)
      fail(fmt::format("{}.{} is {}; it must be a positive number", name, field, value));
  };
  check_positive("intra_gb_per_s", graph.intra_gb_per_s);
  if (graph.inter_gb_per_s) check_positive("inter_gb_per_s", *graph.inter_gb_per_s);
}

void check(const ClassicCall& call, const NcclTopology& topology) {
  if (call.kind == EntryKind::all_to_all || call.kind == EntryKind::send_recv)
    throw Error(StatusCode::failed_precondition,
                fmt::format("NCCL's tables have no {}; they have all_reduce, all_gather, "
                            "reduce_scatter",
                            name_of(call.kind)));
  if (call.ranks < 2) fail(fmt::format("{} ranks; at least 2", call.ranks));
  if (call.nodes < 1 || call.ranks % call.nodes != 0)
    fail(fmt::format("{} ranks on {} nodes: each node must have as many", call.ranks, call.nodes));
  if (call.nodes > 1 && !topology.cpu)
    fail("nccl.cpu is missing, and is needed across nodes; allowed are " +
         allowed_names<HostCpu>());
  if (call.nodes <= 2) return;
  if (!topology.ring.inter_gb_per_s)
    fail("nccl.ring.inter_gb_per_s is missing, for 3 nodes or more");
  if (topology.tree && !topology.tree->inter_gb_per_s)
    fail("nccl.tree.inter_gb_per_s is missing, for 3 nodes or more");
}

}  // namespace

void check(const NcclTopology& topology) {
  check_graph("ring", topology.ring);
  if (topology.tree) check_graph("tree", *topology.tree);
  if (topology.nvls) check_graph("nvls", *topology.nvls);
  if (const auto& latency = topology.network_latency_us;
      latency && (!std::isfinite(*latency) || *latency < 0))
    fail(fmt::format("network_latency_us is {}; at least 0", *latency));
}

std::vector<ClassicPrediction> nccl_2_30_classic_times(const ClassicCall& call,
                                                       const NcclTopology& topology) {
  check(call, topology);
  const ClassicModel model(call, topology);
  std::vector<ClassicPrediction> times;
  for (const auto& algorithm : enum_names(ClassicAlgorithm{})) {
    const NcclGraph* const graph = model.graph_of(algorithm.value);
    if (graph == nullptr) continue;
    for (const auto& protocol : enum_names(ClassicProtocol{}))
      if (model.has(algorithm.value, protocol.value))
        times.push_back(
            {algorithm.value, protocol.value, model.time(algorithm.value, protocol.value, *graph)});
  }
  return times;
}

ClassicPrediction least_time(const ClassicCall& call, const std::vector<ClassicPrediction>& times) {
  const bool is_f8 = call.data_type == DataType::f8e4m3 || call.data_type == DataType::f8e5m2;
  // Adding f8 from rank to rank loses precision. An all_gather adds nothing.
  const bool ring_is_last =
      is_f8 && call.kind != EntryKind::all_gather && call.ranks > most_ranks_of_f8_ring;
  const auto rank = [&](const ClassicPrediction& one) {
    return std::pair(ring_is_last && one.algorithm == ClassicAlgorithm::ring, one.time);
  };
  return *std::ranges::min_element(times, {}, rank);
}

}  // namespace colltune::library_models
