// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_call.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/kernels/arithmetic/reduction.h"
#include "colltune/kernels/mpi_library/library_operation.h"
#include "colltune/vocabulary/problem_form.h"
#include "mpi_arguments.h"
#include "mpi_handles.h"
#include "mpi_operation.h"
#include "mpi_types.h"

namespace colltune {
namespace {

int all_reduce(const MpiArguments& with) {
  return MPI_Allreduce(with.send, with.receive, with.count, with.type, with.op, with.comm);
}
int all_gather(const MpiArguments& with) {
  return MPI_Allgather(with.send, with.count, with.type, with.receive, with.count, with.type,
                       with.comm);
}
int all_gather_of_counts(const MpiArguments& with) {
  return MPI_Allgatherv(with.send, with.count, with.type, with.receive, with.counts,
                        with.displacements, with.type, with.comm);
}
int reduce_scatter_by_counts(const MpiArguments& with) {
  return MPI_Reduce_scatter(with.send, with.receive, with.counts, with.type, with.op, with.comm);
}
int reduce_scatter_of_blocks(const MpiArguments& with) {
  return MPI_Reduce_scatter_block(with.send, with.receive, with.count, with.type, with.op,
                                  with.comm);
}
int broadcast(const MpiArguments& with) {
  return MPI_Bcast(with.receive, with.count, with.type, with.root, with.comm);
}
int reduce(const MpiArguments& with) {
  return MPI_Reduce(with.send, with.receive, with.count, with.type, with.op, with.root, with.comm);
}
int all_to_all(const MpiArguments& with) {
  return MPI_Alltoall(with.send, with.count, with.type, with.receive, with.count, with.type,
                      with.comm);
}
int gather(const MpiArguments& with) {
  return MPI_Gather(with.send, with.count, with.type, with.receive, with.count, with.type,
                    with.root, with.comm);
}
int scatter(const MpiArguments& with) {
  return MPI_Scatter(with.send, with.count, with.type, with.receive, with.count, with.type,
                     with.root, with.comm);
}

/// The same by MPI's profiling names, which no tool intercepts.
namespace profiling {

int all_reduce(const MpiArguments& with) {
  return PMPI_Allreduce(with.send, with.receive, with.count, with.type, with.op, with.comm);
}
int all_gather(const MpiArguments& with) {
  return PMPI_Allgather(with.send, with.count, with.type, with.receive, with.count, with.type,
                        with.comm);
}
int all_gather_of_counts(const MpiArguments& with) {
  return PMPI_Allgatherv(with.send, with.count, with.type, with.receive, with.counts,
                         with.displacements, with.type, with.comm);
}
int reduce_scatter_by_counts(const MpiArguments& with) {
  return PMPI_Reduce_scatter(with.send, with.receive, with.counts, with.type, with.op, with.comm);
}
int reduce_scatter_of_blocks(const MpiArguments& with) {
  return PMPI_Reduce_scatter_block(with.send, with.receive, with.count, with.type, with.op,
                                   with.comm);
}
int broadcast(const MpiArguments& with) {
  return PMPI_Bcast(with.receive, with.count, with.type, with.root, with.comm);
}
int reduce(const MpiArguments& with) {
  return PMPI_Reduce(with.send, with.receive, with.count, with.type, with.op, with.root, with.comm);
}
int all_to_all(const MpiArguments& with) {
  return PMPI_Alltoall(with.send, with.count, with.type, with.receive, with.count, with.type,
                       with.comm);
}
int gather(const MpiArguments& with) {
  return PMPI_Gather(with.send, with.count, with.type, with.receive, with.count, with.type,
                     with.root, with.comm);
}
int scatter(const MpiArguments& with) {
  return PMPI_Scatter(with.send, with.count, with.type, with.receive, with.count, with.type,
                      with.root, with.comm);
}

}  // namespace profiling

/// The persistent form, for the buffers that it is made for.
class PersistentMpiOperation final : public Operation {
 public:
  PersistentMpiOperation(const Communicator& communicator, const Call& call, MpiPersistentForm form)
      : reduction_(call.problem.data_type, call.problem.reduce_op),
        counts_(static_cast<std::size_t>(communicator.size())) {
    with_.comm = comm_behind(communicator);
    with_.count = static_cast<int>(block_elements(call.problem, communicator.size()));
    with_.type = mpi_type_of(call.problem.data_type);
    with_.op = reduction_.get();
    with_.root = call.root;
    std::ranges::fill(counts_, with_.count);
    with_.counts = counts_.data();
    const Passed passed = find_passed(call, communicator.rank(), with_);
    if (passed.send) with_.send = call.buffers.send.data();
    if (passed.receive) with_.receive = call.buffers.receive.data();
    average_ = Average::of(call.problem, communicator.size(), passed.receive, with_.count);
    check_mpi(form(with_, &request_), "a persistent collective's init");
  }
  PersistentMpiOperation(const PersistentMpiOperation&) = delete;
  PersistentMpiOperation& operator=(const PersistentMpiOperation&) = delete;
  ~PersistentMpiOperation() override { PMPI_Request_free(&request_); }

