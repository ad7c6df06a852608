// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_scope.h"

#include <fmt/format.h>

#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

std::string only_environment(const DecisionSet& set, const std::vector<const Decision*>& used) {
  std::set<std::string> digests;
  for (const Decision* const decision : used) digests.insert(decision->key.environment_digest);
  if (digests.size() == 1) return *digests.begin();
  std::string all;
  for (const std::string& digest : digests) {
    const Environment* const environment = find_environment(set, digest);
    all +=
        fmt::format("\n  {}  {} {}", digest, environment == nullptr ? "" : environment->mpi_library,
                    environment == nullptr ? "" : environment->nccl_version);
  }
  throw Error(StatusCode::invalid_argument,
              "the decisions are of several environments, and the file is for one; choose it by "
              "--environment:" +
                  all);
}

}  // namespace

ExportScope scope_of(const DecisionSet& set, std::string_view family,
                     const std::function<std::string(const Decision&)>& why_left_out,
                     const std::string& nothing) {
  ExportScope scope;
  for (const Decision& decision : set.decisions) {
    if (decision.family != family) continue;
    if (std::string why = why_left_out(decision); !why.empty())
      scope.left_out.insert(std::move(why));
    else
      scope.decisions.push_back(&decision);
  }
  if (scope.decisions.empty()) {
    std::string text = nothing;
    for (const std::string& one : scope.left_out) text += "\n  left out: " + one;
    throw Error(StatusCode::not_found, text);
  }
  scope.digest = only_environment(set, scope.decisions);
  const Environment* const environment = find_environment(set, scope.digest);
  if (environment == nullptr)
    throw Error(StatusCode::data_loss,
                "the decisions name environment '" + scope.digest + "', which is not there");
  scope.environment = *environment;
  return scope;
}

void require_measured_with(const ExportScope& scope, OpenMpiRelease release,
                           const std::string& consumer) {
  const std::string& library = scope.environment.mpi_library;
  if (open_mpi_release_of(library) == release) return;
  throw Error(
      StatusCode::not_found,
      fmt::format("there is nothing for {} {}: the decisions were measured with {}", consumer,
                  name_of(release), library.empty() ? "no MPI library" : library));
}

std::vector<std::string> origin_lines(const DecisionSet& set, const ExportScope& scope) {
  std::set<std::string> regimes;
  for (const Decision* const decision : scope.decisions)
    regimes.insert(describe(regime_of(decision->key)));
  std::string measured;
  for (const std::string& regime : regimes) measured += (measured.empty() ? "" : "; ") + regime;
  return {fmt::format("colltune {}, generation {} ({}), environment {}", COLLTUNE_VERSION,
                      set.generation.number, set.generation.content_digest, scope.digest),
          "measured with " + measured};
}

}  // namespace colltune
