// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "called_from_mpi.h"

#include <fmt/format.h>
#include <mpi.h>

#include <cstddef>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/kernels/execution/call_blocks.h"
#include "colltune/kernels/execution/called_as_in_programs.h"
#include "colltune/kernels/program_calls/program_executor.h"
#include "mpi_operation.h"
#include "program_calls/program_translation.h"

namespace colltune {
namespace {

/// MPI's calls as a program makes them where a kernel of ours runs: programs of Open MPI reach it
/// through their library's function, here without elements, and the component's translation; those
/// of others by a preloaded library's translation alone.
namespace in_programs {

#ifdef OPEN_MPI
#define COLLTUNE_ENTER(call)                                     \
  do {                                                           \
    if (const int code = call; code != MPI_SUCCESS) [[unlikely]] \
      return code;                                               \
  } while (false)
#else
#define COLLTUNE_ENTER(call)
#endif

int all_reduce(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Allreduce(with.send, with.receive, 0, with.type, with.op, with.comm));
  return colltune_program_allreduce(with.place.rank, with.send, with.receive, with.count, with.type,
                                    with.op);
}
int all_gather(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Allgather(with.send, 0, with.type, with.receive, 0, with.type, with.comm));
  return colltune_program_allgather(with.place.rank, with.send, with.receive, with.count,
                                    with.type);
}
int all_gather_of_counts(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Allgatherv(with.send, 0, with.type, with.receive, with.place.no_counts,
                                 with.displacements, with.type, with.comm));
  return colltune_program_allgatherv(with.place.rank, with.send, with.count, with.receive,
                                     with.counts, with.displacements, with.type);
}
int reduce_scatter_by_counts(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Reduce_scatter(with.send, with.receive, with.place.no_counts, with.type,
                                     with.op, with.comm));
  return colltune_program_reduce_scatter(with.place.rank, with.send, with.receive, with.counts,
                                         with.type, with.op);
}
int reduce_scatter_of_blocks(const MpiArguments& with) {
  COLLTUNE_ENTER(
      PMPI_Reduce_scatter_block(with.send, with.receive, 0, with.type, with.op, with.comm));
  return colltune_program_reduce_scatter_block(with.place.rank, with.send, with.receive, with.count,
                                               with.type, with.op);
}
int broadcast(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Bcast(with.receive, 0, with.type, with.root, with.comm));
  return colltune_program_bcast(with.place.rank, with.receive, with.count, with.type, with.root);
}
int reduce(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Reduce(with.send, with.receive, 0, with.type, with.op, with.root, with.comm));
  return colltune_program_reduce(with.place.rank, with.send, with.receive, with.count, with.type,
                                 with.op, with.root);
}
int all_to_all(const MpiArguments& with) {
  COLLTUNE_ENTER(PMPI_Alltoall(with.send, 0, with.type, with.receive, 0, with.type, with.comm));
  return colltune_program_alltoall(with.place.rank, with.send, with.receive, with.count, with.type);
}
int gather(const MpiArguments& with) {
  COLLTUNE_ENTER(
      PMPI_Gather(with.send, 0, with.type, with.receive, 0, with.type, with.root, with.comm));
  return colltune_program_gather(with.place.rank, with.send, with.receive, with.count, with.type,
                                 with.root);
}
int scatter(const MpiArguments& with) {
  COLLTUNE_ENTER(
      PMPI_Scatter(with.send, 0, with.type, with.receive, 0, with.type, with.root, with.comm));
  return colltune_program_scatter(with.place.rank, with.send, with.receive, with.count, with.type,
                                  with.root);
}

#undef COLLTUNE_ENTER

}  // namespace in_programs

