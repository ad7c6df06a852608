// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune::test {

struct RandomCalls {
  int calls = 0;
  /// Operations that are alive at the same time and take turns by chance.
  int operations = 24;
  std::uint64_t seed = 1;
  /// So many variants may be passed over for lack of symmetric memory; then the calls are made with
  /// those that were prepared until then. 0: that is an error.
  int most_without_memory = 0;
  /// The calls are reductions over it, by implementations of all_reduce; its operators are theirs.
  std::optional<MeshReduction> mesh{};
  /// Whether a variant takes part.
  std::function<bool(const Implementation& implementation, const Variant& variant)> takes =
      [](const Implementation&, const Variant&) { return true; };
  /// Looks at this rank after the first call and every 50 calls. Returns what is wrong; empty if
  /// nothing is.
  std::function<std::string()> inspect = [] { return std::string{}; };
};

/// Prepares operations of the catalogue that can be bound to other calls, once each, and makes
/// random calls with them on one communicator: size, root, type, operator, in place (where only the
/// root knows: on the root alone), buffers and delays are drawn anew for each call. Checks on this
/// rank what conformance.h checks. On ranks with devices, operations of those. Returns what went
/// wrong first, empty if nothing did. Collective.
[[nodiscard]] std::string find_fault_in_random_calls(Communicator& communicator,
                                                     const Implementations& catalogue,
                                                     const RandomCalls& calls);

/// How many calls a test makes: 100,000 in a full run.
[[nodiscard]] int number_of_random_calls();

}  // namespace colltune::test
