// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>

#include "colltune/vocabulary/names.h"

namespace colltune {

/// How calls are made. Stored and sent by name.
enum class Calling {
  each = 0,        ///< every call binds its own buffers, as an ordinary call does
  persistent = 1,  ///< prepared once for fixed buffers, as a persistent collective or a captured
                   ///< graph does
};
constexpr std::array<Named<Calling>, 2> enum_names(Calling) {
  return {{{Calling::each, "each"}, {Calling::persistent, "persistent"}}};
}
constexpr std::string_view enum_title(Calling) { return "calling"; }

/// Where a run's input was before the run. Stored and sent by name.
enum class InputMode {
  rewritten = 0,  ///< its owner wrote it just before, as applications do
  hot = 1,        ///< untouched since the last run
  rotating = 2,   ///< another buffer in each run; together they exceed the caches
};
constexpr std::array<Named<InputMode>, 3> enum_names(InputMode) {
  return {{{InputMode::rewritten, "rewritten"},
           {InputMode::hot, "hot"},
           {InputMode::rotating, "rotating"}}};
}
constexpr std::string_view enum_title(InputMode) { return "input mode"; }

/// What sweeps measure, lookups ask for and exports write unless they are told otherwise. The only
/// place of these defaults: what an ordinary program does.
inline constexpr Calling default_calling = Calling::each;
inline constexpr InputMode default_input = InputMode::rewritten;

/// The two facts of a key that say how its calls were made and what they found.
struct Regime {
  Calling calling = default_calling;
  InputMode input = default_input;

  friend auto operator<=>(const Regime&, const Regime&) = default;
};

/// "calling=persistent, input=hot", for messages.
[[nodiscard]] std::string describe(const Regime& regime);

}  // namespace colltune
