// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls whose buffers lie in symmetric windows (NCCL 2.27 and later, ranks of one node). For these
// NCCL has kernels that access its peers' windows, by loads and stores or in NVLink switches
// (all_reduce, reduce_scatter, all_gather). With the policy zero (2.28 and later) it also has copy
// engines that move blocks without any kernel (all_gather, all_to_all, gather, scatter). NCCL
// chooses among these itself and asks its tuner about none. From 2.31 on a call may name the
// kernel.

#include <algorithm>
#include <array>
#include <optional>

#include "colltune/nccl/selection.h"
#include "nccl_calls/entry_points.h"
#include "nccl_calls/native.h"
#include "nccl_calls/own_choice.h"
#include "nccl_calls/windows.h"

namespace colltune::nccl {
namespace {

constexpr std::string_view by_kernels = "default";
constexpr std::string_view by_copy_engines = "zero";

bool has_kernels(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::all_gather;
}
bool has_copy_engines(Collective collective) {
  return !shape_of(collective).reduces && collective != Collective::broadcast;
}

std::vector<Parameter> parameters_of(std::string_view policy) {
  return {{"policy", std::string(policy)}};
}

std::vector<Parameter> parameters_of_kernel(std::string_view kernel) {
  return {{"kernel", std::string(kernel)}, {"policy", std::string(by_kernels)}};
}

/// The kernel that the parameters name; empty: none.
std::string kernel_of(const std::vector<Parameter>& parameters) {
  return parameters.size() == 2 && parameters[0].name == "kernel" ? to_string(parameters[0].value)
                                                                  : std::string();
}

std::optional<CtaPolicy> policy_of(const std::vector<Parameter>& parameters) {
  if (parameters.empty() || parameters.back().name != "policy" ||
      parameters.size() != (kernel_of(parameters).empty() ? 1 : 2))
    return std::nullopt;
  const std::string policy = to_string(parameters.back().value);
  if (policy == by_kernels) return CtaPolicy::own;
  if (policy == by_copy_engines) return CtaPolicy::zero;
  return std::nullopt;
}

/// Why such a call cannot name a kernel; empty if it can.
std::string why_not_named(const Capability& capability) {
  if (std::string why = why_not_selection(capability); !why.empty()) return why;
  if (!environment_value(capability, "NCCL_SYM_KERNEL").empty())
    return "NCCL_SYM_KERNEL in the environment overrides it";
  return {};
}

std::vector<std::vector<Parameter>> list_symmetric(const Problem& problem, const Topology&,
                                                   const Capability& capability) {
  std::vector<std::vector<Parameter>> all;
  if (has_kernels(problem.collective)) all.push_back(parameters_of(by_kernels));
  if (has_copy_engines(problem.collective)) all.push_back(parameters_of(by_copy_engines));
  if (why_not_named(capability).empty())
    for (const std::string_view kernel : symmetric_kernels(problem.collective))
      all.push_back(parameters_of_kernel(kernel));
  return all;
}

std::string why_not_symmetric(const Problem& problem, const Topology& topology,
                              const Capability& capability,
                              const std::vector<Parameter>& parameters) {
  const auto policy = policy_of(parameters);
  if (!policy)
    return "its parameter is policy: default (kernels) or zero (copy engines); in front of "
           "policy=default perhaps kernel, with NCCL's word in lower case";
  const std::string kernel = kernel_of(parameters);
  if (!kernel.empty() && *policy != CtaPolicy::own) return "a kernel is for policy=default";
  if (std::string why = why_not_windows(topology, capability); !why.empty()) return why;
  if (!problem.registered) return "its buffers are registered, in windows";
  if (*policy == CtaPolicy::zero) {
    if (!has_copy_engines(problem.collective)) return "NCCL has no copy engines do this collective";
    return why_not_policy(capability, *policy);
  }
  if (!has_kernels(problem.collective))
    return "NCCL has no symmetric kernel for it: only policy=zero, by copy engines";
  if (shape_of(problem.collective).reduces &&
      (problem.reduce_op != ReduceOp::sum || !is_floating(problem.data_type) ||
       problem.data_type == DataType::f64))
    return "NCCL's symmetric kernels reduce sums of floating types, but for f64";
  if (kernel.empty()) return {};
  if (!std::ranges::count(symmetric_kernels(problem.collective), kernel))
    return "NCCL has no symmetric kernel " + kernel + " for " +
           std::string(name_of(problem.collective));
  return why_not_named(capability);
}

CallSettings settings_of(Collective collective, const std::vector<Parameter>& parameters) {
  CallSettings settings{.communicator = {.policy = policy_of(parameters).value_or(CtaPolicy::own)}};
  if (const std::string kernel = kernel_of(parameters); !kernel.empty())
    settings.selection = {selection_of_kernel(collective, kernel), std::nullopt};
  return settings;
}

}  // namespace

Implementations make_symmetric(const std::shared_ptr<const Runtime>& runtime) {
  return make_own_choice(
      {.suffix = "_symmetric",
       .description = "NCCL's own choice between buffers in symmetric windows: kernels, or copy "
                      "engines with policy=zero; or one kernel by its name",
       .collectives = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                       Collective::all_to_all, Collective::gather, Collective::scatter},
       .list = &list_symmetric,
       .why_not = &why_not_symmetric,
       .windows = std::make_shared<WindowMemory>(runtime),
       .settings = &settings_of},
      runtime);
}

Implementations make_symmetric() {
  return make_symmetric(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
