// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/regime.h"

namespace colltune {

/// `--calling` and `--input` of a command that prints many decisions, as typed; "all" does not
/// choose.
struct RegimeOptions {
  std::string calling;
  std::string input;
};

/// The decisions that a command prints; empty fields admit all.
struct RegimeChoice {
  std::optional<Calling> calling;
  std::optional<InputMode> input;

  /// A captured call is persistent whatever is chosen for the others.
  [[nodiscard]] bool admits(const TuningKey& key) const;
};

/// The choice of `options`; what they leave out is taken from `otherwise`. Throws
/// Error(invalid_argument) that names the option and what is allowed.
[[nodiscard]] RegimeChoice regime_choice(const RegimeOptions& options,
                                         const RegimeChoice& otherwise);

/// The regimes of these decisions, each once, for a person: "calling=persistent, input=hot; …".
[[nodiscard]] std::string regimes_text(std::span<const Decision> decisions);

}  // namespace colltune
