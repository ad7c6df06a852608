// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The main of tests that run under an MPI launcher: MPI_Init … RUN_ALL_TESTS … MPI_Finalize.

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>

#include "colltune/kernels/mpi_library/mpi_settings.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  colltune::prepare_mpi_environment();
  // Tests share their cores with other tests: a rank that waits gives its core away.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  MPI_Init(&argc, &argv);
  const int result = RUN_ALL_TESTS();
  int worst = result;
  MPI_Allreduce(&result, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
