// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/sweep/sweep_plan.h"

namespace colltune {

/// A variant that some ranks of a world can run.
struct Option {
  const Implementation* implementation = nullptr;
  Variant variant;
  std::vector<int> kinds;  ///< of the availability, that support it; ascending
};

/// What ranks of one world that cannot all run the same may run together for one key.
class Composer {
 public:
  struct Setting {
    const Availability& availability;
    const PlannedWorld& world;
    const TuningKey& key;
    const std::map<Collective, std::vector<const Implementation*>>& implementations;
    /// Where they were made for a group of these ranks alone, its winner is what it runs inside.
    std::span<const Decision> decisions;
  };
  explicit Composer(const Setting& setting);

  /// Those to be measured, each once; none where the ranks are alike. `options`: what single
  /// variants there are for the key.
  [[nodiscard]] std::vector<Composition> compose(CompositionMode mode,
                                                 std::span<const Option> options) const;

  /// Whether `composition` is about these kinds of ranks and this collective.
  [[nodiscard]] bool fits(const Composition& composition) const;
  /// Why these ranks cannot run `composition`, which fits; empty where they can.
  [[nodiscard]] std::string why_not(const Composition& composition) const;
  /// As a trial.
  [[nodiscard]] PlannedVariant describe(const Composition& composition) const;

 private:
  [[nodiscard]] std::vector<Composition> substitutions(std::span<const Option> options) const;
  /// `alike`: options of the protocol of the one that some ranks lack.
  [[nodiscard]] std::optional<Composition> substitute(const Option& lacking,
                                                      std::span<const Option* const> alike) const;
  [[nodiscard]] std::string why_not_substituted(const Composition& composition) const;
  [[nodiscard]] PlannedVariant describe_substituted(const Composition& composition) const;
  [[nodiscard]] const Implementation* find(const Variant& variant) const;
  [[nodiscard]] std::vector<std::string> digests_of(std::span<const int> kinds) const;
  [[nodiscard]] int first_rank(int kind) const;

  Setting setting_;
  std::vector<int> kinds_;              ///< of the world, ascending
  std::map<int, std::string> digests_;  ///< of each of them
};

}  // namespace colltune
