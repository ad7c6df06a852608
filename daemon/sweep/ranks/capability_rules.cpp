// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/ranks/capability_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "colltune/vocabulary/error.h"
#include "spec/glob.h"

namespace colltune {
namespace {

constexpr std::string_view tag_prefix = "tag.";
constexpr std::string_view without_prefix = "without.";
constexpr std::string_view implementation_mask = "impl=";

[[noreturn]] void refuse(std::string_view option, std::string_view rule, const std::string& why) {
  throw Error(StatusCode::invalid_argument, fmt::format("{} {}: {}", option, rule, why));
}

/// A rule of `option`, split at its first colon.
struct Rule {
  std::string_view option;
  std::string_view whole;
  std::string_view ranks;
  std::string_view what;
};

Rule cut(std::string_view option, std::string_view rule, std::string_view what) {
  const std::size_t colon = rule.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == rule.size())
    refuse(option, rule,
           fmt::format("is not RANKS:{}; RANKS is *, or numbers and ranges: 0,8-15", what));
  return {option, rule, rule.substr(0, colon), rule.substr(colon + 1)};
}

int parse_rank(const Rule& rule, std::string_view text, int ranks) {
  int rank = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end != text.data() + text.size() || rank < 0)
    refuse(rule.option, rule.whole,
           fmt::format("'{}' is no rank; RANKS is *, or numbers and ranges: 0,8-15", text));
  if (rank >= ranks)
    refuse(rule.option, rule.whole,
           fmt::format("there is no rank {}; the launch has 0 to {}", rank, ranks - 1));
  return rank;
}

/// Parses the whole rule even if its beginning already answers the question, so that a fault is
/// found on every rank.
bool is_about(const Rule& rule, int rank, int ranks) {
  if (rule.ranks == "*") return true;
  bool found = false;
  for (std::size_t at = 0; at <= rule.ranks.size();) {
    const std::size_t comma = std::min(rule.ranks.find(',', at), rule.ranks.size());
    const std::string_view part = rule.ranks.substr(at, comma - at);
    const std::size_t dash = part.find('-');
    const int first = parse_rank(rule, part.substr(0, dash), ranks);
    const int last =
        dash == std::string_view::npos ? first : parse_rank(rule, part.substr(dash + 1), ranks);
    if (last < first)
      refuse(rule.option, rule.whole, fmt::format("the range {} runs backwards", part));
    found = found || (first <= rank && rank <= last);
    at = comma + 1;
  }
  return found;
}

bool is_tag(std::string_view tag) {
  return std::ranges::all_of(tag, [](unsigned char character) {
    return std::isalnum(character) != 0 || character == '_' || character == '-' || character == '.';
  });
}

std::vector<std::string_view> starting_with(std::string_view prefix, const Capability& capability) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : capability.features)
    if (name.starts_with(prefix)) names.push_back(name);
  return names;
}

/// What remains of a device's architecture ("sm_90") without its number: "sm", which no device
/// reports. Empty for any other name.
std::string_view base_of_device(std::string_view architecture) {
  const std::size_t end = architecture.rfind('_');
  return end == std::string_view::npos ? std::string_view() : architecture.substr(0, end);
}

/// Removes the architecture of a rank's device if `mask` names it. No other feature mentions the
/// architecture then.
bool take_architecture(std::string_view mask, Capability& capability) {
  const std::string_view base = base_of_device(capability.architecture);
  if (base.empty() || !matches_glob(mask, capability.architecture)) return false;
  capability.architecture = std::string(base);
  std::erase_if(capability.features,
                [](const auto& feature) { return feature.first.ends_with(".compute_capability"); });
  return true;
}

}  // namespace

void CapabilityRules::append(const CapabilityRules& others) {
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    for (const auto& rule : from)
      if (std::ranges::find(to, rule) == to.end()) to.push_back(rule);
  };
  add(masks, others.masks);
  add(declarations, others.declarations);
  builds_may_differ = builds_may_differ || others.builds_may_differ;
}

