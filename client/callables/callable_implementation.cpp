// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "callable_implementation.h"

#include <algorithm>
#include <array>

#include "colltune/vocabulary/canonical.h"
#include "registrations.h"

namespace colltune {
namespace {

std::string question(const Problem& problem, const Variant& variant) {
  return digest_of_text(digest_of_value(problem) + to_string(variant));
}

std::string feature_of(const std::string& implementation) { return "refused." + implementation; }

ImplementationFacts facts_with_family(const Implementation& adapter, const std::string& family) {
  ImplementationFacts facts = adapter.facts();
  facts.family = family;
  return facts;
}

/// One refusal on each line, as "question reason".
std::string to_lines(const std::map<std::string, std::string>& refused) {
  std::string text;
  for (const auto& [asked, reason] : refused) text += asked + " " + reason + "\n";
  return text;
}

std::string reason_in(std::string_view lines, const std::string& asked) {
  const auto at = lines.find(asked + " ");
  if (at == std::string_view::npos) return {};
  const auto begin = at + asked.size() + 1;
  return std::string(lines.substr(begin, lines.find('\n', begin) - begin));
}

}  // namespace

CallableImplementation::CallableImplementation(std::unique_ptr<const Implementation> adapter,
                                               const CallablePlugin& plugin, Facts facts)
    : Implementation(facts_with_family(*adapter, facts.family)),
      adapter_(std::move(adapter)),
      plugin_(plugin),
      facts_of_callable_(std::move(facts)) {}

Support CallableImplementation::can_run(const Problem& problem, const Topology& topology,
                                        const Capability& capability,
                                        const Variant& variant) const {
  if (!capability.has("plugin." + name())) return Support::no("it is not registered there");
  if (topology.ranks != facts_of_callable_.ranks)
    return Support::no("it runs on all ranks of the program's communicator alone");
  if (Support support = adapter_->supports(problem, topology, capability, variant); !support)
    return support;
  if (facts_of_callable_.asks_into != nullptr) {
    ask(problem, topology, variant);
    return Support::yes();
  }
  std::string reason = reason_in(capability.value(feature_of(name())), question(problem, variant));
  return reason.empty() ? Support::yes() : Support::no(std::move(reason));
}

void CallableImplementation::ask(const Problem& problem, const Topology& topology,
                                 const Variant& variant) const {
  const colltune_callable* const callable = plugin_.find(facts_of_callable_.entry_name);
  if (callable == nullptr || callable->supports == nullptr) return;
  const colltune_problem asked{.struct_size = sizeof(colltune_problem),
                               .collective = name_of(problem.collective).data(),
                               .data_type = name_of(problem.data_type).data(),
                               .reduce_op = name_of(problem.reduce_op).data(),
                               .numeric_class = name_of(problem.numeric_class).data(),
                               .message_size = problem.message_size.value,
                               .block_elements = block_elements(problem, topology.ranks),
                               .element_size = size_of(problem.data_type),
                               .ranks = topology.ranks,
                               .nodes = topology.nodes,
                               .ranks_per_node = topology.ranks_per_node,
                               .flags = problem.in_place ? std::uint32_t{colltune_in_place} : 0U};
  nlohmann::json parameters = nlohmann::json::object();
  for (const Parameter& parameter : variant.parameters)
    std::visit([&](const auto& value) { parameters[parameter.name] = value; }, parameter.value);
  std::array<char, 256> reason{};
  if (callable->supports(callable->context, problem_text(asked).c_str(), parameters.dump().c_str(),
                         reason.data(), reason.size()) == 0)
    return;
  reason.back() = '\0';
  std::string text = reason.front() == '\0' ? "its check refuses" : reason.data();
  std::ranges::replace(text, '\n', ' ');
  (*facts_of_callable_.asks_into)[name()][question(problem, variant)] = text;
}

void CallableImplementation::detect(Communicator& communicator, Capability& capability) const {
  if (plugin_.find(facts_of_callable_.entry_name) == nullptr) return;
  adapter_->detect(communicator, capability);
  const auto refused = facts_of_callable_.refused.find(name());
  if (refused != facts_of_callable_.refused.end())
    capability.features[feature_of(name())] = to_lines(refused->second);
}

}  // namespace colltune
