// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "colltune/collectives/agreed_choices.h"
#include "colltune/collectives/executor.h"
#include "colltune/collectives/program_settings.h"

namespace colltune {

/// What came of a set-up.
struct SetUp {
  std::unique_ptr<Executor> executor;  ///< null on all ranks if nothing of ours would run
  int rank = 0;                        ///< this one's number in the communicator
  std::vector<std::string> lines;      ///< what the user should know; the same on all ranks
};

/// Collective: rank 0 of `comm` reads the table and decides for all. Waits as the library does.
/// Throws Error on all ranks or none.
[[nodiscard]] SetUp set_up(MPI_Comm comm, AbortFlag& abort_flag, const ProgramSettings& settings,
                           const Implementations& catalogue, ChoiceCache& cache);

}  // namespace colltune
