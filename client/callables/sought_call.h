// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "colltune/vocabulary/problem.h"

namespace colltune {

/// A call as a program asks for it: the same on all ranks.
struct SoughtCall {
  Problem problem;
  int root = 0;  ///< 0 if the collective has none
  int ranks = 1;
};

/// Reads collective, data_type, reduce_op (ignored where nothing is reduced), message_size and, if
/// given, root. Throws Error(invalid_argument) for unknown names, for a message that is no whole
/// number of elements on each rank, and for a root that is none of `ranks`. Pure.
[[nodiscard]] SoughtCall read_call(const nlohmann::json& asked, int ranks);

/// {"problem": as a callable sees it, but for nodes and ranks_per_node; "buffers": {"send",
/// "receive"} in bytes of the root, or of every rank where there is no root, and {"other_send",
/// "other_receive"} of the other ranks}. Pure.
[[nodiscard]] nlohmann::json describe_call(const SoughtCall& call);

}  // namespace colltune
