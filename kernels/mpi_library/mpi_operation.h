// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/kernels/arithmetic/reduction.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/problem_form.h"
#include "mpi_arguments.h"
#include "mpi_handles.h"
#include "mpi_types.h"

namespace colltune {

/// Throws Error(failed_precondition) if there is no MPI behind the communicator.
[[nodiscard]] MPI_Comm comm_behind(const Communicator& communicator);

/// Which buffers a rank passes to MPI; instead of the others MPI expects null or MPI_IN_PLACE.
struct Passed {
  bool send = true;
  bool receive = true;
};

/// What `rank` passes in `call`; sets `with` to what MPI expects instead of the rest.
[[nodiscard]] Passed find_passed(const Call& call, int rank, MpiArguments& with);

/// One of MPI's calls; returns MPI's code.
using MpiFunction = int (*)(const MpiArguments&);

/// The division of a sum after the call; by 0 ranks: none.
struct Average {
  std::size_t elements = 0;
  DataType type = DataType::f32;
  int ranks = 0;

  /// `elements`: of the result.
  static Average of(const Problem& problem, int ranks, bool receives, int elements) {
    if (problem.reduce_op != ReduceOp::avg || !receives) return {};
    return {static_cast<std::size_t>(elements), problem.data_type, ranks};
  }
  void divide(void* sum) const {
    if (ranks > 0) [[unlikely]]
      divide_by_ranks(static_cast<std::byte*>(sum), elements, type, ranks);
  }
};

/// A separate class per MPI function, so that no choice is made while it is timed.
template <MpiFunction function>
class MpiOperation final : public Operation {
 public:
  MpiOperation(std::string_view name, const Communicator& communicator, const Call& call,
               std::unique_ptr<Communicator> keep, const ProgramPlace& place = {})
      : name_(name),
        keep_(std::move(keep)),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        prepared_(call),
        reduction_(call.problem.data_type, call.problem.reduce_op),
        counts_(static_cast<std::size_t>(ranks_)),
        displacements_(static_cast<std::size_t>(ranks_)) {
    check_blocks(call, ranks_);
    prepared_.blocks = {};  // the caller's, who keeps them no longer than this
    with_.comm = comm_behind(communicator);
    with_.place = place;
    use(call);
  }
  void bind(const CallBuffers& buffers) override {
    check_bound_sizes(buffers_, buffers);
    use(buffers);
  }
  void rebind(const Call& call) override {
    check_rebound(prepared_, call, rank_, ranks_);
    if (call.problem.data_type != type_ || call.problem.reduce_op != op_)
      reduction_ = MpiReduction(call.problem.data_type, call.problem.reduce_op);
    use(call);
  }
  void start() override {}
  void wait(Deadline /*deadline*/) override {
    const int code = function(with_);
    if (code != MPI_SUCCESS) [[unlikely]]
      check_mpi(code, name_);
    average_.divide(with_.receive);
  }
  void call_each(std::span<const CallBuffers> bindings, Deadline deadline) override {
    for (const CallBuffers& buffers : bindings) {
      check_bound_sizes(buffers_, buffers);
      pass(buffers);
      MpiOperation::wait(deadline);
    }
  }

 private:
  void use(const Call& call) {
    const Problem& problem = call.problem;
    type_ = problem.data_type;
    op_ = problem.reduce_op;
    with_.count = static_cast<int>(block_elements(problem, ranks_));
    with_.type = mpi_type_of(type_);
    with_.op = reduction_.get();
    with_.root = call.root;
    with_.send = nullptr;
    with_.receive = nullptr;
    passed_ = find_passed(call, rank_, with_);
    use_blocks(call);
    average_ = Average::of(problem, ranks_, passed_.receive, with_.count);
    use(call.buffers);
  }
  /// An operation for unequal counts can be bound to equal ones, too.
  void use_blocks(const Call& call) {
    with_.counts = counts_.data();
    with_.displacements = displacements_.data();
    if (call.blocks.empty()) {
      if (may_have_unequal_counts(call.problem)) std::ranges::fill(counts_, with_.count);
    } else {
      const std::size_t element = size_of(type_);
      for (std::size_t rank = 0; rank < counts_.size(); ++rank)
        counts_[rank] = static_cast<int>(call.blocks[rank] / element);
      with_.count = counts_[static_cast<std::size_t>(rank_)];
    }
    if (prepared_.problem.counts == Counts::equal) return;
    int next = 0;
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
      displacements_[rank] = next;
      next += counts_[rank];
    }
  }
  void use(const CallBuffers& buffers) {
    buffers_ = buffers;
    pass(buffers);
  }
  void pass(const CallBuffers& buffers) {
    if (passed_.send) with_.send = buffers.send.data();
    if (passed_.receive) with_.receive = buffers.receive.data();
  }

  MpiArguments with_{};
  Passed passed_;
  Average average_;
  std::string_view name_;
  std::unique_ptr<Communicator> keep_;
  int rank_;
  int ranks_;
  Call prepared_;
  CallBuffers buffers_;
  DataType type_ = DataType::f32;
  ReduceOp op_ = ReduceOp::none;
  MpiReduction reduction_;
  std::vector<int> counts_;
  std::vector<int> displacements_;
};

}  // namespace colltune
