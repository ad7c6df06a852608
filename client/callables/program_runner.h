// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "colltune/collectives/meanwhile.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"
#include "colltune/sweep/ranks/availability.h"
#include "refused_calls.h"
#include "sought_call.h"

namespace colltune {

/// Runs one variant of this library's catalogue for one call of a program, again and again, as a
/// sweep in the program measures it: on a communicator of the same kind, prepared in the same way,
/// and bound to the caller's buffers in every call. What differs: while it waits, the program's MPI
/// goes on. Not thread-safe.
class ProgramRunner final {
 public:
  /// Collective over `comm`, which outlives the calls of `prepare`. Throws the same Error on all
  /// ranks: (invalid_argument) if one asks for a wrong call, (failed_precondition) if they ask for
  /// unlike calls or run unlike builds, or what keeps one from telling what it can do.
  ProgramRunner(MPI_Comm comm, const std::string& call);
  /// Local: waits for no other rank.
  ~ProgramRunner();
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  /// Why not all ranks can run `variant`, for a person; empty if they can. Local, and the same on
  /// all ranks.
  [[nodiscard]] std::string why_not(const std::string& variant) const;
  /// Prepares `variant`, instead of what was prepared before. Collective; throws the same Error on
  /// all ranks if one cannot, and another variant may be prepared then.
  void prepare(const std::string& variant);
  /// One call. All ranks make it; `buffers` are this rank's alone. Waits at most
  /// `usual_longest_wait` for other ranks, in the MPI library's own calls without a bound. Throws
  /// Error(invalid_argument) if the buffers are not of the call's sizes or overlap, before anything
  /// is started (as `refuse`); Error(aborted) if another rank of the node refused the call, in
  /// which case no rank makes a further one; Error(failed_precondition) if nothing is prepared or
  /// an earlier call failed.
  void run(const CallBuffers& buffers);
  /// The same call again, with the buffers of the last one, which must still be valid. Throws as
  /// `run`.
  void repeat();
  /// This rank cannot make its next call, since its buffers are wrong. If all ranks refuse it, they
  /// go on to the next one; else the call fails on all ranks of the node: on those that wait in it,
  /// and on this one when it makes its next call. Where the MPI library's own call is prepared,
  /// nobody is told. Throws as `run`.
  void refuse();

 private:
  void require_prepared() const;
  /// Waits until the other ranks have refused what this rank refused. Throws Error(aborted) if one
  /// did not.
  void settle();
  void give_up(const std::string& why);
  void call();
  void check_buffers(const CallBuffers& buffers) const;
  [[nodiscard]] const Implementation& find(const Variant& variant) const;

  MPI_Comm comm_;
  SoughtCall call_;
  Implementations catalogue_;
  Meanwhile meanwhile_;
  AbortFlag abort_flag_;
  std::unique_ptr<Communicator> ranks_;  ///< that no implementation sees
  Availability availability_;
  Topology topology_;
  std::unique_ptr<RefusedCalls> refused_;       ///< null where others cannot be told
  std::uint64_t turns_ = 0;                     ///< of waits, over all calls
  std::unique_ptr<Communicator> operations_;    ///< of what is prepared
  std::unique_ptr<std::byte[]> first_buffers_;  ///< what it is prepared for, until its first call
  std::unique_ptr<Operation> operation_;
  std::size_t alignment_ = 1;
  CallBuffers last_{};  ///< of the last call
  bool has_run_ = false;
  std::string failure_;  ///< of an earlier call
};

}  // namespace colltune
