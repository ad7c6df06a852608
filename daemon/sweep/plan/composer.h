// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/composition/grouped.h"
#include "colltune/sweep/plan/sweep_plan.h"
#include "part_choice.h"

namespace colltune {

/// A variant that some ranks of a world can run.
struct Option {
  const Implementation* implementation = nullptr;
  Variant variant;
  std::vector<int> kinds;  ///< of the availability, that support it; ascending
};

/// Finds what ranks of one world that cannot all run one variant may run together for one key.
class Composer {
 public:
  using Setting = CompositionSetting;
  explicit Composer(const Setting& setting);

  /// The compositions to measure, each once, or the reason why there are none. Both are empty if
  /// the ranks are alike. `options` are the key's single variants.
  struct Composed {
    std::vector<Composition> compositions;
    std::string why_none;
  };
  [[nodiscard]] Composed compose(CompositionMode mode, std::span<const Option> options) const;

  /// Sets of several ranks of the launch that can do the same, if not all of the world can: all
  /// ranks of each class, and those of each node, which form a group.
  [[nodiscard]] std::set<std::vector<int>> like_ranks(std::span<const Option> options) const;

  /// Whether `composition` is meant for these kinds of ranks and this collective.
  [[nodiscard]] bool fits(const Composition& composition) const;
  /// Why these ranks cannot run `composition`, which must fit; empty if they can.
  [[nodiscard]] std::string why_not(const Composition& composition) const;
  /// `composition`, which these ranks can run, as a trial with everything that its parts state
  /// about it.
  [[nodiscard]] PlannedVariant as_trial(const Composition& composition) const;

 private:
  /// Kinds that can do the same: one architecture and build, and the same options.
  using Class = std::vector<int>;
  [[nodiscard]] std::vector<Class> classes_of(std::span<const Option> options) const;
  [[nodiscard]] Composed groupings(std::span<const Option> options) const;
  using Stage = PartCall;  ///< what a group is asked to do
  /// The groups of the world's ranks.
  struct Groups {
    std::vector<int> sizes;
    std::vector<std::vector<int>> ranks;  ///< of the launch
    GroupTopologies topologies;
  };
  [[nodiscard]] std::vector<Stage> stages_of(const Groups& groups, PartRole role,
                                             const Class& of_class) const;
  /// Combines each of `insides` with each implementation across the groups, in the variant that is
  /// expected to be fastest.
  [[nodiscard]] std::vector<Composition> with_bridges(const Stage& across,
                                                      std::span<const Composition> insides) const;
  [[nodiscard]] const Capability& capability(int kind) const {
    return setting_.availability.kinds[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] int kind_of(int rank) const {
    return setting_.availability.kind_of_rank[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::string why_not_grouped_here(const Composition& composition) const;
  [[nodiscard]] PlannedVariant describe_grouped(const Composition& composition) const;
  [[nodiscard]] std::vector<Composition> substitutions(std::span<const Option> options) const;
  /// `alike` are the options with the protocol of `lacking`, which some ranks lack.
  [[nodiscard]] std::optional<Composition> substitute(const Option& lacking,
                                                      std::span<const Option* const> alike) const;
  [[nodiscard]] std::string why_not_substituted(const Composition& composition) const;
  [[nodiscard]] PlannedVariant describe_substituted(const Composition& composition) const;
  [[nodiscard]] const Implementation* find(const Variant& variant) const {
    return parts_.find(variant);
  }
  [[nodiscard]] std::vector<std::string> digests_of(std::span<const int> kinds) const;
  [[nodiscard]] int first_rank(int kind) const { return parts_.first_rank(kind); }

  Setting setting_;
  PartChooser parts_;
  std::vector<int> nodes_;              ///< of the world's ranks
  std::vector<int> kinds_;              ///< of the world, ascending
  std::map<int, std::string> digests_;  ///< of each of them
};

}  // namespace colltune
