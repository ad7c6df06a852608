// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What a call itself selects (NCCL 2.31 and later): an entry of NCCL's table with exactly so many
// channels. A tuner, by which forced.cpp has its choices, only lowers NCCL's own number since then,
// and other settings need another communicator. Kernels for symmetric windows are in symmetric.cpp.

#include <algorithm>
#include <optional>

#include "colltune/nccl/selection.h"
#include "nccl_calls/entry_points.h"
#include "nccl_calls/native.h"
#include "nccl_calls/own_choice.h"
#include "nccl_library/entries.h"

namespace colltune::nccl {
namespace {

std::vector<Parameter> parameters_of(const Choice& choice) {
  return {{"algorithm", std::string(name_of(choice.algorithm))},
          {"ctas", std::int64_t{choice.channels}},
          {"protocol", std::string(name_of(choice.protocol))}};
}

template <class Enum>
std::optional<Enum> find_named(const Parameter& parameter, std::string_view name) {
  if (parameter.name != name) return std::nullopt;
  for (const auto& named : enum_names(Enum{}))
    if (to_string(parameter.value) == named.name) return named.value;
  return std::nullopt;
}

/// The choice that the parameters name; nothing if NCCL has no such choice.
std::optional<Choice> choice_in(const std::vector<Parameter>& parameters) {
  if (parameters.size() != 3 || parameters[1].name != "ctas") return std::nullopt;
  const auto algorithm = find_named<Algorithm>(parameters[0], "algorithm");
  const auto protocol = find_named<Protocol>(parameters[2], "protocol");
  const auto* const ctas = std::get_if<std::int64_t>(&parameters[1].value);
  if (!algorithm || !protocol || ctas == nullptr || *ctas < 1 || *ctas > most_channels)
    return std::nullopt;
  return Choice{*algorithm, *protocol, static_cast<int>(*ctas)};
}

/// Why such calls cannot select the entry; empty if they may.
std::string why_not_entry(const Entry& entry, const Problem& problem, const Topology& topology,
                          const Capability& capability) {
  const auto function = function_of(problem.collective);
  if (!function || !std::ranges::count(entries_of(*function), entry))
    return "NCCL has no such algorithm and protocol for " +
           std::string(name_of(problem.collective));
  if (std::string why = why_not_there(entry, topology_of_nccl(topology, capability)); !why.empty())
    return why;
  // They have the last word.
  for (const auto& [variable, word] : {std::pair("NCCL_ALGO", name_of(entry.algorithm)),
                                       std::pair("NCCL_PROTO", name_of(entry.protocol))})
    if (!is_allowed_by(environment_value(capability, variable), *function, word))
      return std::string(variable) + " in the environment excludes it";
  return {};
}

/// Why a message has no use for so many CTAs; empty if it may have.
std::string why_not_so_many(const Choice& choice, const Problem& problem) {
  const auto function = function_of(problem.collective);
  if (!function) return {};
  const int most = most_channels_of(*function, choice.protocol, problem.message_size.value);
  if (choice.channels <= most) return {};
  return "the message is too short: NCCL gives it " + std::to_string(most) + " CTA(s) at most";
}

/// Why NCCL's calls cannot be told so, whatever they select.
std::string why_not_told(const Capability& capability) {
  if (std::string why = why_not_selection(capability); !why.empty()) return why;
  if (std::string why = why_not_ctas(capability); !why.empty()) return why;
  return why_not_channels(capability);
}

std::vector<std::vector<Parameter>> list_selected(const Problem& problem, const Topology& topology,
                                                  const Capability& capability) {
  std::vector<std::vector<Parameter>> all;
  const auto function = function_of(problem.collective);
  if (function && why_not_told(capability).empty())
    for (const Entry& entry : entries_of(*function))
      if (why_not_entry(entry, problem, topology, capability).empty())
        for (const int ctas : channels_to_try(*function, entry, problem.message_size.value))
          if (ctas > 0) all.push_back(parameters_of({entry.algorithm, entry.protocol, ctas}));
  // Keeps one, so that `why_not` can report why there is none.
  if (all.empty()) all.push_back(parameters_of({Algorithm::ring, Protocol::simple, most_channels}));
  return all;
}

std::string why_not_selected(const Problem& problem, const Topology& topology,
                             const Capability& capability,
                             const std::vector<Parameter>& parameters) {
  const auto choice = choice_in(parameters);
  if (!choice)
    return "its parameters are algorithm, ctas (1 to 64) and protocol, with NCCL's words in lower "
           "case";
  if (topology.ranks < 2) return "a single rank copies, whatever is selected";
  if (std::string why = why_not_told(capability); !why.empty()) return why;
  const Entry entry{choice->algorithm, choice->protocol};
  if (std::string why = why_not_entry(entry, problem, topology, capability); !why.empty())
    return why;
  return why_not_so_many(*choice, problem);
}

}  // namespace

Implementations make_selected(const std::shared_ptr<const Runtime>& runtime) {
  std::vector<Collective> collectives;
  for (int function = 0; function < function_count; ++function)
    collectives.push_back(collective_of(static_cast<Function>(function)));
  return make_own_choice(
      {.suffix = "_selected",
       .description = "one algorithm and protocol of NCCL's with exactly so many CTAs, selected by "
                      "the call itself (NCCL 2.31 and later)",
       .collectives = std::move(collectives),
       .list = &list_selected,
       .why_not = &why_not_selected,
       .settings =
           [](Collective, const std::vector<Parameter>& parameters) {
             CallSettings settings;
             if (const auto choice = choice_in(parameters))
               settings.selection = {selection_of(choice->algorithm, choice->protocol), choice};
             return settings;
           }},
      runtime);
}

Implementations make_selected() {
  return make_selected(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
