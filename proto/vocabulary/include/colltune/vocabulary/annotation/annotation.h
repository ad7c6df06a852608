// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/names.h"

// A program's collectives as a scheduler describes them, and what models say of each. `colltune
// predict` reads them from a file (configs/predict.schema.json), the call Annotate from the wire.
// Numbers are plain and have their unit in the name. GB are 10^9 bytes.

namespace colltune {

/// A modelled time. Models answer in fractions of a microsecond, which nanoseconds would round.
using Microseconds = std::chrono::duration<double, std::micro>;

/// A device as a user names it: what is given replaces the tables' value.
struct DeviceChoice {
  std::string name;          ///< "NVIDIA H100 80GB HBM3"; any other name has the common values
  std::string platform;      ///< "cuda" or "rocm"
  std::string architecture;  ///< "sm_90", "gfx942"
  std::optional<int> links;  ///< active links of each device to its peers
  std::optional<double> lane_gb_per_s;    ///< one direction of one link
  std::optional<double> memory_gb_per_s;  ///< of the device's memory; for the HBM term
  std::optional<double> launch_us;
  std::optional<double> nic_gb_per_s;
  std::optional<double> chunk_prep_us;
  std::optional<double> round_trip_us;
  std::optional<double> barrier_us;
  std::optional<std::uint64_t> chunk_bytes;
  std::optional<int> gpus_per_node;
  std::optional<bool> multimem;  ///< the kernels may use multicast memory [false]
  std::optional<bool> tma;       ///< NCCL's symmetric kernels may copy by TMA, since sm_100 [false]

  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, DeviceChoice>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("platform", self.platform);
  visit("architecture", self.architecture);
  visit("links", self.links);
  visit("lane_gb_per_s", self.lane_gb_per_s);
  visit("memory_gb_per_s", self.memory_gb_per_s);
  visit("launch_us", self.launch_us);
  visit("nic_gb_per_s", self.nic_gb_per_s);
  visit("chunk_prep_us", self.chunk_prep_us);
  visit("round_trip_us", self.round_trip_us);
  visit("barrier_us", self.barrier_us);
  visit("chunk_bytes", self.chunk_bytes);
  visit("gpus_per_node", self.gpus_per_node);
  visit("multimem", self.multimem);
  visit("tma", self.tma);
}

/// The channels of one algorithm of NCCL, as its log prints them (NCCL_DEBUG=INFO,
/// NCCL_DEBUG_SUBSYS=GRAPH: nChannels and bw).
struct NcclGraph {
  int channels = 0;
  double intra_gb_per_s = 0;             ///< of one channel, within a node
  std::optional<double> inter_gb_per_s;  ///< of one channel, between nodes [as within a node]

  friend bool operator==(const NcclGraph&, const NcclGraph&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, NcclGraph>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("channels", self.channels);
  visit("intra_gb_per_s", self.intra_gb_per_s);
  visit("inter_gb_per_s", self.inter_gb_per_s);
}

/// Whose processors a node has: NCCL's network latencies and LL bandwidths depend on it.
enum class HostCpu { intel = 0, amd = 1, mixed = 2, other = 3 };
constexpr std::array<Named<HostCpu>, 4> enum_names(HostCpu) {
  return {{{HostCpu::intel, "intel"},
           {HostCpu::amd, "amd"},
           {HostCpu::mixed, "mixed"},
           {HostCpu::other, "other"}}};
}
constexpr std::string_view enum_title(HostCpu) { return "processor"; }

/// What NCCL found out about a communicator and its own model starts from.
struct NcclTopology {
  NcclGraph ring;
  std::optional<NcclGraph> tree;             ///< [Tree and PAT are not modelled]
  std::optional<NcclGraph> nvls;             ///< [NVLS and its tree are not modelled]
  std::optional<HostCpu> cpu;                ///< needed across nodes
  std::optional<bool> pci;                   ///< channels cross PCI within a node [false: NVLink]
  std::optional<bool> ll128;                 ///< [NVLink and sm_70 or later]
  std::optional<bool> plain_tree;            ///< the tree's pattern is 3 in the log [false]
  std::optional<double> network_latency_us;  ///< that the network plug-in states [0]
  // Reduction in the network, only where it is switched on and its plug-in runs. The plug-in has
  // the types and operators of the program.
  std::optional<NcclGraph> collnet_direct;  ///< of nodes with an NVSwitch [it is not modelled]
  std::optional<NcclGraph> collnet_chain;   ///< [it is not modelled]
  /// Ranks of a node with a network device of their own, where the plug-in has all_gather and
  /// reduce_scatter. [both are not modelled with CollNet]
  std::optional<int> collnet_heads;

