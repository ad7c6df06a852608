// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/collectives.h"
#include "colltune/collectives/collectives.h"

/// What colltune_collectives points to.
struct colltune_collectives {
  colltune::Collectives of;
  std::string report{};  ///< the last that was asked for
  /// The texts of a mesh that was asked for, and what they say.
  struct ReadMesh {
    std::string shape;
    std::string steps;
    colltune::MeshReductionCall call;
  };
  std::vector<ReadMesh> meshes{};  ///< the latest ones, the last one first
};

namespace colltune {

/// Throws Error(invalid_argument) if a value is not allowed. Null: no options.
[[nodiscard]] CollectivesOptions options_of(const colltune_collectives_options* options);

/// Throws Error(invalid_argument) if there is no place for `what`; clears it.
template <class Made>
void clear_place(Made** place, const char* what) {
  if (place == nullptr)
    throw Error(StatusCode::invalid_argument,
                std::string("there is no place for the ") + what + ": it is NULL");
  *place = nullptr;
}

}  // namespace colltune
