// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "program_meeting.h"

#include <fmt/format.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/printable.h"

namespace colltune {

void end_program(MPI_Comm comm, const std::string& message) {
  std::fprintf(stderr, "colltune: %s\n", printable(message).c_str());
  std::fflush(stderr);
  const int code = exit_code_of(StatusCode::deadline_exceeded);
  PMPI_Abort(comm, code);
  std::_Exit(code);
}

void meet_in_program(MPI_Comm comm, const char* what) {
  using Clock = std::chrono::steady_clock;
  constexpr auto before_sleep = std::chrono::milliseconds(1);
  constexpr auto between_looks = std::chrono::microseconds(200);
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  if (is_inter != 0)
    throw Error(StatusCode::invalid_argument,
                "the communicator is an intercommunicator; an intracommunicator is needed");
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(comm, &request) != MPI_SUCCESS)
    throw Error(StatusCode::internal, "MPI_Ibarrier failed");
  const auto begin = Clock::now();
  for (int is_done = 0;;) {
    if (PMPI_Test(&request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      throw Error(StatusCode::internal, "MPI_Test failed");
    if (is_done != 0) return;
    const auto waited = Clock::now() - begin;
    if (waited > meeting_limit) {
      int rank = 0;
      PMPI_Comm_rank(comm, &rank);
      end_program(comm, fmt::format("rank {} waited {} s in {} for ranks that did not come to it",
                                    rank, meeting_limit.count(), what));
    }
    // A rank that this waits for may need this core.
    if (waited < before_sleep)
      ::sched_yield();
    else
      std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace colltune
