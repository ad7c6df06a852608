// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Open MPI's named algorithms (component coll/tuned), each forced in the running launch. The
// component reads its control variables when a communicator is made, so a communicator that is
// duplicated while a variant's variables are set keeps that variant for its life; there is one
// communicator per variant (ompi/mca/coll/tuned, coll_tuned_module.c). Names and numbers are
// queried from the running library.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "colltune/kernels/implementation.h"
#include "mpi_library/control_variable.h"
#include "mpi_library/meeting.h"
#include "mpi_library/mpi_call.h"

namespace colltune::mpi {
namespace {

constexpr std::string_view dynamic_rules_feature = "mpi.tuned.use_dynamic_rules";
constexpr std::string_view rules_file_feature = "mpi.tuned.rules_file";

/// One of the component's sets of algorithms: `component_name` is its name in the variables.
struct Target {
  Collective collective;
  ReduceScatterCall form;
  std::string_view short_name;
  std::string_view component_name;
};
constexpr std::array<Target, 9> targets{{
    {Collective::all_reduce, ReduceScatterCall::block, "all_reduce", "allreduce"},
    {Collective::all_gather, ReduceScatterCall::block, "all_gather", "allgather"},
    {Collective::reduce_scatter, ReduceScatterCall::block, "reduce_scatter",
     "reduce_scatter_block"},
    {Collective::reduce_scatter, ReduceScatterCall::counts, "reduce_scatter_counts",
     "reduce_scatter"},
    {Collective::broadcast, ReduceScatterCall::block, "broadcast", "bcast"},
    {Collective::reduce, ReduceScatterCall::block, "reduce", "reduce"},
    {Collective::all_to_all, ReduceScatterCall::block, "all_to_all", "alltoall"},
    {Collective::gather, ReduceScatterCall::block, "gather", "gather"},
    {Collective::scatter, ReduceScatterCall::block, "scatter", "scatter"},
}};

/// Which parameters an algorithm has, by its name in the library: coll_tuned_*_decision.c of 4.1
/// passes them only to these algorithms. An unknown name has none.
bool takes_segments(std::string_view component_name, std::string_view algorithm) {
  constexpr std::array<std::string_view, 10> names{
      "segmented_ring", "chain",           "pipeline", "split_binary_tree", "binary_tree",
      "binary",         "in-order_binary", "binomial", "knomial",           "linear_sync"};
  const bool is_segmented_collective =
      component_name == "allreduce" || component_name == "bcast" || component_name == "reduce";
  if (!is_segmented_collective) return component_name == "gather" && algorithm == "linear_sync";
  return std::ranges::find(names, algorithm) != names.end();
}
bool takes_fanout(std::string_view algorithm) { return algorithm == "chain"; }

std::int64_t number_or(const Variant& variant, std::string_view name, std::int64_t otherwise) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name) return number(variant, name);
  return otherwise;
}

/// The algorithm that `variant` names; empty if it names none.
std::string algorithm_of(const Variant& variant) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == "algorithm") return to_string(parameter.value);
  return {};
}

