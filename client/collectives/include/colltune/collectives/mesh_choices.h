// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/collectives/choices.h"
#include "colltune/vocabulary/composition.h"

namespace colltune {

/// The form in which a mesh reduction runs, between two sizes that were measured.
struct MeshChoice {
  std::string mesh;  ///< mesh_name()
  DataType data_type = DataType::f32;
  Bytes from;
  Bytes to;
  Composition composition;
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, MeshChoice>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("mesh", self.mesh);
  visit("data_type", self.data_type);
  visit("from_bytes", self.from);
  visit("to_bytes", self.to);
  visit("composition", self.composition);
}

/// What runs in the mesh reductions of a communicator; rank 0 makes it, as Choices.
struct MeshChoices {
  std::vector<MeshChoice> all;
  std::vector<std::string> left_out;  ///< which winners do not run, and why; for a person
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, MeshChoices>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("all", self.all);
  visit("left_out", self.left_out);
}

/// What `table` says of mesh reductions over these ranks whose calls are made as `calling` says
/// (input rewritten, not in place): forms that were proven to be faster than the library's own
/// calls and are made of `catalogue` alone; where `calling` is `each`, of what takes any later call
/// (Operation::rebind). `nodes`: of each rank.
[[nodiscard]] MeshChoices choose_meshes(const TableFile& table, const ProgramRanks& ranks,
                                        std::span<const int> nodes, ProgramNumerics numerics,
                                        const Implementations& catalogue, Calling calling);

}  // namespace colltune
