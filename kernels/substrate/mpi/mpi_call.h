// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"
#include "mpi/mpi_types.h"

namespace colltune {

/// Which of MPI's calls stands for a reduce_scatter: the block form, or the one with a count per
/// rank, whose algorithms are others.
enum class ReduceScatterCall { block, counts };

/// One blocking MPI collective with all its arguments bound.
class MpiCall {
 public:
  /// Over the MPI communicator behind `communicator`, which outlives this object. Throws
  /// Error(failed_precondition) where there is none.
  MpiCall(const Communicator& communicator, const Call& call,
          ReduceScatterCall form = ReduceScatterCall::block);

  /// Makes the call; of an avg also the division, which MPI leaves to its user.
  /// Blocks without bound. Throws Error with the library's text.
  void run();

 private:
  void run_all_reduce();
  void run_all_gather();
  void run_reduce_scatter();
  void run_broadcast();
  void run_reduce();
  void run_all_to_all();
  void run_gather();
  void run_scatter();
  void finish_average();

  MPI_Comm comm_;
  int rank_;
  int ranks_;
  Call call_;
  ReduceScatterCall form_;
  int count_;
  MPI_Datatype type_;
  MpiReduction reduction_;
  std::vector<int> counts_;  ///< of MPI_Reduce_scatter
};

/// `call` as an operation: `start` does nothing, `wait` makes the blocking call. `keep` is what has
/// to live as long.
[[nodiscard]] std::unique_ptr<Operation> make_mpi_operation(const Communicator& communicator,
                                                            const Call& call,
                                                            ReduceScatterCall form,
                                                            std::unique_ptr<Communicator> keep);

// What the implementations over MPI's blocking calls answer alike.

[[nodiscard]] Support supports_mpi_call(const Problem& problem, const Topology& topology,
                                        const Capability& capability, Collective collective);
[[nodiscard]] Numerics numerics_of_mpi_call(const Problem& problem);
[[nodiscard]] bool is_emulated_mpi_call(const Problem& problem);
/// Adds "mpi.library" where `communicator` has MPI behind it.
void detect_mpi_library(const Communicator& communicator, Capability& capability);

}  // namespace colltune
