// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The formulas are those of NCCL 2.30.7, src/graph/tuning.cc, and the conditions those of
// src/enqueue.cc (updateCollCostTable).

#include "colltune/model/library/nccl_classic.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "classic_figures.h"
#include "colltune/nccl/switch_reduction.h"
#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

using namespace classic;

[[noreturn]] void fail(const std::string& what) { throw Error(StatusCode::invalid_argument, what); }

std::size_t index_of(nccl::Algorithm algorithm) { return static_cast<std::size_t>(algorithm); }
std::size_t index_of(nccl::Protocol protocol) { return static_cast<std::size_t>(protocol); }

const ClassicFigures& figures_of(int compute_capability) {
  return *std::ranges::find_if(architectures, [&](const ClassicFigures& one) {
    return compute_capability >= one.least_capability;
  });
}

int log2_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)) - 1; }

int steps_of(const ClassicCall& call, int ranks) {
  return call.kind == EntryKind::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

/// Posting to the network takes that long.
double post_us(HostCpu cpu, nccl::Protocol protocol) {
  return (cpu == HostCpu::amd ? 2.0 : 1.0) * (protocol == nccl::Protocol::simple ? 3 : 1);
}

/// NCCL looks at the architecture of the processors; `mixed` are several makers of x86.
bool is_x86(std::optional<HostCpu> cpu) { return cpu && *cpu != HostCpu::other; }

/// One communicator's model: what its times have in common.
class ClassicModel {
 public:
  ClassicModel(const ClassicCall& call, const NcclTopology& topology)
      : call_(call), topology_(topology), figures_(figures_of(call.compute_capability)) {}

  /// Null: NCCL does not consider the algorithm.
  [[nodiscard]] const NcclGraph* graph_of(nccl::Algorithm algorithm) const {
    const auto if_given = [](const std::optional<NcclGraph>& graph, bool is_considered) {
      return graph && is_considered ? &*graph : nullptr;
    };
    switch (algorithm) {
      case nccl::Algorithm::tree:
        return if_given(topology_.tree, reduces_all());
      case nccl::Algorithm::ring:
        break;
      case nccl::Algorithm::collnet_direct:
        return if_given(topology_.collnet_direct,
                        has_collnet() && per_node() <= most_ranks_of_collnet &&
                            (reduces_all() || has_a_head_for_each_rank()));
      case nccl::Algorithm::collnet_chain:
        return if_given(topology_.collnet_chain,
                        has_collnet() && reduces_all() && per_node() <= most_ranks_of_collnet);
      case nccl::Algorithm::nvls:
        return if_given(
            topology_.nvls,
            has_nvls() && (call_.nodes == 1 ||
                           (has_collnet() && (reduces_all() || has_a_head_for_each_rank()))));
      case nccl::Algorithm::nvls_tree:
        return if_given(topology_.nvls, has_nvls() && reduces_all() && call_.nodes > 1);
      case nccl::Algorithm::pat:
        return if_given(topology_.tree, has_pat());  // its channels are those of the tree
    }
    return &topology_.ring;
  }

  [[nodiscard]] bool has(nccl::Algorithm algorithm, nccl::Protocol protocol) const {
    if (algorithm != nccl::Algorithm::tree && algorithm != nccl::Algorithm::ring)
      return protocol == nccl::Protocol::simple;
    const bool by_default =
        !topology_.pci.value_or(false) && call_.compute_capability >= first_ll128;
    return protocol != nccl::Protocol::ll128 || topology_.ll128.value_or(by_default);
  }

  [[nodiscard]] Microseconds time(nccl::Algorithm algorithm, nccl::Protocol protocol,
                                  const NcclGraph& graph) const {
    const double bandwidth = bus(algorithm, protocol, graph) * share_of_bus(algorithm) *
                             share_at_size(algorithm, protocol);
    double latency = latency_us(algorithm, protocol);
    const std::uint64_t bytes = call_.message.value;
    if (algorithm == nccl::Algorithm::ring && protocol == nccl::Protocol::simple &&
        call_.nodes > 1 && reduces_all() &&
        bytes / (static_cast<std::uint64_t>(channels()) *
                 static_cast<std::uint64_t>(call_.ranks)) >=
            plateau_bytes)
      latency *= call_.compute_capability < first_ampere ? plateau_before_ampere : plateau;
    return Microseconds(latency + static_cast<double>(bytes) / (1e3 * bandwidth));
  }

 private:
  [[nodiscard]] bool reduces_all() const { return call_.kind == EntryKind::all_reduce; }
  [[nodiscard]] int per_node() const { return call_.ranks / call_.nodes; }

  /// Of the communicator: as many as both ring and tree have.
  [[nodiscard]] int channels() const {
    return std::min(topology_.ring.channels,
                    topology_.tree ? topology_.tree->channels : topology_.ring.channels);
  }

  /// NCCL's least number of nodes for it is 2.
  [[nodiscard]] bool has_collnet() const {
    return call_.nodes > 1 && (topology_.collnet_direct || topology_.collnet_chain);
  }

  /// Of several nodes, an all_gather's and a reduce_scatter's ranks need a network device each.
  [[nodiscard]] bool has_a_head_for_each_rank() const {
    return topology_.collnet_heads && per_node() <= *topology_.collnet_heads;
  }

  [[nodiscard]] bool has_pat() const {
    if (reduces_all() || per_node() != 1 || call_.compute_capability < first_pat) return false;
    return call_.kind == EntryKind::all_gather || call_.reduce_op != ReduceOp::avg;
  }

  [[nodiscard]] bool has_nvls() const {
    if (!topology_.nvls || figures_.nvls_share == 0 ||
        topology_.nvls->channels < fewest_channels_of_nvls)
      return false;
    // Of one rank on each node the others' bandwidth within a node is 0, and NCCL leaves NVLS out.
    if (!reduces_all() && (per_node() > most_ranks_of_nvls || per_node() == 1)) return false;
    return call_.kind == EntryKind::all_gather ||
           nccl::is_reduced_by_nvls(call_.data_type, call_.reduce_op);
  }

  [[nodiscard]] double between(const NcclGraph& graph) const {
    return graph.inter_gb_per_s.value_or(graph.intra_gb_per_s);
  }

  /// GB/s of all channels together.
  [[nodiscard]] double bus(nccl::Algorithm algorithm, nccl::Protocol protocol,
                           const NcclGraph& graph) const {
    // NCCL looks at the network from the third node on.
    const double one = call_.nodes <= 2 ? graph.intra_gb_per_s : between(graph);
    const double all = graph.channels * one;
    switch (algorithm) {
      case nccl::Algorithm::tree:
        return tree_bus(protocol, graph, all);
      case nccl::Algorithm::ring:
        return ring_bus(protocol, graph, all);
      case nccl::Algorithm::collnet_direct:
        return collnet_direct_bus(graph);
      case nccl::Algorithm::collnet_chain:
        return graph.channels * graph.intra_gb_per_s;
      case nccl::Algorithm::nvls:
        return graph.channels * std::min(nvls_inside(graph), between(graph));
      case nccl::Algorithm::nvls_tree:
        return graph.channels *
               std::min({nvls_inside(graph), between(graph) * (call_.nodes <= 2 ? 2 : 1),
                         at(figures_.nvls_tree, call_.nodes)});
      case nccl::Algorithm::pat:
        break;
    }
    return all * pat_share;
  }

  /// GB/s of one channel within a node.
  [[nodiscard]] double nvls_inside(const NcclGraph& graph) const {
    const double inside = graph.intra_gb_per_s * figures_.nvls_share * (graph.channels - 1) /
                          static_cast<double>(graph.channels);
    // An all_reduce sends and receives at once; of the others a rank keeps its own part.
    return inside * (reduces_all()
                         ? 2
                         : static_cast<double>(per_node() - 1) / static_cast<double>(per_node()));
  }

  [[nodiscard]] double collnet_direct_bus(const NcclGraph& graph) const {
    if (!reduces_all())
      return per_node() * std::min(graph.intra_gb_per_s, between(graph) * collnet_network_share);
    // Each device needs a network device nearby for the full speed.
    const double devices_of_channel = per_node() / static_cast<double>(graph.channels);
    const double slower = devices_of_channel - (devices_of_channel - 1) / 2;
    const double bus = graph.channels * graph.intra_gb_per_s / slower;
    return call_.compute_capability >= first_hopper ? bus * collnet_direct_share : bus;
  }

  [[nodiscard]] double ring_bus(nccl::Protocol protocol, const NcclGraph& graph, double all) const {
    switch (protocol) {
      case nccl::Protocol::ll:
        return std::min(most_of_ll(), all * ring_ll_share);
      case nccl::Protocol::ll128:
        return std::min(all * payload_of_ll128, graph.channels * figures_.ring_ll128);
      case nccl::Protocol::simple:
        break;
    }
    return all;
  }

  [[nodiscard]] double tree_bus(nccl::Protocol protocol, const NcclGraph& graph, double all) const {
    double bus = std::min(all * tree_share, graph.channels * at(figures_.tree, call_.nodes));
    if (protocol == nccl::Protocol::ll) bus = std::min(bus * tree_ll_share, most_of_ll());
    if (protocol == nccl::Protocol::ll128)
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
  [[nodiscard]] double share_of_bus(nccl::Algorithm algorithm) const {
    if (algorithm != nccl::Algorithm::ring && !reduces_all()) return 1;
    if (algorithm == nccl::Algorithm::ring || algorithm == nccl::Algorithm::nvls ||
        algorithm == nccl::Algorithm::nvls_tree)
      return static_cast<double>(call_.ranks) / steps_of(call_, call_.ranks);
    return 0.5;
  }

  /// What a tree reaches of its bandwidth, which its formula knows nothing of.
  [[nodiscard]] double share_at_size(nccl::Algorithm algorithm, nccl::Protocol protocol) const {
    const bool is_nvls_tree = algorithm == nccl::Algorithm::nvls_tree;
    const bool is_corrected =
        algorithm == nccl::Algorithm::tree ||
        (is_nvls_tree && call_.compute_capability >= first_blackwell && is_x86(topology_.cpu));
    const std::uint64_t units = call_.message.value >> 6U;
    if (!is_corrected || units == 0) return 1;
    const auto size = static_cast<std::size_t>(log2_of(units));
    if (size < corrected_sizes) return tree_shares[index_of(protocol)][size];
    return is_nvls_tree && size < corrected_sizes_of_nvls_tree ? last_share_of_nvls_tree : 1;
  }

  [[nodiscard]] double latency_us(nccl::Algorithm algorithm, nccl::Protocol protocol) const {
    const std::size_t row = index_of(algorithm);
    const std::size_t column = index_of(protocol);
    const double base = base_us[row][column];
    const double inside = (topology_.pci.value_or(false) ? pci_us : nvlink_us)[row][column];
    // With one rank on each node nothing hides the network's latency: NCCL takes the tree's.
    const std::size_t network_row = per_node() == 1 ? index_of(nccl::Algorithm::tree) : row;
    const double plugin = topology_.network_latency_us.value_or(0);
    const double across =
        network_us[network_row][column] + plugin * (protocol == nccl::Protocol::simple ? 2 : 1);
    const int log_nodes = log2_of(static_cast<std::uint64_t>(call_.nodes));
    const int peers = per_node() - 1;
    switch (algorithm) {
      case nccl::Algorithm::tree:
        return base + 2 * (peers * inside + log_nodes * across);
      case nccl::Algorithm::ring:
        break;
      case nccl::Algorithm::collnet_direct:
        return base + 2 * (std::min(1, peers) * inside + peers * collnet_us_of_each_peer) + across;
      case nccl::Algorithm::collnet_chain:
        return base + 2 * peers * inside + across;
      case nccl::Algorithm::nvls:
        return call_.nodes > 1 ? inside + across : inside;
      case nccl::Algorithm::nvls_tree:
        return base + inside + 2 * log_nodes * across;
      case nccl::Algorithm::pat:
        return base + log_nodes * (across / pat_steps_at_once) + call_.ranks * pat_us_of_each_rank;
    }
    const double step =
        call_.nodes > 1 ? std::max(inside, post_us(*topology_.cpu, protocol)) : inside;
    const int steps_across = call_.nodes == 1 ? 0 : steps_of(call_, call_.nodes);
    return base + (steps_of(call_, call_.ranks) - steps_across) * step + steps_across * across;
  }

  const ClassicCall& call_;
  const NcclTopology& topology_;
  const ClassicFigures& figures_;
};

/// The graphs that a topology has, by their fields' names.
std::vector<std::pair<std::string, const NcclGraph*>> graphs_of(const NcclTopology& topology) {
  std::vector<std::pair<std::string, const NcclGraph*>> graphs{{"ring", &topology.ring}};
  const auto add = [&](const char* name, const std::optional<NcclGraph>& graph) {
    if (graph) graphs.emplace_back(name, &*graph);
  };
  add("tree", topology.tree);
  add("nvls", topology.nvls);
  add("collnet_direct", topology.collnet_direct);
  add("collnet_chain", topology.collnet_chain);
  return graphs;
}

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

/// Throws where a graph lacks its bandwidth between nodes and NCCL looks at it.
void check_between(const ClassicCall& call, const NcclTopology& topology,
                   const ClassicModel& model) {
  const auto check_one = [&](const char* name, const NcclGraph& graph, int nodes) {
    if (call.nodes >= nodes && !graph.inter_gb_per_s)
      fail(fmt::format("nccl.{}.inter_gb_per_s is missing, for {} nodes or more", name, nodes));
  };
  check_one("ring", topology.ring, 3);
  if (topology.tree) check_one("tree", *topology.tree, 3);
  // Multicast and CollNet look at the network at once.
  if (model.graph_of(nccl::Algorithm::nvls) != nullptr ||
      model.graph_of(nccl::Algorithm::nvls_tree) != nullptr)
    check_one("nvls", *topology.nvls, 2);
  if (call.kind != EntryKind::all_reduce)
    if (const NcclGraph* const graph = model.graph_of(nccl::Algorithm::collnet_direct))
      check_one("collnet_direct", *graph, 2);
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
}

}  // namespace

void check(const NcclTopology& topology) {
  for (const auto& [name, graph] : graphs_of(topology)) check_graph(name, *graph);
  if (const auto& heads = topology.collnet_heads) {
    if (*heads < 1) fail(fmt::format("collnet_heads is {}; at least 1", *heads));
    if (!topology.collnet_direct && !topology.collnet_chain)
      fail("collnet_heads without collnet_direct or collnet_chain");
  }
  if (const auto& latency = topology.network_latency_us;
      latency && (!std::isfinite(*latency) || *latency < 0))
    fail(fmt::format("network_latency_us is {}; at least 0", *latency));
}

std::vector<ClassicPrediction> nccl_2_30_classic_times(const ClassicCall& call,
                                                       const NcclTopology& topology) {
  check(call, topology);
  const ClassicModel model(call, topology);
  check_between(call, topology, model);
  std::vector<ClassicPrediction> times;
  for (const auto& algorithm : enum_names(nccl::Algorithm{})) {
    const NcclGraph* const graph = model.graph_of(algorithm.value);
    if (graph == nullptr) continue;
    for (const auto& protocol : enum_names(nccl::Protocol{}))
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
    return std::pair(ring_is_last && one.algorithm == nccl::Algorithm::ring, one.time);
  };
  return *std::ranges::min_element(times, {}, rank);
}

}  // namespace colltune::library_models
