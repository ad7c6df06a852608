// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "client/nccl_tuner/loaded_tuner.h"
#include "colltune/vocabulary/collective.h"

namespace colltune::test {

/// Whether the algSelection `text` lets NCCL take what is called `name`: ',' or, '+' and, '^' not;
/// a word stands for all names that begin so, in letters of either case. An empty one allows all.
[[nodiscard]] bool is_selected(std::string_view text, std::string_view name);
/// Marks the entries of the table that `text` does not allow as unavailable.
void keep_selected(std::string_view text, Costs& costs);
/// How many of the library's kernels for symmetric windows `text` allows for the collective, and
/// how many entries of the table.
[[nodiscard]] int count_symmetric_kernels(std::string_view text, Collective collective);
[[nodiscard]] int count_entries(std::string_view text);

}  // namespace colltune::test
