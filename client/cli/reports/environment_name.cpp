// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "environment_name.h"

#include <algorithm>
#include <map>
#include <set>

#include "colltune/decide/sweep_summary.h"
#include "colltune/vocabulary/series_launch.h"
#include "report_data.h"
#include "text/figures.h"

namespace colltune {
namespace {

/// By digest, the names under which environments were launched.
std::map<std::string, std::set<std::string>> launched_as(std::span<const SweepRecord> sweeps) {
  std::map<std::string, std::set<std::string>> names;
  for (const SweepRecord& sweep : sweeps) {
    if (const auto launch = read_sweep_summary(sweep.summary, sweep.uuid).launch_of)
      names[sweep.environment_digest].insert(launch->environment);
  }
  return names;
}

std::string list_of(std::span<const std::string> digests,
                    const std::map<std::string, std::set<std::string>>& names) {
  std::string text;
  for (const std::string& digest : digests) {
    text += (text.empty() ? "" : ", ") + short_form(digest);
    const auto named = names.find(digest);
    if (named == names.end()) continue;
    for (const std::string& name : named->second) text += " (" + name + ")";
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string environment_named(const std::string& text, std::span<const std::string> digests,
                              std::span<const SweepRecord> sweeps) {
  const auto names = launched_as(sweeps);
  std::set<std::string> found;
  for (const std::string& digest : digests) {
    if (digest == text) return digest;
    const auto named = names.find(digest);
    if (digest.starts_with(text) || (named != names.end() && named->second.contains(text)))
      found.insert(digest);
  }
  if (found.size() == 1) return *found.begin();
  if (found.empty())
    throw Error(StatusCode::not_found,
                "--environment: no decision was measured in an environment '" + text +
                    "'; there are: " + list_of(digests, names));
  const std::vector<std::string> several(found.begin(), found.end());
  throw Error(StatusCode::invalid_argument, "--environment: '" + text + "' may be any of " +
                                                list_of(several, names) + "; give more of it");
}

}  // namespace colltune
