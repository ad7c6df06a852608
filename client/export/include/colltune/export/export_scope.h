// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "colltune/apply/open_mpi_algorithms.h"
#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// The decisions that a file for another library is made of: of the family that it runs, and of one
/// environment.
struct ExportScope {
  std::vector<const Decision*> decisions;  ///< never empty
  std::string digest;                      ///< of their environment
  Environment environment;
  std::set<std::string> left_out;  ///< why other decisions of the family have no place in the file
};

/// `why_left_out` is empty for decisions that the file can hold. Throws Error(not_found) that
/// begins with `nothing` if no decision is left, Error(invalid_argument) if several environments
/// are, and Error(data_loss) if the environment is not there. The scope points into `set`.
[[nodiscard]] ExportScope scope_of(const DecisionSet& set, std::string_view family,
                                   const std::function<std::string(const Decision&)>& why_left_out,
                                   const std::string& nothing);

/// Throws Error(not_found) unless the decisions were measured with that very release of Open MPI:
/// what another one does was not measured. `consumer` is what reads the file, for the message.
void require_measured_with(const ExportScope& scope, OpenMpiRelease release,
                           const std::string& consumer);

/// What a file says about where it is from: the version of colltune, generation, digest,
/// environment and regime.
[[nodiscard]] std::vector<std::string> origin_lines(const DecisionSet& set,
                                                    const ExportScope& scope);

}  // namespace colltune
