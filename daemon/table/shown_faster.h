// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index.h"
#include "rank_around.h"

namespace colltune {

/// The decisions on either side of a size: the nearest one, and the one behind it. Null where there
/// is none.
struct Beside {
  const Decision* nearest = nullptr;
  const Decision* behind = nullptr;
};
[[nodiscard]] Beside below(const Curve& curve, const Neighbours& around);
[[nodiscard]] Beside above(const Curve& curve, const Neighbours& around);

/// Whether the baseline stayed for want of proof. Where another verdict holds, what is ranked
/// behind the baseline was refuted: by the measurements, or by fresh launches.
[[nodiscard]] bool lacks_proof(const Decision& decision);

/// Whether the whole interval of a variant's median lies below that of the baseline's.
[[nodiscard]] bool is_clearly_faster(const RankedVariant& one, const RankedVariant& baseline);

/// Whether a decision proves a variant, or lacks proof and has it clearly faster than the baseline.
[[nodiscard]] bool shows_faster(const Decision& decision, const Variant& variant,
                                const Variant& baseline);

}  // namespace colltune
