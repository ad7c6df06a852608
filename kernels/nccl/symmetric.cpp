// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls whose buffers lie in symmetric windows (NCCL 2.27 and later, ranks of one node). For these
// NCCL has kernels that access its peers' windows, by loads and stores or in NVLink switches
// (all_reduce, reduce_scatter, all_gather). With the policy zero (2.28 and later) it also has copy
// engines that move blocks without any kernel (all_gather, all_to_all, gather, scatter). NCCL
// chooses among these itself and asks its tuner about none.

#include <algorithm>
#include <array>
#include <optional>

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

std::optional<CtaPolicy> policy_of(const std::vector<Parameter>& parameters) {
  if (parameters.size() != 1 || parameters[0].name != "policy") return std::nullopt;
  const std::string policy = to_string(parameters[0].value);
  if (policy == by_kernels) return CtaPolicy::own;
  if (policy == by_copy_engines) return CtaPolicy::zero;
  return std::nullopt;
}

std::vector<std::vector<Parameter>> list(const Problem& problem, const Topology&,
                                         const Capability&) {
  std::vector<std::vector<Parameter>> all;
  if (has_kernels(problem.collective)) all.push_back(parameters_of(by_kernels));
  if (has_copy_engines(problem.collective)) all.push_back(parameters_of(by_copy_engines));
  return all;
}

std::string why_not(const Problem& problem, const Topology& topology, const Capability& capability,
                    const std::vector<Parameter>& parameters) {
  const auto policy = policy_of(parameters);
  if (!policy) return "its parameter is policy: default (kernels) or zero (copy engines)";
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
  return {};
}

}  // namespace

Implementations make_symmetric(const std::shared_ptr<const Runtime>& runtime) {
  return make_own_choice(
      {.suffix = "_symmetric",
       .description = "NCCL's own choice between buffers in symmetric windows: kernels, or copy "
                      "engines with policy=zero",
       .collectives = {Collective::all_reduce, Collective::reduce_scatter, Collective::all_gather,
                       Collective::all_to_all, Collective::gather, Collective::scatter},
       .list = &list,
       .why_not = &why_not,
       .windows = std::make_shared<WindowMemory>(runtime),
       .settings =
           [](const std::vector<Parameter>& parameters) {
             return CallSettings{
                 .communicator = {.policy = policy_of(parameters).value_or(CtaPolicy::own)}};
           }},
      runtime);
}

Implementations make_symmetric() {
  return make_symmetric(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
