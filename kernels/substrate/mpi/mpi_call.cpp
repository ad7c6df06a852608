// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi/mpi_call.h"

#include <climits>
#include <string>
#include <utility>

#include "colltune/kernels/reduction.h"
#include "mpi/mpi_handles.h"

namespace colltune {
namespace {

MPI_Comm comm_behind(const Communicator& communicator) {
  const auto* comm = static_cast<const MPI_Comm*>(communicator.native_mpi());
  if (comm == nullptr)
    throw Error(StatusCode::failed_precondition, "this communicator has no MPI behind it");
  return *comm;
}

class MpiOperation final : public Operation {
 public:
  MpiOperation(const Communicator& communicator, const Call& call, ReduceScatterCall form,
               std::unique_ptr<Communicator> keep)
      : keep_(std::move(keep)), call_(communicator, call, form) {}
  void start() override {}
  void wait(Deadline /*deadline*/) override { call_.run(); }

 private:
  std::unique_ptr<Communicator> keep_;
  MpiCall call_;
};

}  // namespace

MpiCall::MpiCall(const Communicator& communicator, const Call& call, ReduceScatterCall form)
    : comm_(comm_behind(communicator)),
      rank_(communicator.rank()),
      ranks_(communicator.size()),
      call_(call),
      form_(form),
      count_(static_cast<int>(block_elements(call.problem, ranks_))),
      type_(mpi_type_of(call.problem.data_type)),
      reduction_(call.problem.data_type, call.problem.reduce_op) {
  if (call.problem.collective != Collective::reduce_scatter) return;
  counts_.assign(static_cast<std::size_t>(ranks_), count_);
}

void MpiCall::run() {
  switch (call_.problem.collective) {
    case Collective::all_reduce:
      return run_all_reduce();
    case Collective::all_gather:
      return run_all_gather();
    case Collective::reduce_scatter:
      return run_reduce_scatter();
    case Collective::broadcast:
      return run_broadcast();
    case Collective::reduce:
      return run_reduce();
    case Collective::all_to_all:
      return run_all_to_all();
    case Collective::gather:
      return run_gather();
    case Collective::scatter:
      return run_scatter();
  }
}

void MpiCall::finish_average() {
  if (call_.problem.reduce_op == ReduceOp::avg)
    divide_by_ranks(call_.buffers.receive.data(), static_cast<std::size_t>(count_),
                    call_.problem.data_type, ranks_);
}

void MpiCall::run_all_reduce() {
  const void* send = call_.problem.in_place ? MPI_IN_PLACE : call_.buffers.send.data();
  check_mpi(
      MPI_Allreduce(send, call_.buffers.receive.data(), count_, type_, reduction_.get(), comm_),
      "MPI_Allreduce");
  finish_average();
}

void MpiCall::run_all_gather() {
  const void* send = call_.problem.in_place ? MPI_IN_PLACE : call_.buffers.send.data();
  check_mpi(MPI_Allgather(send, count_, type_, call_.buffers.receive.data(), count_, type_, comm_),
            "MPI_Allgather");
}

void MpiCall::run_reduce_scatter() {
  void* receive = call_.buffers.receive.data();
  if (form_ == ReduceScatterCall::counts)
    check_mpi(MPI_Reduce_scatter(call_.buffers.send.data(), receive, counts_.data(), type_,
                                 reduction_.get(), comm_),
              "MPI_Reduce_scatter");
  else
    check_mpi(MPI_Reduce_scatter_block(call_.buffers.send.data(), receive, count_, type_,
                                       reduction_.get(), comm_),
              "MPI_Reduce_scatter_block");
  finish_average();
}

void MpiCall::run_broadcast() {
  check_mpi(MPI_Bcast(call_.buffers.receive.data(), count_, type_, call_.root, comm_), "MPI_Bcast");
}

void MpiCall::run_reduce() {
  const bool is_root = rank_ == call_.root;
  const void* send = call_.problem.in_place && is_root ? MPI_IN_PLACE : call_.buffers.send.data();
  void* receive = is_root ? call_.buffers.receive.data() : nullptr;
  check_mpi(MPI_Reduce(send, receive, count_, type_, reduction_.get(), call_.root, comm_),
            "MPI_Reduce");
  if (is_root) finish_average();
}

void MpiCall::run_all_to_all() {
  const void* send = call_.problem.in_place ? MPI_IN_PLACE : call_.buffers.send.data();
  check_mpi(MPI_Alltoall(send, count_, type_, call_.buffers.receive.data(), count_, type_, comm_),
            "MPI_Alltoall");
}

void MpiCall::run_gather() {
  const bool is_root = rank_ == call_.root;
  const void* send = call_.problem.in_place && is_root ? MPI_IN_PLACE : call_.buffers.send.data();
  void* receive = is_root ? call_.buffers.receive.data() : nullptr;
  check_mpi(MPI_Gather(send, count_, type_, receive, count_, type_, call_.root, comm_),
            "MPI_Gather");
}

void MpiCall::run_scatter() {
  const bool is_root = rank_ == call_.root;
  const void* send = is_root ? call_.buffers.send.data() : nullptr;
  void* receive = call_.problem.in_place && is_root ? MPI_IN_PLACE : call_.buffers.receive.data();
  check_mpi(MPI_Scatter(send, count_, type_, receive, count_, type_, call_.root, comm_),
            "MPI_Scatter");
}

std::unique_ptr<Operation> make_mpi_operation(const Communicator& communicator, const Call& call,
                                              ReduceScatterCall form,
                                              std::unique_ptr<Communicator> keep) {
  return std::make_unique<MpiOperation>(communicator, call, form, std::move(keep));
}

Support supports_mpi_call(const Problem& problem, const Topology& topology,
                          const Capability& capability, Collective collective) {
  if (problem.collective != collective)
    return Support::no("it is for " + std::string(name_of(collective)));
  // A call that needs a copy of ours beside MPI's is not what MPI's user has.
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
  if (block_elements(problem, topology.ranks) > static_cast<std::size_t>(INT_MAX))
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

bool is_emulated_mpi_call(const Problem& problem) {
  return !is_native(problem.data_type, problem.reduce_op);
}

void detect_mpi_library(const Communicator& communicator, Capability& capability) {
  if (communicator.native_mpi() == nullptr || capability.has("mpi.library")) return;
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  // "Open MPI v4.1.4, package: Debian OpenMPI, ident: …" and MPICH's table of build options: the
  // name and the version come first.
  const std::string version(text, static_cast<std::size_t>(length));
  capability.features["mpi.library"] = version.substr(0, version.find_first_of(",\n"));
}

}  // namespace colltune