  friend bool operator==(const NcclTopology&, const NcclTopology&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, NcclTopology>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("ring", self.ring);
  visit("tree", self.tree);
  visit("nvls", self.nvls);
  visit("cpu", self.cpu);
  visit("pci", self.pci);
  visit("ll128", self.ll128);
  visit("plain_tree", self.plain_tree);
  visit("network_latency_us", self.network_latency_us);
  visit("collnet_direct", self.collnet_direct);
  visit("collnet_chain", self.collnet_chain);
  visit("collnet_heads", self.collnet_heads);
}

/// What is modelled: the collectives that XLA's estimator knows.
enum class EntryKind {
  all_reduce = 0,
  all_gather = 1,
  reduce_scatter = 2,
  all_to_all = 3,
  send_recv = 4,
};
constexpr std::array<Named<EntryKind>, 5> enum_names(EntryKind) {
  return {{{EntryKind::all_reduce, "all_reduce"},
           {EntryKind::all_gather, "all_gather"},
           {EntryKind::reduce_scatter, "reduce_scatter"},
           {EntryKind::all_to_all, "all_to_all"},
           {EntryKind::send_recv, "send_recv"}}};
}
constexpr std::string_view enum_title(EntryKind) { return "kind of collective"; }

/// How a collective runs: by a kernel of XLA, or as the library (NCCL, RCCL) does.
enum class Strategy { standard = 0, one_shot = 1, two_shot = 2, multimem = 3 };
constexpr std::array<Named<Strategy>, 4> enum_names(Strategy) {
  return {{{Strategy::standard, "default"},
           {Strategy::one_shot, "one_shot"},
           {Strategy::two_shot, "two_shot"},
           {Strategy::multimem, "multimem"}}};
}
constexpr std::string_view enum_title(Strategy) { return "strategy"; }

/// Groups of consecutive ranks, equally many in each: {0, 1, …}, {size, size + 1, …}, ….
struct ReplicaCounts {
  int groups = 1;
  int size = 1;  ///< ranks of each

  friend bool operator==(const ReplicaCounts&, const ReplicaCounts&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, ReplicaCounts>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("groups", self.groups);
  visit("size", self.size);
}

/// A collective of a program, as a user describes it. Its groups have one form of three.
struct CollectiveEntry {
  std::string name;  ///< for the answer
  EntryKind kind = EntryKind::all_reduce;
  Bytes bytes;  ///< the larger of one rank's send and receive buffers
  DataType data_type = DataType::f32;
  std::optional<ReduceOp> reduce_op;  ///< [sum]; where the collective reduces
  /// The ranks of each group, numbered node by node. [one group of all]
  std::optional<std::vector<std::vector<int>>> replica_groups;
  bool asynchronous = false;
  std::optional<Strategy> strategy;     ///< the caller's choice [by eligibility and size]
  std::optional<bool> fallback;         ///< a choice that cannot run becomes `default` [an error]
  std::optional<bool> kernels;          ///< XLA's kernels are switched on [true]
  std::optional<Bytes> bytes_accessed;  ///< in the device's memory, for the HBM term [0: none]
  std::optional<std::string> model;     ///< [the program's]
  std::optional<ReplicaCounts> replica_counts;  ///< instead of a list; they cover the world
  /// Instead of a list, as HLO prints it: "[32,8]<=[256]", "[4,2]<=[2,4]T(1,0)".
  std::optional<std::string> replica_tiles;

  friend bool operator==(const CollectiveEntry&, const CollectiveEntry&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, CollectiveEntry>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("kind", self.kind);
  visit("bytes", self.bytes);
  visit("data_type", self.data_type);
  visit("reduce_op", self.reduce_op);
  visit("replica_groups", self.replica_groups);
  visit("asynchronous", self.asynchronous);
  visit("strategy", self.strategy);
  visit("fallback", self.fallback);
  visit("kernels", self.kernels);
  visit("bytes_accessed", self.bytes_accessed);
  visit("model", self.model);
  visit("replica_counts", self.replica_counts);
  visit("replica_tiles", self.replica_tiles);
}

/// A device, how many nodes have it, and the collectives of a program that runs there.
struct AnnotatedProgram {
  DeviceChoice device;
  int nodes = 1;  ///< ranks are numbered node by node
  std::vector<CollectiveEntry> collectives;
  std::optional<std::string> model;  ///< of entries that name none ["xla"]
  std::optional<NcclTopology> nccl;  ///< needed by NCCL's classic model

  friend bool operator==(const AnnotatedProgram&, const AnnotatedProgram&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, AnnotatedProgram>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("device", self.device);
  visit("nodes", self.nodes);
  visit("collectives", self.collectives);
  visit("model", self.model);
  visit("nccl", self.nccl);
}

/// Who chose a strategy.
enum class ChosenBy { caller = 0, size = 1, eligibility = 2, fallback = 3, library = 4 };
constexpr std::array<Named<ChosenBy>, 5> enum_names(ChosenBy) {
  return {{{ChosenBy::caller, "caller"},
           {ChosenBy::size, "size"},
           {ChosenBy::eligibility, "eligibility"},
           {ChosenBy::fallback, "fallback"},
           {ChosenBy::library, "library"}}};
}
constexpr std::string_view enum_title(ChosenBy) { return "source of a strategy"; }

/// What is said of one collective. A scheduler pays `on_node` where the collective starts, and at
/// least `between` has to pass until it is done; its time is in exactly one of the two, and the
/// other one is the low cost of 1 us.
struct Annotation {
  std::string name;
  Strategy strategy = Strategy::standard;
  ChosenBy source = ChosenBy::size;
  std::string why;
  std::string model;  ///< "xla.one_shot", "xla.ring", "nccl-2.30.7-classic.ring.ll", …
  Microseconds on_node{};
  Microseconds between{};
  Microseconds memory{};  ///< part of `total`: the HBM term
  Microseconds total{};   ///< what the collective takes

  friend bool operator==(const Annotation&, const Annotation&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Annotation>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("name", self.name);
  visit("strategy", self.strategy);
  visit("source", self.source);
  visit("why", self.why);
  visit("model", self.model);
  visit("node_us", self.on_node);
  visit("between_us", self.between);
  visit("memory_us", self.memory);
  visit("total_us", self.total);
}

}  // namespace colltune
