// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's own choice on communicators made with other settings: how many CTAs (blocks of threads,
// one for each channel) its kernels have, and by which policy it uses fewer. Each set of settings
// needs another communicator, which costs NCCL a second and the GPU some memory.

#include <algorithm>
#include <array>
#include <optional>

#include "nccl_calls/entry_points.h"
#include "nccl_calls/native.h"
#include "nccl_calls/own_choice.h"
#include "nccl_library/entries.h"

namespace colltune::nccl {
namespace {

constexpr std::string_view by_default = "default";
constexpr std::string_view by_efficiency = "efficiency";

std::vector<Parameter> parameters_of(int ctas, std::string_view policy) {
  return {{"ctas", std::int64_t{ctas}}, {"policy", std::string(policy)}};
}

/// The settings that the parameters name; nothing if NCCL has no such setting.
std::optional<CommunicatorSettings> settings_of(const std::vector<Parameter>& parameters) {
  if (parameters.size() != 2 || parameters[0].name != "ctas" || parameters[1].name != "policy")
    return std::nullopt;
  const auto* const ctas = std::get_if<std::int64_t>(&parameters[0].value);
  const std::string policy = to_string(parameters[1].value);
  if (ctas == nullptr || *ctas < 0 || *ctas > most_channels) return std::nullopt;
  if (policy != by_default && policy != by_efficiency) return std::nullopt;
  return CommunicatorSettings{
      .ctas = static_cast<int>(*ctas),
      .policy = policy == by_efficiency ? CtaPolicy::efficiency : CtaPolicy::own};
}

std::string why_not_efficiency(const Problem& problem, const Capability& capability) {
  if (!function_of(problem.collective)) return "NCCL has one way to do it: no policy chooses";
  if (std::string why = why_not_policy(capability, CtaPolicy::efficiency); !why.empty()) return why;
  if (!capability.has(without_tuner_feature))
    return "NCCL does not look at this policy where it has loaded a tuner, as it does for forced "
           "variants; NCCL_TUNER_PLUGIN=none loads none";
  return {};
}

std::vector<std::vector<Parameter>> list_configured(const Problem& problem, const Topology&,
                                                    const Capability& capability) {
  std::vector<std::vector<Parameter>> all;
  for (const int ctas : ctas_to_try(problem.collective, problem.message_size.value))
    all.push_back(parameters_of(ctas, by_default));
  if (why_not_efficiency(problem, capability).empty())
    all.push_back(parameters_of(0, by_efficiency));
  // Keeps one, so that `why_not` can report that the message is too short.
  if (all.empty()) all.push_back(parameters_of(most_channels, by_default));
  return all;
}

std::string why_not_configured(const Problem& problem, const Topology& topology,
                               const Capability& capability,
                               const std::vector<Parameter>& parameters) {
  const auto settings = settings_of(parameters);
  if (!settings)
    return "its parameters are ctas (0: NCCL decides, up to 64) and policy (default, efficiency)";
  if (topology.ranks < 2) return "a single rank copies, whatever the settings";
  if (*settings == CommunicatorSettings{}) return "that is NCCL's own choice, without settings";
  if (settings->policy == CtaPolicy::efficiency)
    if (std::string why = why_not_efficiency(problem, capability); !why.empty()) return why;
  if (settings->ctas == 0) return {};
  if (std::string why = why_not_ctas(capability); !why.empty()) return why;
  const int most = most_ctas_of(problem.collective, problem.message_size.value);
  if (most == 1) return "the message is too short for more than one CTA";
  if (settings->ctas > most)
    return "the message is too short: NCCL gives it " + std::to_string(most) + " CTAs at most";
  return {};
}

}  // namespace

Implementations make_configured(const std::shared_ptr<const Runtime>& runtime) {
  return make_own_choice(
      {.suffix = "_configured",
       .description = "NCCL's own choice with so many CTAs, or by another policy of taking them "
                      "(settings of the communicator)",
       .collectives = all_collectives(),
       .list = &list_configured,
       .why_not = &why_not_configured,
       .settings =
           [](Collective, const std::vector<Parameter>& parameters) {
             return CallSettings{.communicator =
                                     settings_of(parameters).value_or(CommunicatorSettings{})};
           }},
      runtime);
}

Implementations make_configured() {
  return make_configured(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