  void start() override { check_mpi(PMPI_Start(&request_), "MPI_Start"); }
  void wait(Deadline /*deadline*/) override {
    check_mpi(PMPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
    average_.divide(with_.receive);
  }

 private:
  MpiArguments with_{};
  Average average_;
  MpiReduction reduction_;
  std::vector<int> counts_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// The faster one of two forms of a call, and its name.
class ChosenForm final : public Operation {
 public:
  ChosenForm(std::unique_ptr<Operation> chosen, std::string_view name)
      : chosen_(std::move(chosen)), name_(name) {}
  void start() override { chosen_->start(); }
  void wait(Deadline deadline) override { chosen_->wait(deadline); }
  [[nodiscard]] std::optional<Executed> executed() const override {
    return Executed{.choice = "form=" + std::string(name_)};
  }

 private:
  std::unique_ptr<Operation> chosen_;
  std::string_view name_;
};

/// The fastest of some calls, MAX over the ranks. Collective.
std::chrono::nanoseconds time_of(Communicator& communicator, Operation& operation,
                                 Deadline deadline) {
  using Clock = std::chrono::steady_clock;
  constexpr int untimed = 2;
  constexpr int timed = 5;
  std::int64_t fastest = std::numeric_limits<std::int64_t>::max();
  for (int call = 0; call < untimed + timed; ++call) {
    communicator.barrier(deadline);
    const auto began = Clock::now();
    operation.start();
    operation.wait(deadline);
    const std::int64_t took = communicator.all_reduce_max(
        std::chrono::nanoseconds(Clock::now() - began).count(), deadline);
    if (call >= untimed) fastest = std::min(fastest, took);
  }
  return std::chrono::nanoseconds(fastest);
}

}  // namespace

MPI_Comm comm_behind(const Communicator& communicator) {
  const auto* comm = static_cast<const MPI_Comm*>(communicator.native_mpi());
  if (comm == nullptr)
    throw Error(StatusCode::failed_precondition, "this communicator has no MPI behind it");
  return *comm;
}

Passed find_passed(const Call& call, int rank, MpiArguments& with) {
  const bool is_root = rank == call.root;
  const bool in_place = call.problem.in_place;
  Passed passed;
  switch (call.problem.collective) {
    case Collective::all_reduce:
    case Collective::all_gather:
    case Collective::all_to_all:
      passed.send = !in_place;
      with.send = MPI_IN_PLACE;
      break;
    case Collective::reduce:
    case Collective::gather:
      passed.send = !(in_place && is_root);
      with.send = MPI_IN_PLACE;
      passed.receive = is_root;
      break;
    case Collective::scatter:
      passed.receive = !(in_place && is_root);
      with.receive = MPI_IN_PLACE;
      passed.send = is_root;
      break;
    case Collective::reduce_scatter:
    case Collective::broadcast:
      break;
  }
  return passed;
}

std::unique_ptr<Operation> make_mpi_operation(const Communicator& communicator, const Call& call,
                                              ReduceScatterCall form,
                                              std::unique_ptr<Communicator> keep, MpiNames names) {
  const auto make = [&]<MpiFunction function, MpiFunction profiled>(std::string_view name) {
    return names == MpiNames::ordinary
               ? std::unique_ptr<Operation>(std::make_unique<MpiOperation<function>>(
                     name, communicator, call, std::move(keep)))
               : std::unique_ptr<Operation>(std::make_unique<MpiOperation<profiled>>(
                     name, communicator, call, std::move(keep)));
  };
  const bool is_equal = call.problem.counts == Counts::equal;
  switch (call.problem.collective) {
    case Collective::all_reduce:
      return make.template operator()<all_reduce, profiling::all_reduce>("MPI_Allreduce");
    case Collective::all_gather:
      return is_equal
                 ? make.template operator()<all_gather, profiling::all_gather>("MPI_Allgather")
                 : make.template operator()<all_gather_of_counts, profiling::all_gather_of_counts>(
                       "MPI_Allgatherv");
    case Collective::reduce_scatter:
      return form == ReduceScatterCall::counts || !is_equal
                 ? make.template
                   operator()<reduce_scatter_by_counts, profiling::reduce_scatter_by_counts>(
                       "MPI_Reduce_scatter")
                 : make.template
                   operator()<reduce_scatter_of_blocks, profiling::reduce_scatter_of_blocks>(
                       "MPI_Reduce_scatter_block");
    case Collective::broadcast:
      return make.template operator()<broadcast, profiling::broadcast>("MPI_Bcast");
    case Collective::reduce:
      return make.template operator()<reduce, profiling::reduce>("MPI_Reduce");
    case Collective::all_to_all:
      return make.template operator()<all_to_all, profiling::all_to_all>("MPI_Alltoall");
    case Collective::gather:
      return make.template operator()<gather, profiling::gather>("MPI_Gather");
    case Collective::scatter:
      return make.template operator()<scatter, profiling::scatter>("MPI_Scatter");
  }
  throw Error(StatusCode::internal, "there is no such collective");
}

std::unique_ptr<Operation> make_persistent_mpi_operation(const Communicator& communicator,
                                                         const Call& call, ReduceScatterCall form) {
  const MpiPersistentForm persistent = persistent_form_of(call.problem.collective, form);
  // Open MPI 4.1 refuses the persistent form of an empty reduce.
  if (persistent == nullptr || call.problem.counts != Counts::equal ||
      block_elements(call.problem, communicator.size()) == 0)
    return nullptr;
  return std::make_unique<PersistentMpiOperation>(communicator, call, persistent);
}

std::unique_ptr<Operation> make_faster_mpi_operation(Communicator& communicator, const Call& call,
                                                     ReduceScatterCall form, Deadline deadline,
                                                     MpiNames names) {
  if (persistent_form_of(call.problem.collective, form) == nullptr ||
      call.problem.counts != Counts::equal ||
      block_elements(call.problem, communicator.size()) == 0)
    return make_mpi_operation(communicator, call, form, nullptr, names);
  // Tried on other buffers of the same kind: nothing is done to the caller's before the start.
  std::vector<std::byte> send;
  std::vector<std::byte> receive;
  Call trial = call;
  trial.problem.in_place = has_one_buffer(call.problem);
  // A rank may lack the memory, and a library may refuse its persistent form, on some ranks only.
  // Then all ranks do without.
  const auto try_together = [&](auto make) {
    std::unique_ptr<Operation> made;
    try {
      made = make();
    } catch (const std::exception&) {
      made = nullptr;
    }
    if (communicator.all_reduce_max(made == nullptr ? 1 : 0, deadline) != 0) made = nullptr;
    return made;
  };
  std::unique_ptr<Operation> persistent = try_together([&] {
    send.resize(call.buffers.send.size());
    receive.resize(call.buffers.receive.size());
    trial.buffers = {send, receive};
    return make_persistent_mpi_operation(communicator, trial, form);
  });
  if (persistent != nullptr) {
    const auto prepared = time_of(communicator, *persistent, deadline);
    const auto ordinary = make_mpi_operation(communicator, trial, form, nullptr, names);
    const bool is_faster = prepared < time_of(communicator, *ordinary, deadline);
    persistent = !is_faster ? nullptr : try_together([&] {
      return make_persistent_mpi_operation(communicator, call, form);
    });
  }
  if (persistent != nullptr)
    return std::make_unique<ChosenForm>(std::move(persistent), "persistent");
  return std::make_unique<ChosenForm>(make_mpi_operation(communicator, call, form, nullptr, names),
                                      "ordinary");
}

std::unique_ptr<Operation> make_library_operation(Communicator& communicator, const Call& call,
                                                  Deadline deadline) {
  if (call.is_persistent)
    return make_faster_mpi_operation(communicator, call, ReduceScatterCall::block, deadline,
                                     MpiNames::profiling);
  return make_mpi_operation(communicator, call, ReduceScatterCall::block, nullptr,
                            MpiNames::profiling);
}

Support supports_mpi_call(const Problem& problem, const Topology& topology,
                          const Capability& capability, Collective collective) {
  if (problem.collective != collective)
    return Support::no("it is for " + std::string(name_of(collective)));
  // MPI's users do not have calls that need an additional copy of ours.
  if (collective == Collective::broadcast && !problem.in_place)
    return Support::no("MPI_Bcast has one buffer: it is in place");
  if (collective == Collective::reduce_scatter && problem.in_place)
    return Support::no(
        "MPI's call in place leaves the result in block 0 and overwrites the others, where this "
        "one "
        "leaves it in the rank's own block");
  if (!capability.has("mpi.library")) return Support::no("these ranks do not run under MPI");
  if (problem.graph_capture)
    return Support::no("it runs on the processor; no device graph can hold it");
  if (numerics_of_mpi_call(problem).numeric_class < problem.numeric_class)
    return Support::no("MPI does not promise " + std::string(name_of(problem.numeric_class)));
  // Where blocks are of unlike lengths, MPI counts their places from the start of the message.
  const int blocks = problem.counts == Counts::equal ? topology.ranks : 1;
  if (block_elements(problem, blocks) > static_cast<std::size_t>(INT_MAX))
    return Support::no("MPI's counts end at 2147483647 elements");
  return Support::yes();
}

Numerics numerics_of_mpi_call(const Problem& problem) {
  const bool rounds = is_floating(problem.data_type) &&
                      (problem.reduce_op == ReduceOp::sum || problem.reduce_op == ReduceOp::prod ||
                       problem.reduce_op == ReduceOp::avg);
  if (!rounds) return {.rounding = Rounding::exact, .numeric_class = NumericClass::rank_order};
  return {.rounding = Rounding::each_step, .numeric_class = NumericClass::any};
}

CallTraits traits_of_mpi_call(const Problem& problem) {
  return {.is_emulated = !is_native(problem.data_type, problem.reduce_op),
          .why_not_bound = {},
          .why_not_rebound = {}};
}

void detect_mpi_library(const Communicator& communicator, Capability& capability) {
  if (communicator.native_mpi() == nullptr || capability.has("mpi.library")) return;
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(PMPI_Get_library_version(text, &length), "MPI_Get_library_version");
  // "Open MPI v4.1.4, package: Debian OpenMPI, ident: …" or MPICH's table of build options: both
  // begin with the name and the version.
  const std::string version(text, static_cast<std::size_t>(length));
  capability.features["mpi.library"] = version.substr(0, version.find_first_of(",\n"));
}

}  // namespace colltune
