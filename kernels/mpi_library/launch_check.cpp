// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_check.h"

#include <charconv>
#include <cstring>

namespace colltune {
namespace {

int number_in(const EnvironmentReader& environment, const char* name) {
  const char* text = environment(name);
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

}  // namespace

std::string why_separate_worlds(int world_size, const EnvironmentReader& environment) {
  if (world_size != 1) return {};
  // Each launcher's own count first. Slurm's is checked last: the daemons of Open MPI and MPICH are
  // themselves Slurm steps with one task per node, while a plain allocation (salloc) has no step at
  // all.
  const bool is_step = environment("SLURM_STEP_ID") != nullptr;
  const auto is_set = [&](const char* name) { return environment(name) != nullptr; };
  const char* source = is_set("OMPI_COMM_WORLD_SIZE")              ? "OMPI_COMM_WORLD_SIZE"
                       : is_set("PMI_SIZE")                        ? "PMI_SIZE"
                       : is_step && is_set("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS"
                       : is_step                                   ? "SLURM_NTASKS"
                                                                   : nullptr;
  if (source == nullptr) return {};
  const int launched = number_in(environment, source);
  if (launched <= 1) return {};
  return "the launcher started " + std::to_string(launched) + " ranks (" + source +
         "), but MPI made a separate world of 1 of each: launcher and MPI library do not fit. Use "
         "the mpirun of the library that this program is linked with (here: Open MPI's "
         "mpirun.openmpi), or srun with its plug-in (srun --mpi=pmix for Open MPI, --mpi=pmi2 for "
         "MPICH)";
}

}  // namespace colltune