class OpenMpiTuned final : public Implementation {
 public:
  explicit OpenMpiTuned(const Target& target)
      : Implementation({.name = "mpi." + std::string(target.short_name) + "_tuned",
                        .description =
                            "one named algorithm of Open MPI's coll/tuned, forced (MPI_T "
                            "and MPI_Comm_dup)",
                        .collective = target.collective,
                        .family = "mpi",
                        .meets_other_builds = true}),
        target_(target),
        feature_prefix_("mpi.tuned." + std::string(target.short_name) + "."),
        variable_("coll_tuned_" + std::string(target.component_name) + "_algorithm") {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override;
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override;
  Limits limits(const Variant& variant) const override;
  std::string protocol(const Problem&, const Variant& variant) const override {
    return "mpi;" + to_string(variant);
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override;
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return numerics_of_mpi_call(problem);
  }
  CallTraits traits(const Problem& problem, const Topology&, const Variant&) const override {
    return traits_of_mpi_call(problem);
  }
  void detect(Communicator& communicator, Capability& capability) const override;
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override;

 private:
  void apply(TemporarySettings& settings, const Variant& variant) const;

  Target target_;
  std::string feature_prefix_;
  std::string variable_;
};

std::vector<Variant> OpenMpiTuned::variants(const Problem& problem, const Topology& topology,
                                            const Capability& capability) const {
  std::vector<Variant> all;
  for (auto feature = capability.features.lower_bound(feature_prefix_);
       feature != capability.features.end() && feature->first.starts_with(feature_prefix_);
       ++feature) {
    const std::string algorithm = feature->first.substr(feature_prefix_.size());
    std::vector<std::int64_t> segments{-1};  // -1: the algorithm has no such parameter
    if (takes_segments(target_.component_name, algorithm)) {
      segments = {0};  // 0: one segment
      for (const std::int64_t size : {std::int64_t{64} << 10, std::int64_t{1} << 20})
        if (static_cast<std::uint64_t>(size) < problem.message_size.value) segments.push_back(size);
    }
    std::vector<std::int64_t> fanouts{-1};
    if (takes_fanout(algorithm)) {
      fanouts = {1};  // a chain of fanout 1 is the pipeline; 2 or 3 ranks can form nothing else
      if (topology.ranks > 3) fanouts = {2};
      if (topology.ranks > 5) fanouts.push_back(4);
    }
    for (const std::int64_t fanout : fanouts)
      for (const std::int64_t segment : segments) {
        Variant variant{name(), {{"algorithm", algorithm}}};
        if (fanout >= 0) variant.parameters.push_back({"fanout", fanout});
        if (segment >= 0) variant.parameters.push_back({"segment_size", segment});
        all.push_back(std::move(variant));
      }
  }
  if (all.empty()) all.push_back({name(), {}});  // so that `supports` can give the reason
  return all;
}

Support OpenMpiTuned::can_run(const Problem& problem, const Topology& topology,
                              const Capability& capability, const Variant& variant) const {
  if (Support basic = supports_mpi_call(problem, topology, capability, target_.collective); !basic)
    return basic;
  const std::string_view library = capability.value("mpi.library");
  if (!library.starts_with("Open MPI"))
    return Support::no("not Open MPI, but " + std::string(library));
  if (capability.has(rules_file_feature))
    return Support::no(
        "the user's file of rules is in force (coll_tuned_dynamic_rules_filename), and goes before "
        "what is forced");
  if (!capability.has(dynamic_rules_feature))
    return Support::no("launched without OMPI_MCA_coll_tuned_use_dynamic_rules=1");
  const std::string algorithm = algorithm_of(variant);
  if (!capability.has(feature_prefix_ + algorithm))
    return Support::no("this Open MPI cannot force " +
                       (algorithm.empty() ? "an algorithm" : "algorithm '" + algorithm + "'") +
                       " for " + std::string(target_.component_name));
  if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
    return Support::no(std::move(why));
  if (problem.collective == Collective::all_to_all && problem.in_place)
    return Support::no("Open MPI has one algorithm for in-place all_to_all, whatever is forced");
  for (const Parameter& parameter : variant.parameters) {
    if (parameter.name == "algorithm") continue;
    const bool is_known =
        (parameter.name == "segment_size" && takes_segments(target_.component_name, algorithm)) ||
        (parameter.name == "fanout" && takes_fanout(algorithm));
    const auto* value = std::get_if<std::int64_t>(&parameter.value);
    const std::int64_t least = parameter.name == "fanout" ? 1 : 0;
    if (!is_known || value == nullptr || *value < least || *value > (std::int64_t{1} << 30))
      return Support::no("algorithm '" + algorithm + "' does not take " + parameter.name + "=" +
                         to_string(parameter.value));
  }
  return Support::yes();
}

Limits OpenMpiTuned::limits(const Variant& variant) const {
  Limits limits{.min_ranks = 2};  // coll/tuned does not serve a single rank
  const std::string algorithm = algorithm_of(variant);
  if (algorithm == "two_proc") limits.max_ranks = 2;
  if (algorithm == "neighbor") limits.ranks_multiple_of = 2;
  return limits;
}

/// By the shape that the name implies (Thakur, Rabenseifner, Gropp 2005): rings, chains and linear
/// algorithms take a step per rank, trees and recursive doublings a step per power of two.
Cost OpenMpiTuned::cost(const Problem& problem, const Topology& topology,
                        const Variant& variant) const {
  const std::string algorithm = algorithm_of(variant);
  const auto size = static_cast<double>(problem.message_size.value);
  const double ranks = topology.ranks;
  const auto is_like = [&](std::string_view word) {
    return algorithm.find(word) != std::string::npos;
  };
  const bool is_linear = is_like("linear") || is_like("non");
  const bool is_stepwise = is_linear || is_like("ring") || is_like("chain") ||
                           is_like("pipeline") || is_like("pairwise") || is_like("neighbor");
  const bool is_both_ways = target_.collective == Collective::all_reduce;
  const double steps = is_stepwise ? ranks - 1 : std::ceil(std::log2(ranks));
  const double bytes = is_linear ? (ranks - 1) * size
                                 : bus_bandwidth_factor(target_.collective, topology.ranks) * size;
  return {.steps = is_both_ways ? 2 * steps : steps,
          .bytes_per_rank = bytes,
          .reduced_bytes = problem.reduce_op == ReduceOp::none ? 0 : size};
}

void OpenMpiTuned::detect(Communicator& communicator, Capability& capability) const {
  detect_mpi_library(communicator, capability);
  if (communicator.native_mpi() == nullptr) return;
  const MpiToolSession session;
  const auto rules = ControlVariable::find("coll_tuned_use_dynamic_rules");
  if (!rules || rules->read() == 0) return;
  if (const auto file = ControlVariable::find("coll_tuned_dynamic_rules_filename");
      file && !file->read_text().empty()) {
    capability.features[std::string(rules_file_feature)] = "";
    return;
  }
  capability.features[std::string(dynamic_rules_feature)] = std::to_string(rules->read());
  const auto algorithms = ControlVariable::find(variable_);
  if (!algorithms || !algorithms->is_writable()) return;
  for (const auto& [id, algorithm] : algorithms->enumerators())
    if (id != 0)  // 0 is "ignore": the library's own choice
      capability.features[feature_prefix_ + algorithm] = std::to_string(id);
}

void OpenMpiTuned::apply(TemporarySettings& settings, const Variant& variant) const {
  const std::string algorithm = algorithm_of(variant);
  const MpiToolSession session;
  const auto variable = ControlVariable::find(variable_);
  if (!variable)
    throw Error(StatusCode::failed_precondition, "this MPI library has no variable " + variable_);
  for (const auto& [id, name] : variable->enumerators())
    if (name == algorithm) {
      settings.set(variable_, id);
      if (const auto segment = number_or(variant, "segment_size", -1); segment >= 0)
        settings.set(variable_ + "_segmentsize", static_cast<int>(segment));
      if (const auto fanout = number_or(variant, "fanout", -1); fanout >= 0)
        settings.set(variable_ + "_chain_fanout", static_cast<int>(fanout));
      return;
    }
  throw Error(StatusCode::failed_precondition,
              variable_ + " has no value called '" + algorithm + "'");
}

std::unique_ptr<Operation> OpenMpiTuned::prepare(Communicator& communicator, const Call& call,
                                                 const Variant& variant, Deadline deadline) const {
  const auto* comm = static_cast<const MPI_Comm*>(communicator.native_mpi());
  if (comm == nullptr)
    throw Error(StatusCode::failed_precondition, "this communicator has no MPI behind it");
  std::unique_ptr<Communicator> forced;
  {
    TemporarySettings settings;
    std::string failure;
    try {
      apply(settings, variant);
    } catch (const Error& error) {
      failure = error.what();
    }
    meet(*comm, deadline, communicator.abort_flag(), failure, StatusCode::failed_precondition);
    forced = communicator.duplicate(deadline);
  }
  const Communicator& made = *forced;
  return make_mpi_operation(made, call, target_.form, std::move(forced));
}

}  // namespace

Implementations make_open_mpi_tuned() {
  Implementations made;
  for (const Target& target : targets) made.push_back(std::make_unique<OpenMpiTuned>(target));
  return made;
}

}  // namespace colltune::mpi
