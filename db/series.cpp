// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/db/series.h"

#include "colltune/json/json.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

std::optional<SeriesLaunch> series_launch_of(const SweepRecord& sweep) {
  if (sweep.purpose != SweepPurpose::choose) return std::nullopt;
  const auto summary = nlohmann::json::parse(sweep.summary, nullptr, false);
  const std::string name(series_launch_name);
  if (!summary.is_object() || !summary.contains(name)) return std::nullopt;
  try {
    return from_json_value<SeriesLaunch>(summary.at(name), "/" + name);
  } catch (const Error& error) {
    throw Error(StatusCode::data_loss, "the summary of sweep " + sweep.uuid + ": " + error.what());
  }
}

}  // namespace colltune
