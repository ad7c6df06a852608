// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "colltune/nccl/choice.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/topology.h"

/// What NCCL can be asked for: pure functions over the problem, by what its documentation and its
/// model say. Whether a communicator has it, NCCL alone knows (NcclRank::available).
namespace colltune::nccl {

struct Entry {
  Algorithm algorithm{};
  Protocol protocol{};

  friend auto operator<=>(const Entry&, const Entry&) = default;
};

/// The entries that NCCL's model may fill for `function`, in the order of its table.
[[nodiscard]] std::vector<Entry> entries_of(Function function);

/// Why no communicator of such a topology has the entry; empty where one may.
[[nodiscard]] std::string why_not_there(const Entry& entry, const Topology& topology);

/// The most channels that NCCL uses for a message of `bytes` (its nBytes): each has 16 KiB of
/// traffic at least, an all_reduce moves each byte twice, and LL counts four times.
[[nodiscard]] int most_channels_of(Function function, Protocol protocol, std::uint64_t bytes);

/// Channels worth trying, ascending; 0: NCCL decides.
[[nodiscard]] std::vector<int> channels_to_try(Function function, const Entry& entry,
                                               std::uint64_t bytes);

/// The most CTAs that have something to do in a call, one for each channel, and those worth trying,
/// ascending: none where they would change nothing, or nothing that cannot be forced.
[[nodiscard]] int most_ctas_of(Collective collective, std::uint64_t bytes);
[[nodiscard]] std::vector<int> ctas_to_try(Collective collective, std::uint64_t bytes);

/// NCCL_ALGO or NCCL_PROTO as NCCL reads them: "list[;function:list]…", a list of names between
/// commas, all but those where it begins with '^'. `what` is one of them in lower case. Whether the
/// text lets a call of `function` use it. A text that NCCL would refuse allows all here: NCCL says
/// so itself.
[[nodiscard]] bool is_allowed_by(std::string_view text, Function function, std::string_view what);

}  // namespace colltune::nccl
