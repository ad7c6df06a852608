// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <mpi.h>

#include "colltune/kernels/mpi_communicator.h"

// main of the tests that run under a launcher: every rank runs all tests; a failure on any rank
// fails the program.
int main(int argc, char** argv) {
  colltune::prepare_mpi_environment();
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  ::testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  // One report is enough where all is well; a failing rank still prints its failures.
  if (rank != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    class FailuresOnly : public ::testing::EmptyTestEventListener {
      void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (result.failed())
          std::fprintf(stderr, "%s:%d: %s\n",
                       result.file_name() != nullptr ? result.file_name() : "?",
                       result.line_number(), result.message());
      }
    };
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
