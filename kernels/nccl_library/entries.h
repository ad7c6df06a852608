// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "colltune/nccl/choice.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/topology.h"

/// What NCCL can be asked for: pure functions of the problem, after NCCL's documentation and cost
/// model. Only NCCL knows whether a communicator really has it (NcclRank::available).
namespace colltune::nccl {

struct Entry {
  Algorithm algorithm{};
  Protocol protocol{};

  friend auto operator<=>(const Entry&, const Entry&) = default;
};

/// The entries that NCCL's model may fill for `function`, in the order of NCCL's table.
[[nodiscard]] std::vector<Entry> entries_of(Function function);

/// Why no communicator of this topology has the entry; empty if one may.
[[nodiscard]] std::string why_not_there(const Entry& entry, const Topology& topology);

/// The most channels that NCCL uses for a message of `bytes` (its nBytes). Each gets at least 16
/// KiB of traffic; all_reduce moves each byte twice, and LL counts four times.
[[nodiscard]] int most_channels_of(Function function, Protocol protocol, std::uint64_t bytes);

/// Channel counts worth trying, ascending; 0: NCCL decides.
[[nodiscard]] std::vector<int> channels_to_try(Function function, const Entry& entry,
                                               std::uint64_t bytes);

/// The most CTAs that have work in a call, one for each channel, and the counts worth trying,
/// ascending: none if they would change nothing, or nothing that cannot be forced as channels.
[[nodiscard]] int most_ctas_of(Collective collective, std::uint64_t bytes);
[[nodiscard]] std::vector<int> ctas_to_try(Collective collective, std::uint64_t bytes);

/// Whether NCCL_ALGO or NCCL_PROTO, with the value `text`, lets a call of `function` use `what`,
/// which is in lower case. NCCL reads "list[;function:list]…", where a list has names between
/// commas; with a leading '^' it allows all other names. A text that NCCL would refuse allows
/// everything here, since NCCL reports the error itself.
[[nodiscard]] bool is_allowed_by(std::string_view text, Function function, std::string_view what);

}  // namespace colltune::nccl
