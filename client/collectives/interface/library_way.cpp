// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <climits>
#include <utility>

#include "by_way_of_block.h"
#include "colltune/collectives/executor.h"
#include "colltune/kernels/mpi_library/library_operation.h"
#include "plain_calls.h"

namespace colltune {
namespace {

/// The library's own choice as a part of a composition. Parts work on what earlier parts left, so a
/// reduce_scatter must also be in place.
class LibraryPart final : public Implementation {
 public:
  explicit LibraryPart(std::unique_ptr<const Implementation> of)
      : Implementation(of->facts()), of_(std::move(of)) {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    return of_->variants(problem, topology, capability);
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    if (!variant.parameters.empty())
      return Support::no("a program runs no algorithm of the MPI library but its own choice");
    Problem own = problem;
    if (collective() == Collective::reduce_scatter) own.in_place = false;
    // These are made for ranks over MPI alone, and what else a rank has does not matter.
    Capability under_mpi = capability;
    under_mpi.features.try_emplace("mpi.library", "");
    return of_->supports(own, topology, under_mpi, variant);
  }
  Limits limits(const Variant& variant) const override { return of_->limits(variant); }
  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return of_->protocol(problem, variant);
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    return of_->cost(problem, topology, variant);
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return of_->numerics(problem, variant);
  }
  CallTraits traits(const Problem& problem, const Topology& topology,
                    const Variant& variant) const override {
    return of_->traits(problem, topology, variant);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    const auto make = [&](const Call& one) {
      return of_->prepare(communicator, one, variant, deadline);
    };
    if (collective() == Collective::reduce_scatter)
      return std::make_unique<ByWayOfBlock>(call, make);
    return make(call);
  }

 private:
  std::unique_ptr<const Implementation> of_;
};

}  // namespace

PlainWay make_library_way() {
  return {.prepare =
              [](Communicator& communicator, const Call& call) {
                return make_library_operation(communicator, call, no_deadline);
              },
          .most_elements = INT_MAX,
          .scatters_in_place = false};
}

Implementations make_library_parts() {
  Implementations parts;
  for (auto& one : make_program_implementations())
    parts.push_back(std::make_unique<LibraryPart>(std::move(one)));
  return parts;
}

}  // namespace colltune
