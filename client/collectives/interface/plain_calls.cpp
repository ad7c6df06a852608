// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "plain_calls.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "by_way_of_block.h"
#include "colltune/collectives/executor.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {
namespace {

/// By collective.
constexpr std::array<std::string_view, enum_names(Collective{}).size()> thread_variants{
    "cpu.all_reduce_two_shot{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.all_gather_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.reduce_scatter_flat{access=staged,chunk=65536,slots=4,stores=cached}",
    "cpu.broadcast_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.reduce_flat{access=staged,chunk=65536,slots=4,stores=cached}",
    "cpu.all_to_all_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.gather_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}",
    "cpu.scatter_flat{access=staged,chunk=65536,flow=pull,slots=4,stores=cached}"};

}  // namespace

PlainWay make_thread_way(std::shared_ptr<const Implementations> catalogue) {
  return {
      .prepare = [catalogue = std::move(catalogue)](Communicator& communicator, const Call& call) {
        const Variant variant = parse_variant(
            std::string(thread_variants[static_cast<std::size_t>(call.problem.collective)]));
        const Implementation* const found = find_implementation(*catalogue, variant.implementation);
        if (found == nullptr)
          throw Error(StatusCode::internal,
                      variant.implementation + " is none of this build's kernels");
        return found->prepare(communicator, call, variant, no_deadline);
      }};
}

void PlainCalls::check(const Problem& problem) const {
  const bool has_equal_counts = problem.counts == Counts::equal;
  const std::size_t elements = block_elements(problem, has_equal_counts ? communicator_.size() : 1);
  if (way_.most_elements && elements > *way_.most_elements)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{}: {} of {} elements; the MPI library takes at most {}",
                            describe(problem), has_equal_counts ? "a block" : "blocks together",
                            elements, *way_.most_elements));
}

bool PlainCalls::needs_block(const Problem& problem) const {
  return problem.collective == Collective::reduce_scatter && !way_.scatters_in_place;
}

Operation& PlainCalls::next(const Call& call) {
  Operations& operations =
      call.problem.counts == Counts::equal ? of_equal_counts_ : of_unequal_counts_;
  auto& operation = operations[static_cast<std::size_t>(call.problem.collective)];
  if (operation != nullptr) {
    operation->rebind(call);
    return *operation;
  }
  Call first = call;
  first.capacity = any_size;
  operation = prepare(first);
  return *operation;
}

std::unique_ptr<Operation> PlainCalls::prepare(Call call) const {
  const auto make = [this](const Call& one) { return way_.prepare(communicator_, one); };
  if (needs_block(call.problem)) return std::make_unique<ByWayOfBlock>(call, make);
  return make(call);
}

}  // namespace colltune