/// Calls of a kernel behind MPI's function and the component's translation.
class CalledFromMpi final : public CalledAsInPrograms {
 public:
  CalledFromMpi(std::unique_ptr<Operation> prepared, const Call& call,
                const Communicator& communicator)
      : CalledAsInPrograms(std::move(prepared), call),
        executor_(*this),
        no_counts_(static_cast<std::size_t>(communicator.size())),
        place_{.executor = &executor_,
               .comm = comm_behind(communicator),
               .ranks = communicator.size(),
               .rank = communicator.rank(),
               .error = MPI_SUCCESS},
        translated_(make_translated(communicator, call)) {
    blocks_.reserve(static_cast<std::size_t>(communicator.size()));
  }

  void bind(const CallBuffers& buffers) override { translated_->bind(buffers); }
  void start() override {}
  void wait(Deadline deadline) override {
    deadline_ = deadline;
    with_failures([&] { translated_->wait(deadline); });
  }
  void call_each(std::span<const CallBuffers> bindings, Deadline deadline) override {
    deadline_ = deadline;
    with_failures([&] { translated_->call_each(bindings, deadline); });
  }

 private:
  struct Executor : colltune_executor {
    explicit Executor(CalledFromMpi& of) : colltune_executor{}, self(of) {
      functions = &call_functions;
    }
    CalledFromMpi& self;
  };
  static CalledFromMpi& self_of(const colltune_executor* executor) {
    return static_cast<const Executor*>(executor)->self;
  }

  /// No exception passes the translation, which is in C: it waits in `failure_`.
  template <class Body>
  void with_failures(const Body& body) {
    try {
      body();
    } catch (...) {
      if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
      throw;
    }
  }

  std::unique_ptr<Operation> make_translated(const Communicator& communicator, const Call& call) {
    const auto make = [&]<MpiFunction function>() -> std::unique_ptr<Operation> {
      return std::make_unique<MpiOperation<function>>(
          "a call of a program", communicator, call, nullptr,
          ProgramPlace{.rank = &place_, .no_counts = no_counts_.data()});
    };
    const bool is_equal = call.problem.counts == Counts::equal;
    switch (call.problem.collective) {
      case Collective::all_reduce:
        return make.template operator()<in_programs::all_reduce>();
      case Collective::all_gather:
        return is_equal ? make.template operator()<in_programs::all_gather>()
                        : make.template operator()<in_programs::all_gather_of_counts>();
      case Collective::reduce_scatter:
        return is_equal ? make.template operator()<in_programs::reduce_scatter_of_blocks>()
                        : make.template operator()<in_programs::reduce_scatter_by_counts>();
      case Collective::broadcast:
        return make.template operator()<in_programs::broadcast>();
      case Collective::reduce:
        return make.template operator()<in_programs::reduce>();
      case Collective::all_to_all:
        return make.template operator()<in_programs::all_to_all>();
      case Collective::gather:
        return make.template operator()<in_programs::gather>();
      case Collective::scatter:
        return make.template operator()<in_programs::scatter>();
    }
    throw Error(StatusCode::internal, "there is no such collective");
  }

  // What the translation calls; the bridge's functions do as much.

