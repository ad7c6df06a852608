// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "native.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "arithmetic/numerics.h"
#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "colltune/nccl/switch_reduction.h"

namespace colltune::nccl {
namespace {

constexpr std::string_view version_feature = "nccl.version";
constexpr std::string_view profiler_feature = "nccl.profiler";
constexpr std::string_view selection_feature = "nccl.call_configuration";
constexpr std::string_view windows_feature = "nccl.windows";
constexpr std::string_view environment_feature = "nccl.environment";
// NCCL refuses ranks that share a GPU, unless it takes each rank for a separate host, or its
// version supports sharing and was told to allow it.
constexpr std::string_view sharing_feature = "nccl.shares_gpus";
// NCCL takes each rank for a separate host, whatever our topology says.
constexpr std::string_view own_hosts_feature = "nccl.pretended_host";
constexpr int first_version_with_sharing = version_code(2, 30, 3);
// The first version whose configuration library_abi.h describes.
constexpr int first_version_with_policies = version_code(2, 28, 0);

/// Reductions of fp8 need the instructions of sm_90.
constexpr std::int64_t fp8_compute_capability = 9;

bool is_fp8(DataType type) { return type == DataType::f8e4m3 || type == DataType::f8e5m2; }

bool may_share_gpus(const Opened& opened) {
  if (std::getenv("NCCL_HOSTID") != nullptr) return true;
  return opened.version >= first_version_with_sharing &&
         opened.environment.find("NCCL_MULTI_RANK_GPU_ENABLE=1") != std::string::npos;
}

/// Functions that exist since 2.28 only.
std::string_view function_since_2_28(Collective collective) {
  switch (collective) {
    case Collective::all_to_all:
      return "ncclAlltoAll";
    case Collective::gather:
      return "ncclGather";
    case Collective::scatter:
      return "ncclScatter";
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_reduce:
      return {};
  }
  return {};
}

/// The version_code of a version_text.
int version_of(const Capability& capability) {
  return version_code_of(capability.value(version_feature));
}

}  // namespace

std::vector<Collective> all_collectives() {
  std::vector<Collective> all;
  for (const auto& named : enum_names(Collective{})) all.push_back(named.value);
  return all;
}

void detect_nccl(const Runtime& runtime, const Communicator& communicator, Capability& capability) {
  if (communicator.device() == nullptr || capability.has(version_feature) ||
      capability.has("nccl.unavailable"))
    return;
  if (!capability.has("cuda.driver")) {
    capability.features["nccl.unavailable"] = "NCCL wants a GPU under CUDA";
    return;
  }
  const Opened& opened = runtime.open();
  if (!opened.why_not.empty()) {
    capability.features["nccl.unavailable"] = opened.why_not;
    return;
  }
  capability.features[std::string(version_feature)] = version_text(opened.version);
  const Functions& functions = opened.functions;
  if (functions.all_reduce_config != nullptr)
    capability.features[std::string(selection_feature)] = "";
  if (functions.all_to_all != nullptr) capability.features["nccl.ncclAlltoAll"] = "";
  if (functions.register_window != nullptr && functions.deregister_window != nullptr)
    capability.features[std::string(windows_feature)] = "";
  if (functions.gather != nullptr) capability.features["nccl.ncclGather"] = "";
  if (functions.scatter != nullptr) capability.features["nccl.ncclScatter"] = "";
  if (opened.why_no_tuner.empty())
    capability.features["nccl.tuner"] = "";
  else
    capability.features["nccl.tuner.unavailable"] = opened.why_no_tuner;
  if (opened.why_no_profiler.empty())
    capability.features[std::string(profiler_feature)] = "";
  else
    capability.features["nccl.profiler.unavailable"] = opened.why_no_profiler;
  if (opened.is_without_tuner) capability.features[std::string(without_tuner_feature)] = "";
  if (!opened.environment.empty())
    capability.features[std::string(environment_feature)] = opened.environment;
  if (may_share_gpus(opened)) capability.features[std::string(sharing_feature)] = "";
  if (is_pretended_host()) capability.features[std::string(own_hosts_feature)] = "";
}

Support supports_native_call(const Problem& problem, const Topology& topology,
                             const Capability& capability, Collective collective) {
  if (problem.collective != collective)
    return Support::no("it is for " + std::string(name_of(collective)));
  if (!capability.is_on_device()) {
    const std::string_view why = capability.value("cuda.unavailable");
    return Support::no(why.empty()
                           ? "NCCL moves the memory of GPUs; the ranks' buffers lie in the host's"
                           : std::string(why));
  }
  if (const std::string_view why = capability.value("nccl.unavailable"); !why.empty())
    return Support::no(std::string(why));
  const std::string_view version = capability.value(version_feature);
  if (version.empty()) return Support::no("this rank did not look for NCCL");
  if (const std::string_view function = function_since_2_28(collective);
      !function.empty() && !capability.has("nccl." + std::string(function)))
    return Support::no("NCCL " + std::string(version) + " has no " + std::string(function) +
                       "; it came with 2.28");
  if (const std::int64_t ranks = capability.number("device.ranks");
      ranks > 1 && !capability.has(sharing_feature))
    return Support::no(std::to_string(ranks) +
                       " ranks share a GPU, and NCCL wants one for each rank");
  if (const std::string_view why = why_not_in_place(problem, topology.ranks); !why.empty())
    return Support::no(std::string(why));
  if (const std::int64_t compute = capability.number("cuda.compute_capability");
      reduces(problem) && is_fp8(problem.data_type) && compute > 0 &&
      compute < fp8_compute_capability)
    return Support::no("NCCL reduces fp8 from sm_90 on");
  // NCCL's kernel for one rank is built without fp8 and returns ncclInvalidArgument (seen with
  // 2.28.9 on an H200; the source is the same up to 2.30).
  if (is_fp8(problem.data_type) && problem.reduce_op == ReduceOp::avg && topology.ranks == 1)
    return Support::no("NCCL does not average fp8 on one rank alone");
  return Support::yes();
}

std::string_view environment_value(const Capability& capability, std::string_view variable) {
  std::string_view all = capability.value(environment_feature);
  while (!all.empty()) {
    const std::size_t end = all.find(' ');
    const std::string_view one = all.substr(0, end);
    if (one.starts_with(variable) && one.substr(variable.size()).starts_with('='))
      return one.substr(variable.size() + 1);
    all = end == std::string_view::npos ? std::string_view{} : all.substr(end + 1);
  }
  return {};
}

Topology topology_of_nccl(const Topology& topology, const Capability& capability) {
  Topology seen = topology;
  if (!capability.has(own_hosts_feature)) return seen;
  seen.nodes = seen.ranks;
  seen.ranks_per_node = 1;
  return seen;
}

std::string why_not_windows(const Topology& topology, const Capability& capability) {
  if (!capability.has(windows_feature))
    return "NCCL " + std::string(capability.value(version_feature)) +
           " has no ncclCommWindowRegister; it came with 2.27";
  if (topology.ranks < 2) return "a single rank copies";
  if (topology_of_nccl(topology, capability).nodes > 1)
    return "NCCL's kernels for symmetric windows are for one node";
  for (const std::string_view variable : {"NCCL_WIN_ENABLE", "NCCL_CUMEM_ENABLE"})
    if (environment_value(capability, variable) == "0")
      return std::string(variable) + "=0 in the environment leaves no windows";
  return {};
}

std::string why_not_ctas(const Capability& capability) {
  for (const std::string_view variable :
       {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"})
    if (!environment_value(capability, variable).empty())
      return std::string(variable) + " in the environment overrides it";
  return {};
}

std::string why_not_channels(const Capability& capability) {
  if (!takes_channels_as_limit(version_of(capability)) || capability.has(profiler_feature))
    return {};
  return "NCCL " + std::string(capability.value(version_feature)) +
         " takes its own number of channels where it is lower (from 2.31 on), and nobody tells how "
         "many ran: " +
         std::string(capability.value("nccl.profiler.unavailable"));
}

std::string why_not_selection(const Capability& capability) {
  if (!capability.has(selection_feature))
    return "NCCL " + std::string(capability.value(version_feature)) +
           " has no calls with a configuration (ncclAllReduceConfig); they came with 2.31";
  // On this path NCCL chooses before it looks at the call's selection.
  if (environment_value(capability, "NCCL_ENQUEUE_REARCH_ENABLE") == "1")
    return "NCCL_ENQUEUE_REARCH_ENABLE=1 in the environment has NCCL ignore it";
  return {};
}

std::string why_not_policy(const Capability& capability, CtaPolicy policy) {
  if (policy == CtaPolicy::own) return {};
  if (!environment_value(capability, "NCCL_CTA_POLICY").empty())
    return "NCCL_CTA_POLICY in the environment overrides it";
  if (version_of(capability) < first_version_with_policies)
    return "NCCL " + std::string(capability.value(version_feature)) +
           " is too old: policies are set from 2.28 on";
  return {};
}

std::string why_not_bound_native(const Problem& problem) {
  if (problem.graph_capture) return "a captured graph keeps the buffers of its calls";
  if (problem.registered) return "its buffers were registered with NCCL when it was prepared";
  return {};
}

CallTraits traits_of_native_call(const Problem& problem) {
  std::string why = why_not_bound_native(problem);
  return {.why_not_bound = why, .why_not_rebound = why};
}

std::string_view why_not_in_place(const Problem& problem, int ranks) {
  if (problem.collective == Collective::all_to_all && problem.in_place && ranks > 1)
    return "NCCL's all_to_all does not work in place";
  return {};
}

std::string_view why_not_premultiplied(const Problem& problem) {
  if (problem.reduce_op != ReduceOp::avg) return "it averages";
  if (!is_floating(problem.data_type)) return "integers have no shares";
  if (!has_shares(problem.data_type)) return "fp8 has too few digits for one n-th";
  return {};
}

Numerics numerics_of_native_call(const Problem& problem) {
  return {.rounding = rounding_handed_on(problem), .numeric_class = NumericClass::same_bits};
}

Cost cost_of_native_call(const Problem& problem, int ranks, double steps) {
  const auto size = static_cast<double>(problem.message_size.value);
  return {.steps = steps,
          .bytes_per_rank = bus_bandwidth_factor(problem.collective, ranks) * size,
          .reduced_bytes = reduces(problem) ? size : 0};
}

Cost cost_in_switch(const Problem& problem, int ranks, double steps) {
  Cost cost = cost_of_native_call(problem, ranks, steps);
  if (problem.collective == Collective::all_reduce)
    cost.bytes_per_rank = static_cast<double>(problem.message_size.value) * (1 + 1.0 / ranks);
  return cost;
}

bool is_reduced_in_switch(const Problem& problem, const Topology& topology) {
  if (problem.collective != Collective::all_reduce || topology.nodes > 1 || topology.ranks <= 2)
    return false;
  if (!is_reduced_by_nvls(problem.data_type, problem.reduce_op)) return false;
  constexpr std::string_view prefix = "sm_";
  constexpr int least = 90;
  return std::ranges::all_of(topology.architectures, [&](const ArchitectureCount& one) {
    return one.architecture.starts_with(prefix) &&
           std::atoi(one.architecture.c_str() + prefix.size()) >= least;
  });
}

}  // namespace colltune::nccl
