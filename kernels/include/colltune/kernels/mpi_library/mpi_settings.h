// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace colltune {

/// What the user set of the MPI library, wherever: in the environment, on mpirun's command line, in
/// a file of parameters.
struct MpiSettings {
  /// Control variables that do not have their default, by name, and their values in force. A
  /// library that does not tell where a value came from has one entry, `all_variables`, with a
  /// digest of all.
  std::map<std::string, std::string, std::less<>> in_force;
  /// Open MPI's coll_tuned_use_dynamic_rules: the algorithms and the file of rules that the user
  /// names are in force. Else they are inert.
  bool uses_dynamic_rules = false;
  bool names_rules_file = false;  ///< coll_tuned_dynamic_rules_filename
};
constexpr std::string_view all_variables = "control_variables";

/// Reads the settings through MPI_T. Before MPI_Init and before this program sets any itself.
/// Throws Error(internal) where MPI_T fails. Only in builds with MPI, as all of this file.
[[nodiscard]] MpiSettings read_mpi_settings();

/// What must stand in the environment of a process before MPI_Init so that implementations can
/// force algorithms (Open MPI: use_dynamic_rules). Leaves alone what the user has set there. A file
/// of rules that is inert without us stays so.
void prepare_mpi_environment(const MpiSettings& user = {});

}  // namespace colltune
