// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/apply/open_mpi_algorithms.h"

#include <algorithm>

namespace colltune {
namespace {

/// Another name of 6.0 for an algorithm that older releases have, too.
struct Renamed {
  int collective = 0;
  int number = 0;
  std::string_view name;
};
constexpr std::array<Renamed, 1> renamed_6_0{{{0, 2, "bruck-k-fanout"}}};

std::optional<int> number_of(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name)
      if (const auto* const value = std::get_if<std::int64_t>(&parameter.value))
        return static_cast<int>(*value);
  return {};
}

}  // namespace

std::optional<OpenMpiRelease> open_mpi_release_of(std::string_view mpi_library) {
  for (const auto& [release, name] : enum_names(OpenMpiRelease{})) {
    const std::string begin = "Open MPI v" + std::string(name.substr(0, name.size() - 1));
    if (mpi_library.starts_with(begin)) return release;
  }
  return {};
}

const std::vector<OpenMpiCollective>& open_mpi_collectives() {
  // ompi/mca/coll/base/coll_base_functions.h and coll_tuned_*_decision.c, 4.1.0 to 5.0.9 and main.
  static const std::vector<OpenMpiCollective> all{
      {0,
       "allgather",
       "MPI_Allgather",
       "mpi.all_gather_tuned",
       {"linear", "bruck", "recursive_doubling", "ring", "neighbor", "two_proc"},
       {"sparbit"},
       {"direct-messaging"}},
      {2,
       "allreduce",
       "MPI_Allreduce",
       "mpi.all_reduce_tuned",
       {"basic_linear", "nonoverlapping", "recursive_doubling", "ring", "segmented_ring",
        "rabenseifner"},
       {},
       {"allgather_reduce"}},
      {3,
       "alltoall",
       "MPI_Alltoall",
       "mpi.all_to_all_tuned",
       {"linear", "pairwise", "modified_bruck", "linear_sync", "two_proc"}},
      {7,
       "bcast",
       "MPI_Bcast",
       "mpi.broadcast_tuned",
       {"basic_linear", "chain", "pipeline", "split_binary_tree", "binary_tree", "binomial",
        "knomial", "scatter_allgather", "scatter_allgather_ring"}},
      {9, "gather", "MPI_Gather", "mpi.gather_tuned", {"basic_linear", "binomial", "linear_sync"}},
      {11,
       "reduce",
       "MPI_Reduce",
       "mpi.reduce_tuned",
       {"linear", "chain", "pipeline", "binary", "binomial", "in-order_binary", "rabenseifner"},
       {},
       {"knomial"}},
      {12,
       "reduce_scatter",
       "MPI_Reduce_scatter",
       "mpi.reduce_scatter_counts_tuned",
       {"non-overlapping", "recursive_halving", "ring", "butterfly"}},
      {13,
       "reduce_scatter_block",
       "MPI_Reduce_scatter_block",
       "mpi.reduce_scatter_tuned",
       {"basic_linear", "recursive_doubling", "recursive_halving", "butterfly"}},
      {15,
       "scatter",
       "MPI_Scatter",
       "mpi.scatter_tuned",
       {"basic_linear", "binomial", "linear_nb"}},
  };
  return all;
}

const OpenMpiCollective* find_open_mpi_collective(int number) {
  const auto& all = open_mpi_collectives();
  const auto found = std::ranges::find(all, number, &OpenMpiCollective::number);
  return found == all.end() ? nullptr : &*found;
}

const OpenMpiCollective* find_open_mpi_collective(std::string_view implementation) {
  const auto& all = open_mpi_collectives();
  const auto found = std::ranges::find(all, implementation, &OpenMpiCollective::implementation);
  return found == all.end() ? nullptr : &*found;
}

int open_mpi_algorithms_in(const OpenMpiCollective& collective, OpenMpiRelease release) {
  std::size_t count = collective.algorithms.size();
  if (release >= OpenMpiRelease::v5_0) count += collective.algorithms_5_0.size();
  if (release >= OpenMpiRelease::v6_0) count += collective.algorithms_6_0.size();
  return static_cast<int>(count);
}

int open_mpi_algorithm_number(const OpenMpiCollective& collective, std::string_view algorithm,
                              OpenMpiRelease release) {
  for (int number = 1; number <= open_mpi_algorithms_in(collective, release); ++number)
    if (open_mpi_algorithm_name(collective, number, release) == algorithm) return number;
  return 0;
}

std::string_view open_mpi_algorithm_name(const OpenMpiCollective& collective, int number,
                                         OpenMpiRelease release) {
  if (number == 0) return "default";
  if (number < 0 || number > open_mpi_algorithms_in(collective, release)) return "unknown";
  if (release >= OpenMpiRelease::v6_0)
    for (const Renamed& renamed : renamed_6_0)
      if (renamed.collective == collective.number && renamed.number == number) return renamed.name;
  auto index = static_cast<std::size_t>(number - 1);
  for (const auto* const list : {&collective.algorithms, &collective.algorithms_5_0}) {
    if (index < list->size()) return (*list)[index];
    index -= list->size();
  }
  return collective.algorithms_6_0[index];
}

std::optional<OpenMpiChoice> open_mpi_choice_of(const OpenMpiCollective& collective,
                                                const Variant& variant, OpenMpiRelease release) {
  if (variant.implementation != collective.implementation) return {};
  for (const Parameter& parameter : variant.parameters) {
    if (parameter.name != "algorithm") continue;
    const int number = open_mpi_algorithm_number(collective, to_string(parameter.value), release);
    if (number == 0) return {};
    return OpenMpiChoice{.algorithm = number,
                         .fanout = number_of(variant, "fanout"),
                         .segment_size = number_of(variant, "segment_size")};
  }
  return {};
}

}  // namespace colltune