  unsigned begin_of(colltune_collective collective, int root, std::size_t message, Counts counts) {
    const ProgramCall& own = program_call();
    call_ = {.collective = static_cast<Collective>(collective),
             .data_type = own.data_type,
             .reduce_op = own.reduce_op,
             .root = root,
             .message_size = {message},
             .counts = counts};
    return begin(call_);
  }
  static unsigned begin_move(colltune_executor* executor, colltune_collective collective, int root,
                             std::size_t message) {
    return self_of(executor).begin_of(collective, root, message, Counts::equal);
  }
  static unsigned begin_reduction(colltune_executor* executor, colltune_collective collective,
                                  int root, std::size_t count, MPI_Datatype /*type*/,
                                  MPI_Op /*op*/) {
    CalledFromMpi& self = self_of(executor);
    return self.begin_of(collective, root, count * size_of(self.program_call().data_type),
                         Counts::equal);
  }
  static unsigned begin_moves(colltune_executor* executor, colltune_collective collective,
                              const int* counts, int ranks, std::size_t unit) {
    CalledFromMpi& self = self_of(executor);
    const std::size_t message = self.blocks_.set({counts, static_cast<std::size_t>(ranks)}, unit);
    return self.begin_of(collective, self.program_call().root, message,
                         counts_class(self.blocks_.sizes()));
  }
  static unsigned begin_reductions(colltune_executor* executor, colltune_collective collective,
                                   const int* counts, int ranks, MPI_Datatype /*type*/,
                                   MPI_Op /*op*/) {
    return begin_moves(executor, collective, counts, ranks,
                       size_of(self_of(executor).program_call().data_type));
  }
  static const std::size_t* block_starts(const colltune_executor* executor) {
    return self_of(executor).blocks_.starts().data();
  }
  static colltune_outcome run(colltune_executor* executor, unsigned choice,
                              const colltune_buffers* buffers) {
    CalledFromMpi& self = self_of(executor);
    try {
      const bool is_equal = self.call_.counts == Counts::equal;
      self.CalledAsInPrograms::start(
          static_cast<std::uint16_t>(choice),
          {.send = {static_cast<const std::byte*>(buffers->send), buffers->send_bytes},
           .receive = {static_cast<std::byte*>(buffers->receive), buffers->receive_bytes}},
          is_equal ? std::span<const std::size_t>()
                   : std::span<const std::size_t>(self.blocks_.sizes()));
      self.complete(self.deadline_);
      if (!buffers->is_copied_back) self.finish();
      return COLLTUNE_DONE;
    } catch (...) {
      self.failure_ = std::current_exception();
      return COLLTUNE_FAILED;
    }
  }
  static void finish_call(colltune_executor* executor) { self_of(executor).finish(); }
  // For buffers that are not contiguous, which these calls have not: one would be an error.
  static void* memory(colltune_executor* /*executor*/, int /*which*/, std::size_t /*bytes*/) {
    return nullptr;
  }
  static void say(const char* /*why*/) {}

  static constexpr colltune_call_functions call_functions{.begin_move = begin_move,
                                                          .begin_reduction = begin_reduction,
                                                          .begin_moves = begin_moves,
                                                          .begin_reductions = begin_reductions,
                                                          .block_starts = block_starts,
                                                          .run = run,
                                                          .finish = finish_call,
                                                          .memory = memory,
                                                          .say = say};

  Executor executor_;
  std::vector<int> no_counts_;
  colltune_place place_;
  CallBlocks blocks_;  ///< of the call that was begun last, as the next
  ProgramCall call_;
  Deadline deadline_ = Deadline::max();
  std::exception_ptr failure_;
  std::unique_ptr<Operation> translated_;
};

/// Whether the library is of the release whose headers this was built with. The translation reads
/// Open MPI's types as that release has them, and a component serves no other one either.
bool runs_built_release() {
#ifdef OPEN_MPI
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(PMPI_Get_library_version(text, &length), "MPI_Get_library_version");
  return std::string_view(text).starts_with(
      fmt::format("Open MPI v{}.{}.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION));
#else
  return true;
#endif
}

}  // namespace

std::unique_ptr<Operation> call_from_mpi(const Communicator& communicator,
                                         std::unique_ptr<Operation>& prepared, const Call& call) {
  const Problem& problem = call.problem;
  const bool reduces = shape_of(problem.collective).reduces;
  const int blocks = problem.counts == Counts::equal ? communicator.size() : 1;
  // MPI has no function for these, or none that leaves the result where a kernel does; programs'
  // empty calls are the library's.
  if (problem.kind != ProblemKind::collective || block_elements(problem, blocks) == 0 ||
      (reduces && !is_native(problem.data_type, problem.reduce_op)) ||
      (problem.collective == Collective::reduce_scatter && problem.in_place) ||
      (problem.collective == Collective::broadcast && !problem.in_place) || !runs_built_release())
    return nullptr;
  return std::make_unique<CalledFromMpi>(std::move(prepared), call, communicator);
}

}  // namespace colltune