std::string describe(const CapabilityRules& rules) {
  std::string text;
  for (const auto& mask : rules.masks) text += (text.empty() ? "mask " : ", mask ") + mask;
  for (const auto& tag : rules.declarations)
    text += (text.empty() ? "declare " : ", declare ") + tag;
  if (rules.builds_may_differ) text += text.empty() ? "unlike builds" : ", unlike builds";
  return text;
}

RankRules rules_of_rank(const CapabilityRules& rules, int rank, int ranks) {
  RankRules own;
  for (const std::string& mask : rules.masks) {
    const Rule rule = cut("--mask", mask, "FEATURE");
    if (rule.what == implementation_mask)
      refuse(rule.option, rule.whole,
             "names no implementation; impl=cpu.* masks all whose name "
             "begins with cpu.");
    if (is_about(rule, rank, ranks)) own.masks.emplace_back(rule.what);
  }
  for (const std::string& declaration : rules.declarations) {
    const Rule rule = cut("--declare", declaration, "TAG");
    if (!is_tag(rule.what))
      refuse(rule.option, rule.whole,
             fmt::format("'{}' is no tag: letters, digits, '_', '-' and '.' make one", rule.what));
    if (is_about(rule, rank, ranks)) own.tags.emplace_back(rule.what);
  }
  return own;
}

void check_implementation_masks(const CapabilityRules& rules, const Implementations& catalogue) {
  for (const std::string& mask : rules.masks) {
    const Rule rule = cut("--mask", mask, "FEATURE");
    if (!rule.what.starts_with(implementation_mask)) continue;
    std::string_view glob = rule.what.substr(implementation_mask.size());
    glob = glob.substr(0, glob.find('{'));
    if (std::ranges::none_of(catalogue, [&](const auto& implementation) {
          return matches_glob(glob, implementation->name());
        }))
      refuse(rule.option, rule.whole,
             "no implementation's name matches; the plan of a sweep "
             "(--dry-run) names them");
  }
}

std::vector<std::string> masked_isas(const RankRules& rules,
                                     std::span<const std::string> isa_names) {
  std::vector<std::string> isas;
  for (const std::string& mask : rules.masks)
    if (std::ranges::any_of(isa_names, [&](const auto& name) { return name.starts_with(mask); }))
      isas.push_back(mask);
  return isas;
}

Capability apply(const RankRules& rules, std::span<const std::string> isas, Capability detected) {
  const bool is_on_device = detected.is_on_device();
  const std::string architecture = detected.architecture;
  for (const std::string& mask : rules.masks) {
    if (std::ranges::find(isas, mask) != isas.end()) continue;
    if (mask.starts_with(implementation_mask)) {
      detected.features[std::string(without_prefix) + mask.substr(implementation_mask.size())] = "";
      continue;
    }
    const bool was_its_architecture = is_on_device && take_architecture(mask, detected);
    const std::size_t removed = std::erase_if(
        detected.features, [&](const auto& feature) { return matches_glob(mask, feature.first); });
    if (removed == 0 && !was_its_architecture) {
      std::vector<std::string_view> names;
      for (const auto& [name, value] : detected.features) names.push_back(name);
      throw Error(StatusCode::invalid_argument,
                  fmt::format("--mask {}: the rank is {} and has no such feature; it has {}, and "
                              "implementations (impl=GLOB)",
                              mask, architecture, fmt::join(names, ", ")));
    }
  }
  for (const std::string& tag : rules.tags) detected.features[std::string(tag_prefix) + tag] = "";
  return detected;
}

std::string_view masked_by(const Capability& capability, const Variant& variant) {
  for (const std::string_view feature : starting_with(without_prefix, capability)) {
    const std::string_view glob = feature.substr(without_prefix.size());
    if (matches_glob(glob, variant.implementation) || matches_glob(glob, to_string(variant)))
      return glob;
  }
  return {};
}

std::string distinctions_of(const Capability& capability) {
  std::string text;
  for (const std::string_view prefix : {tag_prefix, without_prefix})
    for (const std::string_view feature : starting_with(prefix, capability))
      text.append("+").append(feature);
  return text;
}

}  // namespace colltune
