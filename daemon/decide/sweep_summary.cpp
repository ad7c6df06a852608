// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/sweep_summary.h"

#include <set>

#include "colltune/json/json.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

std::string to_text(const SweepSummary& summary) { return to_json_value(summary).dump(); }

SweepSummary read_sweep_summary(std::string_view text, const std::string& sweep_uuid) {
  if (text.empty()) return {};
  const std::string what = "the summary of sweep " + sweep_uuid;
  const auto stored = nlohmann::json::parse(text, nullptr, false);
  if (!stored.is_object()) throw Error(StatusCode::data_loss, what + " is no JSON object");
  auto known = nlohmann::json::object();
  SweepSummary summary;
  visit_fields(summary, [&](std::string_view name, const auto&) {
    if (const auto member = stored.find(name); member != stored.end())
      known[std::string(name)] = *member;
  });
  try {
    return from_json_value<SweepSummary>(known, "");
  } catch (const Error& error) {
    throw Error(StatusCode::data_loss, what + ": " + error.what());
  }
}

}  // namespace colltune
