// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "launch_table.h"

namespace colltune {

/// What of this installation can run decisions in a user's program; empty: not there.
struct Runners {
  std::filesystem::path component_folder;  ///< of mca_coll_colltune.so
  std::filesystem::path nccl_tuner;        ///< libnccl-tuner-colltune.so
  std::filesystem::path preloaded;         ///< libcolltune_mpi.so
  std::filesystem::path recorder_folder;   ///< of mca_coll_colltune_recorder.so
};
/// Beside the program whose path is `program`: as built, or as installed.
[[nodiscard]] Runners find_runners(const std::filesystem::path& program);

/// What a user asks of a launch.
struct LaunchWishes {
  std::string numerics;               ///< COLLTUNE_NUMERICS; empty: as the component has it
  std::string memory;                 ///< COLLTUNE_MEMORY; empty: likewise
  bool reports = true;                ///< rank 0 says at the end what ran
  std::filesystem::path folder;       ///< where the files for the launch are written
  bool is_folder_everywhere = false;  ///< all hosts of the launch see that folder
  bool is_preloaded = false;          ///< libcolltune_mpi.so runs the kernels, not the component
  std::vector<std::string> command;   ///< to see whether several hosts may be meant
};

using Variables = std::vector<std::pair<std::string, std::string>>;
/// Looks a variable of the user's environment up; null: not set.
using FindVariable = std::function<const char*(const char*)>;

/// What makes a launch profit.
struct TunedLaunch {
  Variables variables;                                               ///< to set, in this order
  std::vector<std::pair<std::filesystem::path, std::string>> files;  ///< to write first
  std::vector<std::string> lines;                                    ///< what it does, for a person
};

/// How many hosts the user's environment or command speaks of is not known; whether several may be
/// meant is: a scheduler says so, or an option of mpirun that names hosts.
[[nodiscard]] bool may_have_several_hosts(const std::vector<std::string>& command,
                                          const FindVariable& variable);

/// Whether reductions are to be the library's own: as wished, else as the user's environment says.
/// Throws Error(invalid_argument) for numerics that are none.
[[nodiscard]] bool leaves_sums_to_library(const LaunchWishes& wishes, const FindVariable& variable);

/// The environment of a launch by the facts of `table`. What the user has set himself stays:
/// where he names rules of Open MPI, a tuner of NCCL or a report, none of ours is named. Settings
/// of the component are OMPI_MCA_ variables, which mpirun passes on to all hosts. What the user
/// preloads comes behind libcolltune_mpi.so.
///
/// Throws Error(failed_precondition) if what is to be preloaded is not installed, Error(not_found)
/// if nothing of the table can run anywhere, with the reasons.
[[nodiscard]] TunedLaunch make_tuned_launch(const LaunchTable& table, const Runners& runners,
                                            const LaunchWishes& wishes,
                                            const FindVariable& variable);

/// Makes `launch` write which collectives its programs call to `trace`, in addition. Throws
/// Error(failed_precondition) if this installation cannot.
void add_recording(TunedLaunch& launch, const Runners& runners, const std::filesystem::path& trace,
                   const FindVariable& variable);

/// The variables as a script sets them: `sh` (also of sbatch scripts), or `kubernetes` (entries of
/// a container's `env`). Throws Error(invalid_argument) for another form.
[[nodiscard]] std::string print_variables(const Variables& variables, const std::string& form);

}  // namespace colltune
