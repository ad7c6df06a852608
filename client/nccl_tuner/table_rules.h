// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "colltune/table_file/table_view.h"

namespace colltune::nccl {

/// What to ask NCCL for in calls of one collective whose bytes lie in a range.
struct Rule {
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;  ///< inclusive
  float time_us = 0;
  std::uint8_t function = 0;
  std::uint8_t is_registered = 0;
  std::uint8_t algorithm = 0;
  std::uint8_t protocol = 0;
  std::uint8_t channels = 0;  ///< 0: NCCL decides
};

/// The rules for communicators of `ranks` on `nodes`, ordered by collective, buffers and bytes; no
/// two are for one call.
///
/// They come from the decisions of family `nccl` of that world, made for ordinary calls. NCCL does
/// not tell a tuner the data type, the operator or whether a call is in place: so there is a rule
/// only for sizes at which all that was decided names the same forced variant, proven to beat
/// NCCL's own choice, at or between measured sizes. Throws std::bad_alloc.
[[nodiscard]] std::vector<Rule> rules_of(const TableView& table, std::size_t ranks,
                                         std::size_t nodes);

}  // namespace colltune::nccl
