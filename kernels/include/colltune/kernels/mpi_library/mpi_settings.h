// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace colltune {

/// The user's settings of the MPI library, from any source: the environment, mpirun's command line,
/// a parameter file.
struct MpiSettings {
  /// Values of the control variables that differ from their defaults, by name. If the library does
  /// not tell where a value came from, there is one entry, `all_variables`, with a digest of all
  /// values.
  std::map<std::string, std::string, std::less<>> in_force;
  /// Open MPI's coll_tuned_use_dynamic_rules: the algorithms and the rules file that the user names
  /// take effect. Otherwise they do not.
  bool uses_dynamic_rules = false;
  bool names_rules_file = false;  ///< coll_tuned_dynamic_rules_filename
};
constexpr std::string_view all_variables = "control_variables";

/// Reads the settings through MPI_T. Before MPI_Init, when there must be no threads yet, in a child
/// process: a session of MPI_T that ends there leaves holes in malloc's heap and another threshold
/// for mapped blocks, so that the library's temporary buffers would not be where a program has them.
/// Call it before this program sets any variable. Waits for the child for at most a minute. Throws
/// Error(internal) if MPI_T fails. Only in builds with MPI, like this whole file.
[[nodiscard]] MpiSettings read_mpi_settings();

/// Sets what a process needs in its environment before MPI_Init so that implementations can force
/// algorithms (Open MPI: use_dynamic_rules). Does not touch what the user has set there. A rules
/// file that has no effect without colltune has none with it.
void prepare_mpi_environment(const MpiSettings& user = {});

}  // namespace colltune
