// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "meeting.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "mpi_handles.h"

namespace colltune {
namespace {

constexpr int arrival_tag = 7001;
constexpr int verdict_tag = 7002;
constexpr std::size_t longest_failure = 240;

/// One message of fixed size in each direction, so that no length has to be exchanged.
struct Report {
  int missing_rank = -1;  ///< in a verdict: the rank that did not come
  int failed_rank = -1;
  int aborted = 0;
  std::array<char, longest_failure + 4> text{};
};

Report make_report(int rank, const std::string& failure) {
  Report report;
  if (failure.empty()) return report;
  report.failed_rank = rank;
  std::memcpy(report.text.data(), failure.data(), std::min(failure.size(), longest_failure));
  return report;
}

bool is_complete(MPI_Request& request) {
  int done = 0;
  check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

/// Tests `request` until it completes; returns false at the deadline or if the abort flag is
/// raised.
bool complete_in_time(MPI_Request& request, Deadline deadline, const AbortFlag& abort_flag) {
  while (!is_complete(request)) {
    if (abort_flag.is_raised() || std::chrono::steady_clock::now() >= deadline) return false;
    ::sched_yield();
  }
  return true;
}

/// Gives up an incomplete request: a receive is cancelled, a send stays with the library.
void give_up(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return;
  PMPI_Cancel(&request);
  PMPI_Request_free(&request);
}

Report collect_on_root(MPI_Comm comm, int ranks, Report verdict, Deadline deadline,
                       const AbortFlag& abort_flag) {
  std::vector<Report> reports(static_cast<std::size_t>(ranks));
  std::vector<MPI_Request> requests(static_cast<std::size_t>(ranks), MPI_REQUEST_NULL);
  for (int r = 1; r < ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    check_mpi(PMPI_Irecv(&reports[i], sizeof(Report), MPI_BYTE, r, arrival_tag, comm, &requests[i]),
              "MPI_Irecv");
  }
  std::vector<bool> came(static_cast<std::size_t>(ranks), true);
  for (int r = 1; r < ranks; ++r) {
    const auto i = static_cast<std::size_t>(r);
    came[i] = complete_in_time(requests[i], deadline, abort_flag);
    if (!came[i]) {
      if (verdict.missing_rank < 0) verdict.missing_rank = r;
      verdict.aborted = abort_flag.is_raised() ? 1 : 0;
      give_up(requests[i]);
    } else if (verdict.failed_rank < 0 && reports[i].failed_rank >= 0) {
      verdict = reports[i];
    }
  }
  for (int r = 1; r < ranks; ++r)
    if (came[static_cast<std::size_t>(r)])
      check_mpi(PMPI_Send(&verdict, sizeof verdict, MPI_BYTE, r, verdict_tag, comm), "MPI_Send");
  return verdict;
}

Report ask_root(MPI_Comm comm, const Report& own, Deadline deadline, const AbortFlag& abort_flag) {
  Report verdict;
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request receive = MPI_REQUEST_NULL;
  check_mpi(PMPI_Irecv(&verdict, sizeof verdict, MPI_BYTE, 0, verdict_tag, comm, &receive),
            "MPI_Irecv");
  check_mpi(PMPI_Isend(&own, sizeof own, MPI_BYTE, 0, arrival_tag, comm, &send), "MPI_Isend");
  // Rank 0 answers at its own deadline with the missing rank; it may have begun later.
  const Deadline later = deadline + std::chrono::milliseconds(500);
  if (complete_in_time(send, later, abort_flag) && complete_in_time(receive, later, abort_flag))
    return verdict;
  give_up(send);
  give_up(receive);
  verdict = {};
  verdict.missing_rank = 0;
  verdict.aborted = abort_flag.is_raised() ? 1 : 0;
  return verdict;
}

}  // namespace

void meet(MPI_Comm comm, Deadline deadline, const AbortFlag& abort_flag, const std::string& failure,
          StatusCode code) {
  int rank = 0;
  int ranks = 0;
  check_mpi(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(PMPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  const Report own = make_report(rank, failure);
  const Report verdict = rank == 0 ? collect_on_root(comm, ranks, own, deadline, abort_flag)
                                   : ask_root(comm, own, deadline, abort_flag);
  if (verdict.missing_rank >= 0)
    throw RankMissing(verdict.missing_rank, "a collective step", verdict.aborted != 0);
  if (verdict.failed_rank >= 0)
    throw Error(code, "rank " + std::to_string(verdict.failed_rank) + ": " + verdict.text.data());
}

}  // namespace colltune
