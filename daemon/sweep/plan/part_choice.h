// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

/// The family of a composition whose parts come from several families: only this project can run
/// it.
inline constexpr std::string_view mixed_family = "colltune";

/// The key and the ranks for which something is composed, and what it may be composed of.
struct CompositionSetting {
  const Availability& availability;
  const PlannedWorld& world;
  const TuningKey& key;
  const Implementations& catalogue;
  /// The implementations that compositions are made of; the baselines first.
  const std::map<Collective, std::vector<const Implementation*>>& selected;
  /// If a decision was made for a subset of these ranks alone, that subset runs its winner.
  std::span<const Decision> decisions;
};

/// A collective that some of the ranks run among themselves.
struct PartCall {
  Problem problem;
  Topology topology;
  std::vector<int> ranks;  ///< of the launch
};

/// Chooses the variants that are tried for the parts of a composition.
class PartChooser {
 public:
  explicit PartChooser(const CompositionSetting& setting) : setting_(setting) {}

  struct Choice {
    std::optional<Variant> library;  ///< what would run without this project
    std::optional<Variant> own;      ///< what won there alone, else what is expected to be fastest
  };
  /// The choice with which ranks of these kinds run all of `calls`, which differ in their ranks
  /// alone.
  [[nodiscard]] Choice choose(std::span<const PartCall> calls, std::span<const int> kinds) const;
  /// The variant of `implementation` that is expected to be fastest; nothing if none can run.
  [[nodiscard]] std::optional<Variant> cheapest(const Implementation& implementation,
                                                std::span<const PartCall> calls,
                                                std::span<const int> kinds) const;
  /// Why ranks of these kinds cannot run `call`; empty if they can.
  [[nodiscard]] std::string why_not_among(const Implementation& implementation,
                                          const Variant& variant, const PartCall& call,
                                          std::span<const int> kinds) const;
  [[nodiscard]] const Implementation* find(const Variant& variant) const;
  /// The first rank of the world that is of `kind`.
  [[nodiscard]] int first_rank(int kind) const;

 private:
  [[nodiscard]] std::optional<Variant> best_known(const PartCall& call) const;
  [[nodiscard]] bool can_run(const Implementation& implementation, const Variant& variant,
                             std::span<const PartCall> calls, std::span<const int> kinds) const;
  [[nodiscard]] const Capability& capability(int kind) const {
    return setting_.availability.kinds[static_cast<std::size_t>(kind)];
  }

  CompositionSetting setting_;
};

}  // namespace colltune
