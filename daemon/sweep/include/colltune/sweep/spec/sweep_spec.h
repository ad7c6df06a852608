// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/measurement.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {

/// Which values of a yes-or-no axis are swept; if both, "no" first.
struct BooleanAxis {
  bool off = true;
  bool on = false;

  friend auto operator<=>(const BooleanAxis&, const BooleanAxis&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, BooleanAxis>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("off", self.off);
  visit("on", self.on);
}

/// A sub-world of the launch: the first `ranks_per_node` ranks of each of the first `nodes` nodes.
struct WorldSpec {
  int nodes = 1;
  int ranks_per_node = 1;

  friend auto operator<=>(const WorldSpec&, const WorldSpec&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, WorldSpec>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("nodes", self.nodes);
  visit("ranks_per_node", self.ranks_per_node);
}

/// A single call to be measured: out of place (a broadcast in its one buffer), in buffers that are
/// not registered, not captured.
struct CallSpec {
  Collective collective = Collective::all_reduce;
  DataType data_type = DataType::f32;
  ReduceOp reduce_op = ReduceOp::none;  ///< `none` exactly if the collective does not reduce
  Bytes size;                           ///< as asked for; the plan rounds it to whole elements
  std::optional<WorldSpec> world;       ///< empty: the whole launch
  double weight = 1;                    ///< how much it matters, relative to the other calls; > 0
  Counts counts = Counts::equal;

  friend auto operator<=>(const CallSpec&, const CallSpec&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, CallSpec>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("collective", self.collective);
  visit("data_type", self.data_type);
  visit("reduce_op", self.reduce_op);
  visit("size_bytes", self.size);
  visit("world", self.world);
  visit("weight", self.weight);
  visit("counts", self.counts);
}

/// Values that a parameter takes instead of those of the search space, for implementations that
/// match `pattern`. Values are written as in a variant's printed form.
struct ParameterOverride {
  std::string pattern;
  std::string parameter;
  std::vector<std::string> values;

  friend auto operator<=>(const ParameterOverride&, const ParameterOverride&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, ParameterOverride>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("pattern", self.pattern);
  visit("parameter", self.parameter);
  visit("values", self.values);
}

/// How long a variant that would win is run with verification before it is published. The bound
/// that is reached first ends the soak; 0 for either means no soak.
struct Soak {
  std::uint64_t runs = 5000;
  std::chrono::nanoseconds time = std::chrono::seconds(2);

  friend auto operator<=>(const Soak&, const Soak&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, Soak>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("runs", self.runs);
  visit("time_ns", self.time);
}

/// What the user asks for: the lists form a product, and `calls` stand beside it. Each key of the
/// configuration file is one field; `configs/README.md` describes them.
struct SweepSpec {
  std::vector<Collective> collectives;
  std::vector<MeshReduction> meshes;  ///< reductions over a process mesh, in addition to the
                                      ///< collectives
  std::vector<CallSpec> calls;        ///< in addition to the product; never held out
  std::vector<DataType> data_types{DataType::f32};
  std::vector<ReduceOp> reduce_ops{
      ReduceOp::sum};             ///< ignored by collectives without one or with their own
  std::vector<Bytes> sizes;       ///< ascending, each once
  std::vector<WorldSpec> worlds;  ///< of the product; empty: the whole launch
  /// Whether ranks that can do more than the rest of their world also form a world of their own.
  bool partial_worlds = false;
  /// How ranks that cannot all run one variant may run a call together; ascending.
  std::vector<CompositionMode> compositions{CompositionMode::substituted, CompositionMode::grouped};
  BooleanAxis in_place;
  BooleanAxis registered;
  BooleanAxis graph_capture;
  /// Of all_gather and reduce_scatter; the counts of other collectives are equal in any case.
  std::vector<Counts> counts{Counts::equal};
  std::vector<std::string> include;  ///< patterns over implementation names; empty: all
  std::vector<std::string> exclude;
  std::vector<ParameterOverride> parameters;
  std::chrono::nanoseconds budget{};  ///< of the whole sweep; 0: none
  int passes = 24;          ///< visits of the sweep to each cell, spread over its time; at least 1
  int full_passes = 1;      ///< how many of them, the first, all variants take part in; at least 1
  double precision = 0.02;  ///< relative half width to reach of the median's confidence interval
  std::uint64_t seed = 1;   ///< of the order of the rounds
  Soak soak;
  Calling calling = default_calling;  ///< a captured call is always persistent
  InputMode input_mode = default_input;
  std::optional<Synchronization> synchronization;  ///< empty: each cell uses what works there
  std::vector<Bytes> holdout_sizes;                ///< measured, but kept out of deciding
  DecisionPolicy decision;
  bool null_test = true;  ///< whether the baseline enters each cell a second time, as its twin
  /// Whether variants that earlier sweeps show to be hopeless are left out (plan/pruning.h).
  bool prune = false;
  /// Whether rings are measured with the settings near those of torchcomms' rules alone
  /// (plan/ring_search.h).
  bool ring_prior = false;
  std::vector<std::string> plugins;  ///< paths of shared objects; relative ones start at the
                                     ///< configuration's folder
  /// Environments that are measured in launches of their own, in addition to the unchanged one.
  std::vector<LaunchEnvironment> launch_environments;
  int launch_turns = 3;  ///< launches in each launch environment, if there are any
  std::string text;      ///< the configuration as read

