// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "colltune/apply/settings.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {
namespace {

/// What a row is made of.
struct Row {
  const DecisionSet& set;
  const Decision& decision;
  std::size_t rank;
  const ApplySettings& apply;

  [[nodiscard]] const Problem& problem() const { return decision.key.problem; }
  [[nodiscard]] const Topology& topology() const { return decision.key.topology; }
  [[nodiscard]] const RankedVariant& ranked() const { return decision.ranked[rank]; }
};

struct Column {
  std::string_view name;
  std::string (*text)(const Row&);
};

std::string yes_or_no(bool is) { return is ? "true" : "false"; }

std::string joined(std::span<const std::string> texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " ") + text;
  return all;
}

/// In the order of the file: the fields of configs/export.schema.json, by the same names.
constexpr Column columns[] = {
    {"generation", [](const Row& row) { return std::to_string(row.set.generation.number); }},
    {"content_digest", [](const Row& row) { return row.set.generation.content_digest; }},
    {"environment_digest", [](const Row& row) { return row.decision.key.environment_digest; }},
    {"nodes", [](const Row& row) { return std::to_string(row.topology().nodes); }},
    {"ranks_per_node",
     [](const Row& row) { return std::to_string(row.topology().ranks_per_node); }},
    {"ranks", [](const Row& row) { return std::to_string(row.topology().ranks); }},
    {"architecture", [](const Row& row) { return architecture_name(row.topology()); }},
    {"layout_digest", [](const Row& row) { return row.topology().layout_digest; }},
    {"interconnect", [](const Row& row) { return row.topology().interconnect; }},
    {"placement", [](const Row& row) { return std::string(name_of(row.topology().placement)); }},
    {"calling", [](const Row& row) { return std::string(name_of(row.decision.key.calling)); }},
    {"input", [](const Row& row) { return std::string(name_of(row.decision.key.input)); }},
    {"kind", [](const Row& row) { return std::string(name_of(row.problem().kind)); }},
    {"collective", [](const Row& row) { return std::string(name_of(row.problem().collective)); }},
    {"mesh_shape",
     [](const Row& row) {
       return row.problem().mesh ? shape_text(*row.problem().mesh) : std::string();
     }},
    {"mesh_steps",
     [](const Row& row) {
       return row.problem().mesh ? steps_text(*row.problem().mesh) : std::string();
     }},
    {"data_type", [](const Row& row) { return std::string(name_of(row.problem().data_type)); }},
    {"reduce_op", [](const Row& row) { return std::string(name_of(row.problem().reduce_op)); }},
    {"message_size_bytes",
     [](const Row& row) { return std::to_string(row.problem().message_size.value); }},
    {"in_place", [](const Row& row) { return yes_or_no(row.problem().in_place); }},
    {"registered", [](const Row& row) { return yes_or_no(row.problem().registered); }},
    {"graph_capture", [](const Row& row) { return yes_or_no(row.problem().graph_capture); }},
    {"numeric_class",
     [](const Row& row) { return std::string(name_of(row.problem().numeric_class)); }},
    {"counts", [](const Row& row) { return std::string(name_of(row.problem().counts)); }},
    {"family", [](const Row& row) { return row.decision.family; }},
    {"verdict", [](const Row& row) { return std::string(name_of(row.decision.verdict)); }},
    {"status", [](const Row& row) { return std::string(name_of(row.decision.status)); }},
    {"rank", [](const Row& row) { return std::to_string(row.rank + 1); }},
    {"variant", [](const Row& row) { return to_string(row.ranked().variant); }},
    {"variant_family", [](const Row& row) { return row.ranked().family; }},
    {"is_baseline", [](const Row& row) { return yes_or_no(row.ranked().is_baseline); }},
    {"is_emulated", [](const Row& row) { return yes_or_no(row.ranked().is_emulated); }},
    {"median_ns", [](const Row& row) { return std::to_string(row.ranked().median.count()); }},
    {"low_ns", [](const Row& row) { return std::to_string(row.ranked().low.count()); }},
    {"high_ns", [](const Row& row) { return std::to_string(row.ranked().high.count()); }},
    {"speedup_over_baseline",
     [](const Row& row) { return fmt::format("{}", row.ranked().speedup_over_baseline); }},
    {"samples", [](const Row& row) { return std::to_string(row.ranked().samples); }},
    {"verified_calls", [](const Row& row) { return std::to_string(row.ranked().verified_calls); }},
    {"rounding", [](const Row& row) { return std::string(name_of(row.ranked().rounding)); }},
    {"apply_by", [](const Row& row) { return std::string(name_of(row.apply.by)); }},
    {"apply_variables", [](const Row& row) { return joined(row.apply.variables); }},
    {"apply_how", [](const Row& row) { return row.apply.how; }},
    {"sweep_uuid", [](const Row& row) { return row.decision.sweep_uuid; }},
};

void append_field(std::string& text, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    text += field;
    return;
  }
  text += '"';
  for (const char letter : field) {
    if (letter == '"') text += '"';
    text += letter;
  }
  text += '"';
}

}  // namespace

std::string export_csv(const DecisionSet& set) {
  if (set.decisions.empty()) throw Error(StatusCode::not_found, "there is no decision to write");
  std::vector<const Decision*> ordered;
  for (const Decision& decision : set.decisions) ordered.push_back(&decision);
  std::ranges::sort(ordered, [](const Decision* one, const Decision* other) {
    return std::tie(one->key, one->family) < std::tie(other->key, other->family);
  });
  std::string text;
  const auto append_row = [&](auto&& field_of) {
    std::string_view separator;
    for (const Column& column : columns) {
      text += separator;
      append_field(text, field_of(column));
      separator = ",";
    }
    text += '\n';
  };
  append_row([](const Column& column) { return std::string(column.name); });
  for (const Decision* const decision : ordered) {
    const auto apply =
        settings_to_apply(*decision, find_environment(set, decision->key.environment_digest));
    for (std::size_t rank = 0; rank < decision->ranked.size(); ++rank)
      append_row([&](const Column& column) {
        return column.text({set, *decision, rank, apply[rank]});
      });
  }
  return text;
}

}  // namespace colltune
