// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// How long a word may take.
struct WordBound {
  Deadline deadline;
  const AbortFlag& abort_flag;
};

/// Sends one word to rank `to` of `comm`, or receives one from rank `from`. Both throw RankMissing
/// at the deadline or if the abort flag is raised.
void send_word(MPI_Comm comm, int to, std::int64_t word, const WordBound& bound);
[[nodiscard]] std::int64_t receive_word(MPI_Comm comm, int from, const WordBound& bound);

}  // namespace colltune