  friend bool operator==(const SweepSpec&, const SweepSpec&) = default;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, SweepSpec>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("collectives", self.collectives);
  visit("meshes", self.meshes);
  visit("calls", self.calls);
  visit("data_types", self.data_types);
  visit("reduce_ops", self.reduce_ops);
  visit("sizes", self.sizes);
  visit("worlds", self.worlds);
  visit("partial_worlds", self.partial_worlds);
  visit("compositions", self.compositions);
  visit("in_place", self.in_place);
  visit("registered", self.registered);
  visit("graph_capture", self.graph_capture);
  visit("counts", self.counts);
  visit("include", self.include);
  visit("exclude", self.exclude);
  visit("parameters", self.parameters);
  visit("budget_ns", self.budget);
  visit("passes", self.passes);
  visit("full_passes", self.full_passes);
  visit("precision", self.precision);
  visit("seed", self.seed);
  visit("soak", self.soak);
  visit("calling", self.calling);
  visit("input_mode", self.input_mode);
  visit("synchronization", self.synchronization);
  visit("holdout_sizes", self.holdout_sizes);
  visit("decision", self.decision);
  visit("null_test", self.null_test);
  visit("prune", self.prune);
  visit("ring_prior", self.ring_prior);
  visit("plugins", self.plugins);
  visit("launch_environments", self.launch_environments);
  visit("launch_rounds", self.launch_turns);
  visit("text", self.text);
}

/// Reads and checks a configuration. Throws Error(invalid_argument) that names the file, the place
/// (JSON path, or line and column), what was found and what is allowed.
[[nodiscard]] SweepSpec parse_sweep_spec(std::string_view text, const std::string& file_name);
/// The text of a configuration file. Throws Error(failed_precondition) if it cannot be read, or
/// Error(not_found) if it is a device.
[[nodiscard]] std::string read_configuration(const std::filesystem::path& path);
/// Reads a configuration's file and parses it.
[[nodiscard]] SweepSpec load_sweep_spec(const std::filesystem::path& path);

/// Collective: `load` runs on rank 0 alone; all ranks get its result or throw its Error.
[[nodiscard]] SweepSpec share_sweep_spec(ControlPlane& control,
                                         const std::function<SweepSpec()>& load);

/// Reads "8,64KiB,1MiB..64MiB x2": sizes and geometric ranges. A range includes its upper end if
/// the factor reaches it. Ascending, each once. Throws Error(invalid_argument).
[[nodiscard]] std::vector<Bytes> parse_sizes(std::string_view text);

/// The JSON Schema that configurations are checked against (configs/sweep.schema.json).
[[nodiscard]] std::string_view sweep_spec_schema();

}  // namespace colltune
