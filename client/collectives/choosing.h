// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "colltune/collectives/choices.h"

namespace colltune {

/// The world of a table that was measured with ranks as these; nothing if there is none.
[[nodiscard]] std::optional<std::uint32_t> find_world(const TableView& view, const Topology& asked);

/// The class that a variant must guarantee where `order_shows` in its results; nothing if such
/// calls are left to the library.
[[nodiscard]] std::optional<NumericClass> demanded_class(bool order_shows, int ranks,
                                                         ProgramNumerics numerics);

}  // namespace colltune
