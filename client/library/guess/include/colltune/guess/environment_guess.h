// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

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

/// An answer to a question, and how its environment was chosen; empty if there was no choice.
struct GuessedAnswer {
  FoundAnswer found;
  std::string why;
};

/// The answer to a single question of a person, by the rule that all ways of asking share. What
/// `ask` says to `query`; if the query names no environment and several fit, what it says to the
/// query for the one of `decisions()` that has an answer and is most like this machine. No other
/// environment than that is substituted then. Throws what `ask` throws if there is no choice.
[[nodiscard]] GuessedAnswer ask_or_guess(const LookupQuery& query,
                                         const std::function<FoundAnswer(const LookupQuery&)>& ask,
                                         const std::function<DecisionSet()>& decisions);

}  // namespace colltune
