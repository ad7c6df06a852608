// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "word_exchange.h"

#include <memory>
#include <string_view>
#include <utility>

#include "colltune/machine/keep_for_good.h"
#include "mpi_handles.h"

namespace colltune {
namespace {

constexpr int word_tag = 7003;  // distinct from those of meeting.cpp

/// Tests without yielding the core, since the time of flight of a word is what is measured.
void complete(MPI_Request& request, int other, std::string_view what, const WordBound& bound) {
  constexpr unsigned tests_between_clock_reads = 64;
  for (unsigned tests = 1;; ++tests) {
    int done = 0;
    check_mpi(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    const bool is_aborted = bound.abort_flag.is_raised();
    if (!is_aborted && (tests % tests_between_clock_reads != 0 ||
                        std::chrono::steady_clock::now() < bound.deadline))
      continue;
    PMPI_Cancel(&request);
    PMPI_Request_free(&request);
    throw RankMissing(other, std::string(what), is_aborted);
  }
}

}  // namespace

void send_word(MPI_Comm comm, int to, std::int64_t word, const WordBound& bound) {
  // A send that is given up stays with the library, so the word must outlive this call.
  auto kept = std::make_unique<std::int64_t>(word);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(PMPI_Isend(kept.get(), 1, MPI_INT64_T, to, word_tag, comm, &request), "MPI_Isend");
  try {
    complete(request, to, "a word to be taken", bound);
  } catch (...) {
    keep_for_good(std::move(kept));
    throw;
  }
}

std::int64_t receive_word(MPI_Comm comm, int from, const WordBound& bound) {
  auto word = std::make_unique<std::int64_t>(0);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(PMPI_Irecv(word.get(), 1, MPI_INT64_T, from, word_tag, comm, &request), "MPI_Irecv");
  try {
    complete(request, from, "a word", bound);
  } catch (...) {
    keep_for_good(std::move(word));
    throw;
  }
  return *word;
}

}  // namespace colltune
