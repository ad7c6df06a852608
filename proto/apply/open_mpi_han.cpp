// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/apply/open_mpi_han.h"

#include <algorithm>

namespace colltune {
namespace {

// What `ompi_info --param coll han --level 9` of 4.1.4 has variables for. Sizes as its selectors
// compute them, read back by calls on both sides of a border (tests/deploy/open_mpi_han_test.py).
constexpr std::array<HanCollective, 8> all{{
    {.number = 0,
     .name = "allgather",
     .call = "MPI_Allgather",
     .implementation = "mpi.all_gather_han",
     .is_by_block = true},
    {.number = 1, .name = "allgatherv", .call = "MPI_Allgatherv", .is_between_hosts = false},
    {.number = 2,
     .name = "allreduce",
     .call = "MPI_Allreduce",
     .implementation = "mpi.all_reduce_han"},
    {.number = 6, .name = "barrier", .call = "MPI_Barrier"},
    {.number = 7, .name = "bcast", .call = "MPI_Bcast", .implementation = "mpi.broadcast_han"},
    {.number = 9,
     .name = "gather",
     .call = "MPI_Gather",
     .implementation = "mpi.gather_han",
     .is_by_block = true},
    {.number = 11, .name = "reduce", .call = "MPI_Reduce", .implementation = "mpi.reduce_han"},
    {.number = 15,
     .name = "scatter",
     .call = "MPI_Scatter",
     .implementation = "mpi.scatter_han",
     .is_by_block = true},
}};

}  // namespace

std::span<const HanCollective> han_collectives() { return all; }

const HanCollective* find_han_collective(int number) {
  const auto* const found = std::ranges::find(all, number, &HanCollective::number);
  return found == all.end() ? nullptr : found;
}

const HanCollective* find_han_collective(std::string_view implementation) {
  if (implementation.empty()) return nullptr;
  const auto* const found = std::ranges::find(all, implementation, &HanCollective::implementation);
  return found == all.end() ? nullptr : found;
}

std::optional<HanComponent> find_han_component(std::string_view name) {
  const auto* const found = std::ranges::find(han_component_names, name);
  if (found == han_component_names.end()) return {};
  return static_cast<HanComponent>(found - han_component_names.begin());
}

}  // namespace colltune
