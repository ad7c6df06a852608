// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
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
/// not tell a tuner the data type, the operator or whether a call is in place. So a rule names the
/// forced variant whose worst regret over all of these is the least (rule_choice.h), among those
/// proven to beat NCCL's own choice in each, at or between measured sizes; without one there is no
/// rule. What fits choose between two sizes is named where it was shown to be faster at both and
/// all of these agree (FitChoice::shown_at_both); what they merely expect is not. A number of
/// channels that was measured where NCCL took as many as it was asked for is no choice for an NCCL
/// of `nccl_version` that may take fewer (takes_channels_as_limit): it would run something else.
/// The table's evidence is read only if they do not all name the same forced variant. Throws
/// std::bad_alloc, and Error(data_loss) if evidence is wanted and damaged.
[[nodiscard]] std::vector<Rule> rules_of(const TableView& table, std::size_t ranks,
                                         std::size_t nodes, int nccl_version);

/// The NCCL that a table's decisions were measured with ("2.28.9"); empty if it does not say.
[[nodiscard]] std::string_view measured_nccl(const TableView& table) noexcept;
/// Whether rules_of makes no rule with a number of channels for an NCCL of `nccl_version`.
[[nodiscard]] bool leaves_out_channels(const TableView& table, int nccl_version) noexcept;

}  // namespace colltune::nccl
