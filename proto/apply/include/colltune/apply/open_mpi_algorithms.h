// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/names.h"
#include "colltune/vocabulary/variant.h"

// The algorithms of Open MPI's component coll/tuned by name and number. This is the only list:
// files of rules and the settings of a launch name an algorithm by the number that stands here.

namespace colltune {

/// The releases of Open MPI whose algorithms or files of rules differ.
enum class OpenMpiRelease {
  v4_1 = 0,  ///< files of format 1: every 4.1, and every 5.0
  v5_0 = 1,  ///< files of format 2: 5.0.7 and newer; older ones drop it
  v6_0 = 2,  ///< files in JSON: 6.0, not yet released, and the main branch
};
constexpr std::array<Named<OpenMpiRelease>, 3> enum_names(OpenMpiRelease) {
  return {{{OpenMpiRelease::v4_1, "4.1.x"},
           {OpenMpiRelease::v5_0, "5.0.x"},
           {OpenMpiRelease::v6_0, "6.x"}}};
}
constexpr std::string_view enum_title(OpenMpiRelease) { return "release of Open MPI"; }

/// The release of a library that calls itself `mpi_library` ("Open MPI v4.1.4"); empty if it is
/// none of these.
[[nodiscard]] std::optional<OpenMpiRelease> open_mpi_release_of(std::string_view mpi_library);

/// A collective of the library that it has named algorithms for.
struct OpenMpiCollective {
  int number = 0;
  std::string_view name;            ///< "allreduce": in files of rules and in variables
  std::string_view call;            ///< "MPI_Allreduce"
  std::string_view implementation;  ///< whose variants are its algorithms: "mpi.all_reduce_tuned"
  /// By number, from 1 on; the library's names. Those of `algorithms_5_0` follow from 5.0 on, those
  /// of `algorithms_6_0` from 6.0 on.
  std::vector<std::string_view> algorithms{};
  std::vector<std::string_view> algorithms_5_0{};
  std::vector<std::string_view> algorithms_6_0{};
};

/// All for which colltune measures named algorithms, by number.
[[nodiscard]] const std::vector<OpenMpiCollective>& open_mpi_collectives();
/// Null if there is none.
[[nodiscard]] const OpenMpiCollective* find_open_mpi_collective(int number);
/// The collective whose algorithms are the variants of `implementation`; null if there is none.
[[nodiscard]] const OpenMpiCollective* find_open_mpi_collective(std::string_view implementation);

/// How many algorithms it has in that release; their numbers begin with 1.
[[nodiscard]] int open_mpi_algorithms_in(const OpenMpiCollective& collective,
                                         OpenMpiRelease release);
/// The number of `algorithm` in that release; 0 if it has none of that name.
[[nodiscard]] int open_mpi_algorithm_number(const OpenMpiCollective& collective,
                                            std::string_view algorithm, OpenMpiRelease release);
/// Its name: "default" for 0, "unknown" if the release has no such number.
[[nodiscard]] std::string_view open_mpi_algorithm_name(const OpenMpiCollective& collective,
                                                       int number, OpenMpiRelease release);

/// An algorithm with its parameters, as the component takes them.
struct OpenMpiChoice {
  int algorithm = 0;
  std::optional<int> fanout{};        ///< of a chain
  std::optional<int> segment_size{};  ///< bytes; 0: one segment

  friend bool operator==(const OpenMpiChoice&, const OpenMpiChoice&) = default;
};
/// What `variant` names in that release; empty if it is no algorithm of `collective` there.
[[nodiscard]] std::optional<OpenMpiChoice> open_mpi_choice_of(const OpenMpiCollective& collective,
                                                              const Variant& variant,
                                                              OpenMpiRelease release);

}  // namespace colltune
