// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// An environment that was chosen for a question that names none.
struct EnvironmentGuess {
  std::string digest;
  std::string why;  ///< what it was chosen by, and what differs from this machine, for a person
};

/// What can be told of this machine without measuring: `kernel` (the version alone) and
/// `cpu_model`. All else is empty.
[[nodiscard]] Environment this_machine();

/// The environment of `set` that agrees with `here` in most of what `here` knows; among equals the
/// last one, which was stored last. Empty if there are fewer than two to choose from.
[[nodiscard]] std::optional<EnvironmentGuess> guess_environment(const DecisionSet& set,
                                                                const Environment& here);

}  // namespace colltune
