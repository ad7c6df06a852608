// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {

/// The form of a mesh reduction that `ranked` names; null if it does not name one that all ranks
/// run.
[[nodiscard]] const Composition* form_named_by(const RankedVariant& ranked,
                                               std::span<const Composition> compositions);
/// What all ranks do, one step after the other, for example "step 0 (0:sum):
/// cpu.all_reduce_ring{…}".
[[nodiscard]] std::vector<std::string> form_lines(const Composition& form,
                                                  const MeshReduction& mesh);
/// The same, below a line that names the parts.
[[nodiscard]] std::string form_text(const Composition& form, const MeshReduction& mesh);

}  // namespace colltune
