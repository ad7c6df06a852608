// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "levels.h"

#include <algorithm>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::string word_of(const ScheduledAlgorithm& algorithm, const Variant& settings) {
  std::string text =
      algorithm.name.substr(std::string("cpu.").size() + name_of(algorithm.collective).size() + 1);
  for (const Parameter& parameter : settings.parameters) text += '_' + to_string(parameter.value);
  return text;
}

std::vector<Variant> settings_of(const ScheduledAlgorithm& algorithm, bool across) {
  std::vector<Variant> settings{{algorithm.name, {}}};
  for (const ParameterChoices& parameter : algorithm.parameters) {
    std::vector<Variant> more;
    const bool is_one = across && parameter.name == flow_choices().name;
    for (const Variant& variant : settings)
      for (const ParameterValue& setting : parameter.settings) {
        if (is_one && setting != parameter.settings.front()) continue;
        more.push_back(variant);
        more.back().parameters.push_back({parameter.name, setting});
      }
    settings = std::move(more);
  }
  return settings;
}

}  // namespace

Levels levels_for(const Implementations& all, Collective collective, bool across) {
  std::vector<Level> levels;
  for (const auto& implementation : all) {
    const ScheduledAlgorithm* const algorithm = scheduled_algorithm_of(*implementation);
    if (algorithm == nullptr || algorithm->collective != collective || algorithm->groups_by)
      continue;
    for (Variant& variant : settings_of(*algorithm, across))
      levels.push_back({word_of(*algorithm, variant), *algorithm, std::move(variant)});
  }
  return std::make_shared<const std::vector<Level>>(std::move(levels));
}

Variant variant_of(const Level& level) {
  Variant variant = level.settings;
  for (const Parameter& parameter : common_parameters()) variant.parameters.push_back(parameter);
  std::ranges::sort(variant.parameters);
  return variant;
}

ParameterChoices choices_of(const std::string& name, const Levels& levels) {
  ParameterChoices parameter{name, {}};
  for (const Level& level : *levels) parameter.settings.emplace_back(level.word);
  return parameter;
}

const Level& level_of(const Levels& levels, const Variant& variant, std::string_view parameter) {
  const std::string chosen = word(variant, parameter);
  const auto found = std::ranges::find(*levels, chosen, &Level::word);
  if (found == levels->end())
    throw Error(StatusCode::internal, "no level of " + variant.implementation + " is " + chosen);
  return *found;
}

int LevelWriter::pieces(const Level& level, int ranks) {
  if (!level.algorithm.shares) return 1;
  return level.algorithm.shares({.collective = level.algorithm.collective, .ranks = ranks},
                                level.settings);
}

void LevelWriter::write(std::vector<int> ranks, Blocks inputs, Blocks outputs, int root) const {
  const auto count = static_cast<int>(ranks.size());
  const ScheduleWriter::SubCall sub_call{.ranks = std::move(ranks),
                                         .shape = {.collective = level_.algorithm.collective,
                                                   .ranks = count,
                                                   .root = root,
                                                   .shares = pieces(level_, count),
                                                   .in_place = inputs == outputs,
                                                   .access = writer_.shape().access,
                                                   .slots = writer_.shape().slots,
                                                   .nodes = {},
                                                   .groups = {}},
                                         .inputs = std::move(inputs),
                                         .outputs = std::move(outputs),
                                         .is_last = is_last_};
  writer_.write_sub_call(sub_call, [this](ScheduleWriter& inner) {
    level_.algorithm.write_wave(inner, level_.settings);
  });
}

}  // namespace colltune
