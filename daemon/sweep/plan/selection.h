// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "colltune/sweep/spec/sweep_spec.h"

namespace colltune {

/// The implementations chosen by the patterns of `spec`, by collective, together with the
/// baselines. Baselines come first, the others in the order given. Throws Error(invalid_argument)
/// for a pattern that matches nothing.
[[nodiscard]] std::map<Collective, std::vector<const Implementation*>> select_implementations(
    const SweepSpec& spec, const Implementations& implementations);

/// Whether a rank with `capability` can run `variant`, and no mask hides it there.
[[nodiscard]] Support support_of(const Implementation& implementation, const Problem& problem,
                                 Calling calling, const Topology& topology,
                                 const Capability& capability, const Variant& variant);

/// Why ranks with these capabilities cannot meet in one call of `implementation`, whichever of its
/// variants they support; empty if they can.
[[nodiscard]] std::string why_not_together(const Implementation& implementation,
                                           std::span<const Capability* const> capabilities);

/// Applies a configuration's parameter overrides to search spaces, and remembers which parameters
/// they had.
class ParameterOverrides {
 public:
  explicit ParameterOverrides(const std::vector<ParameterOverride>& overrides);

  /// The search space with each overridden parameter set to each of its values.
  [[nodiscard]] std::vector<Variant> apply(std::string_view implementation,
                                           std::vector<Variant> variants);
  /// Throws Error(invalid_argument) for an override of a parameter that none of the matched search
  /// spaces has.
  void check_all_known() const;

 private:
  struct Seen {
    const ParameterOverride* item;
    bool is_known = false;
    std::set<std::string> parameters;  ///< found in the search spaces that it matched
  };
  std::vector<Seen> seen_;
};

}  // namespace colltune
