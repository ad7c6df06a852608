// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// How their calls are made.
enum class PlantedCalls {
  ordinary,              ///< `each`
  persistent,            ///< both
  persistent_registered  ///< both, persistent ones also on registered buffers
};

/// A table file in which kernels of ours win everywhere, whatever their speed: for tests of what
/// runs them. Each collective, size, type and operator has a variant that is drawn from all that
/// can run there.
[[nodiscard]] std::string planted_table(unsigned seed, std::span<const PlantedWorld> worlds,
                                        PlantedCalls calls = PlantedCalls::ordinary);

}  // namespace colltune::test
