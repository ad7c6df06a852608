// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace colltune {

/// How the ranks of a communicator tell each other what they must know before the first call. All
/// calls are collective, and wait as long as it takes. Not thread-safe.
class Agreement {
 public:
  virtual ~Agreement() = default;
  /// Each rank's `own` text, by rank.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& own) = 0;
  /// Rank 0's `text`.
  [[nodiscard]] virtual std::string share(std::string text) = 0;
};

/// By the library's own collectives; `comm` points to an MPI_Comm of ours, which outlives this.
/// Only in builds with MPI.
[[nodiscard]] std::unique_ptr<Agreement> make_mpi_agreement(const void* comm);

}  // namespace colltune
