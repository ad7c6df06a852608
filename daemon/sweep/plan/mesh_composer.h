// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/composition/mesh_reduce.h"
#include "part_choice.h"

namespace colltune {

/// Chooses what is tried for a mesh reduction: in which forms, and which variant runs each
/// collective of a form. All ranks run the same parts, so a variant that some rank of the world
/// lacks is never used.
class MeshComposer {
 public:
  using Setting = CompositionSetting;
  /// `setting.key` must be that of a mesh_reduce over all ranks of the world.
  explicit MeshComposer(const Setting& setting);

  /// A form that is not tried, and why.
  struct Absent {
    std::string form;  ///< "merged.mesh_reduce"; for one step "hierarchical.mesh_reduce of step 0"
    std::string why;
  };
  struct Composed {
    std::vector<Composition> compositions;  ///< each once; the baseline first, if there is one
    std::vector<Absent> absent;
  };
  /// Each form is tried in several ways: all collectives as the library does them; all as is
  /// expected to be fastest (what won in an earlier sweep of exactly these ranks, else by the cost
  /// line); and all with one implementation, for each available implementation.
  [[nodiscard]] Composed compose() const;

  /// Whether `composition` is a form of this reduction.
  [[nodiscard]] bool fits(const Composition& composition) const;
  /// Why these ranks cannot run `composition`, which must fit; empty if they can.
  [[nodiscard]] std::string why_not(const Composition& composition) const;
  /// `composition`, which these ranks can run, as a trial with everything that its parts state
  /// about it. The baseline is what frameworks do without us: the steps in sequence, each by the
  /// library's own choice.
  [[nodiscard]] PlannedVariant as_trial(const Composition& composition) const;

 private:
  [[nodiscard]] std::vector<PartCall> calls_of(const MeshCall& call) const;
  /// Fills the parts of `outline`, whose variants are empty, in each of the ways above.
  void fill(const Composition& outline, const std::string& form, Composed& composed) const;

  Setting setting_;
  PartChooser parts_;
  std::vector<int> nodes_;  ///< of the world's ranks
  std::vector<int> kinds_;  ///< of the world, ascending
};

}  // namespace colltune
