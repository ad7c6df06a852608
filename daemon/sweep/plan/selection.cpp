// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "colltune/sweep/ranks/availability.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "spec/glob.h"

namespace colltune {
namespace {

std::string names_of(const Implementations& implementations) {
  std::string names;
  for (const auto& implementation : implementations)
    names += (names.empty() ? "" : ", ") + std::string(implementation->name());
  return names.empty() ? "none" : names;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

void check_matches(const std::string& pattern, const std::string& place,
                   const Implementations& implementations) {
  const bool matches = std::ranges::any_of(implementations, [&](const auto& implementation) {
    return matches_glob(pattern, implementation->name());
  });
  if (!matches)
    throw Error(StatusCode::invalid_argument, place + ": the pattern '" + pattern +
                                                  "' matches no implementation; there are " +
                                                  names_of(implementations));
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return matches_glob(pattern, name); });
}

Variant with(Variant variant, const std::string& parameter, const std::string& value) {
  for (auto& item : variant.parameters)
    if (item.name == parameter)
      // Parsing the printed form decides what is a number and what is a word.
      item.value = parse_variant("x{" + parameter + "=" + value + "}").parameters.front().value;
  return variant;
}

bool has(const Variant& variant, const std::string& parameter) {
  return std::ranges::find(variant.parameters, parameter, &Parameter::name) !=
         variant.parameters.end();
}

}  // namespace

std::map<Collective, std::vector<const Implementation*>> select_implementations(
    const SweepSpec& spec, const Implementations& implementations) {
  for (const auto& pattern : spec.include)
    check_matches(pattern, "/implementations/include", implementations);
  for (const auto& pattern : spec.exclude)
    check_matches(pattern, "/implementations/exclude", implementations);
  for (const auto& item : spec.parameters)
    check_matches(item.pattern, "/parameters", implementations);

  std::map<Collective, std::vector<const Implementation*>> selected;
  for (const auto& implementation : implementations) {
    const auto name = implementation->name();
    if (!spec.include.empty() && !matches_any(spec.include, name)) continue;
    if (matches_any(spec.exclude, name)) continue;
    selected[implementation->collective()].push_back(implementation.get());
  }
  for (auto& [collective, chosen] : selected)
    std::ranges::stable_partition(chosen, [](const auto* item) { return item->is_baseline(); });
  return selected;
}

Support support_of(const Implementation& implementation, const Problem& problem, Calling calling,
                   const Topology& topology, const Capability& capability, const Variant& variant) {
  if (capability.is_on_device() && !implementation.runs_on_device())
    return Support::no("it takes buffers in the host's memory; the ranks' lie on devices");
  if (const auto glob = masked_by(capability, variant); !glob.empty())
    return Support::no(fmt::format("masked by impl={}", glob));
  Support support = implementation.supports(problem, topology, capability, variant);
  if (!support || calling == Calling::persistent) return support;
  if (const std::string why = implementation.traits(problem, topology, variant).why_not_bound;
      !why.empty())
    return Support::no("only for calling=persistent: " + why);
  return support;
}

std::string why_not_together(const Implementation& implementation,
                             std::span<const Capability* const> capabilities) {
  if (implementation.facts().meets_other_builds) return {};
  for (const Capability* const other : capabilities)
    if (other->value(build_feature) != capabilities.front()->value(build_feature))
      return fmt::format("ranks of unlike builds do not meet in its calls: {} and {}",
                         capabilities.front()->value(build_feature), other->value(build_feature));
  return {};
}

ParameterOverrides::ParameterOverrides(const std::vector<ParameterOverride>& overrides) {
  for (const auto& item : overrides) seen_.push_back({.item = &item});
}

std::vector<Variant> ParameterOverrides::apply(std::string_view implementation,
                                               std::vector<Variant> variants) {
  for (auto& seen : seen_) {
    const ParameterOverride& item = *seen.item;
    if (!matches_glob(item.pattern, implementation)) continue;
    std::vector<Variant> changed;
    for (auto& variant : variants) {
      for (const auto& parameter : variant.parameters) seen.parameters.insert(parameter.name);
      if (!has(variant, item.parameter)) {
        changed.push_back(std::move(variant));
        continue;
      }
      seen.is_known = true;
      for (const auto& value : item.values) {
        Variant candidate = with(variant, item.parameter, value);
        if (std::ranges::find(changed, candidate) == changed.end())
          changed.push_back(std::move(candidate));
      }
    }
    variants = std::move(changed);
  }
  return variants;
}

void ParameterOverrides::check_all_known() const {
  for (const auto& seen : seen_)
    // If no matching implementation can run here, its parameters are unknown.
    if (!seen.is_known && !seen.parameters.empty())
      throw Error(StatusCode::invalid_argument, "/parameters/" + seen.item->pattern +
                                                    ": unknown parameter '" + seen.item->parameter +
                                                    "'; allowed are " + joined(seen.parameters));
}

}  // namespace colltune
