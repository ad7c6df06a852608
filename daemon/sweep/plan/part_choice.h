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

/// Of what has parts of several families: only this project can run it.
inline constexpr std::string_view mixed_family = "colltune";

/// For which key, which ranks and of what something is composed.
struct CompositionSetting {
  const Availability& availability;
  const PlannedWorld& world;
  const TuningKey& key;
  const Implementations& catalogue;
  /// Of these, whatever is composed is made; the baselines first.
  const std::map<Collective, std::vector<const Implementation*>>& selected;
  /// Where they were made for a part of these ranks alone, its winner is what it runs.
  std::span<const Decision> decisions;
};

/// A collective that some of the ranks do among themselves.
struct PartCall {
  Problem problem;
  Topology topology;
  std::vector<int> ranks;  ///< of the launch
};

/// With which variants the parts of a composition are tried.
class PartChooser {
 public:
  explicit PartChooser(const CompositionSetting& setting) : setting_(setting) {}

  struct Choice {
    std::optional<Variant> library;  ///< what there is without this project
    std::optional<Variant> own;      ///< what won there alone, else what should be the fastest
  };
  /// With what ranks of these kinds do all of `calls`, which differ in the ranks alone.
  [[nodiscard]] Choice choose(std::span<const PartCall> calls, std::span<const int> kinds) const;
  /// The variant of `implementation` that should be the fastest; nothing where none can run.
  [[nodiscard]] std::optional<Variant> cheapest(const Implementation& implementation,
                                                std::span<const PartCall> calls,
                                                std::span<const int> kinds) const;
  /// Why ranks of these kinds cannot do `call`; empty where they can.
  [[nodiscard]] std::string why_not_among(const Implementation& implementation,
                                          const Variant& variant, const PartCall& call,
                                          std::span<const int> kinds) const;
  [[nodiscard]] const Implementation* find(const Variant& variant) const;
  /// Of the world.
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
