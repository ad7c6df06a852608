// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace colltune::test {

/// Ranks for which a table has winners.
struct PlantedWorld {
  int nodes = 1;
  int ranks_per_node = 2;
  /// For dedicated and for oversubscribed ranks; else as this process's cores are.
  bool in_both_placements = false;
};

/// Which calls it has winners for.
struct PlantedCalls {
  bool all_types = true;    ///< five types with four operators; else f32 and i32, which are summed
  bool persistent = false;  ///< besides ordinary ones, also on registered buffers
  bool library_wins = false;  ///< a variant of the MPI library does, and those of ours are next
  std::string mpi_library{};  ///< that they were measured with, by the table; empty: it tells none
};

/// A table file in which kernels of ours win everywhere, whatever their speed: for tests of what
/// runs them. Each collective, size, type and operator has a variant that is drawn from all that
/// can run there. With `persistent` worlds of 4 ranks have forms of mesh reductions, too,
/// in both regimes: planted_mesh_sizes.
[[nodiscard]] std::string planted_table(unsigned seed, std::span<const PlantedWorld> worlds,
                                        const PlantedCalls& calls = {});

/// f32 summed over both dimensions of 2x2: by size in turn one all_reduce for each step, one over
/// all, and a hierarchical form.
inline constexpr std::array<std::uint64_t, 4> planted_mesh_sizes{64, 1024, 16384, 262144};
/// And hierarchical forms with parts of the MPI library: its all_gather; its reduce_scatter, too,
/// which is for programs that accept any order of adding.
inline constexpr std::array<std::uint64_t, 2> planted_mixed_sizes{524288, 1048576};

}  // namespace colltune::test
