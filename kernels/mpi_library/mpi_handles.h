// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string_view>

namespace colltune {

/// Throws Error(internal) with `call` and the library's own text if `code` is not MPI_SUCCESS.
void check_mpi(int code, std::string_view call);

/// Owns an MPI communicator that returns errors instead of aborting the job. Making one is
/// collective in all cases, and so is destroying it, although no MPI library waits there.
/// Move-only.
class MpiComm {
 public:
  /// The ranks of `parent`, with whatever attributes of it are copied.
  [[nodiscard]] static MpiComm duplicate(MPI_Comm parent);
  /// As `duplicate`, but with Open MPI's `component` of coll before all others, for the collectives
  /// that it has. Other libraries ignore it.
  [[nodiscard]] static MpiComm duplicate_preferring(MPI_Comm parent, const char* component);
  /// The ranks of `parent`, without its attributes.
  [[nodiscard]] static MpiComm of_same_ranks(MPI_Comm parent);
  /// Holds MPI_COMM_NULL for a negative `color`.
  [[nodiscard]] static MpiComm split(MPI_Comm parent, int color, int key);
  /// The ranks of `parent` on this node.
  [[nodiscard]] static MpiComm split_by_node(MPI_Comm parent);

  MpiComm(MpiComm&& other) noexcept;
  MpiComm& operator=(MpiComm&& other) noexcept;
  ~MpiComm();

  [[nodiscard]] const MPI_Comm& get() const { return comm_; }

 private:
  explicit MpiComm(MPI_Comm comm);
  MPI_Comm comm_;
};

}  // namespace colltune
