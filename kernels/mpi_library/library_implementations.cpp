// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The MPI library's own choice for every collective, by either of its names.

#include <cmath>

#include "colltune/kernels/mpi_library/library_operation.h"
#include "mpi_call.h"

namespace colltune {
namespace {

class LibraryChoice final : public Implementation {
 public:
  LibraryChoice(Collective collective, MpiNames names)
      : Implementation(
            {.name = "mpi." + std::string(name_of(collective)),
             .description = "the MPI library's own choice of algorithm: the baseline",
             .collective = collective,
             .family = "mpi",
             .is_baseline = true,
             .meets_other_builds = true,
             .takes_unequal_counts = may_have_unequal_counts({.collective = collective})}),
        names_(names) {}

  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return {{name(), {}}};
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant&) const override {
    return supports_mpi_call(problem, topology, capability, collective());
  }
  Limits limits(const Variant&) const override { return {}; }
  std::string protocol(const Problem&, const Variant&) const override { return "mpi;" + name(); }

  /// The lower bounds that the libraries' algorithms approach: log2 n steps, and the bytes that
  /// nccl-tests' bus bandwidth counts (Thakur, Rabenseifner, Gropp 2005).
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const auto size = static_cast<double>(problem.message_size.value);
    const bool reduces = problem.reduce_op != ReduceOp::none;
    return {.steps = std::ceil(std::log2(topology.ranks)),
            .bytes_per_rank = bus_bandwidth_factor(collective(), topology.ranks) * size,
            .reduced_bytes = reduces ? size : 0};
  }
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return numerics_of_mpi_call(problem);
  }
  CallTraits traits(const Problem& problem, const Topology&, const Variant&) const override {
    return traits_of_mpi_call(problem);
  }

  void detect(Communicator& communicator, Capability& capability) const override {
    detect_mpi_library(communicator, capability);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call, const Variant&,
                                     Deadline deadline) const override {
    if (call.is_persistent)
      return make_faster_mpi_operation(communicator, call, ReduceScatterCall::block, deadline,
                                       names_);
    return make_mpi_operation(communicator, call, ReduceScatterCall::block, nullptr, names_);
  }

 private:
  MpiNames names_;
};

}  // namespace

Implementations make_library_implementations(MpiNames names) {
  Implementations made;
  for (const auto& named : enum_names(Collective{}))
    made.push_back(std::make_unique<LibraryChoice>(named.value, names));
  return made;
}

Implementations make_program_implementations() {
  return make_library_implementations(MpiNames::profiling);
}

}  // namespace colltune
