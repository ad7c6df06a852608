// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/composition/mesh_reduce.h"
#include "part_choice.h"

namespace colltune {

/// With what a mesh reduction is tried: in which forms, and each of their collectives with which
/// variant. All ranks run the same parts, so a variant that some rank of the world lacks is in
/// none.
class MeshComposer {
 public:
  using Setting = CompositionSetting;
  /// `setting.key` is that of a mesh_reduce over all ranks of the world.
  explicit MeshComposer(const Setting& setting);

  /// A form that is not tried, and why.
  struct Absent {
    std::string form;  ///< "merged.mesh_reduce", of one step "hierarchical.mesh_reduce of step 0"
    std::string why;
  };
  struct Composed {
    std::vector<Composition> compositions;  ///< the baseline first, where there is one; each once
    std::vector<Absent> absent;
  };
  /// In each form all collectives as the library does them, all as they should be the fastest (what
  /// won in an earlier sweep of just these ranks, else what the cost line says), and all with one
  /// implementation, for each there is.
  [[nodiscard]] Composed compose() const;

  /// Whether `composition` is a form of this reduction.
  [[nodiscard]] bool fits(const Composition& composition) const;
  /// Why these ranks cannot run `composition`, which fits; empty where they can.
  [[nodiscard]] std::string why_not(const Composition& composition) const;
  /// `composition`, which these ranks can run, with all that its parts say about it. The baseline
  /// is what frameworks do without us: the steps in sequence, each by the library's own choice.
  [[nodiscard]] PlannedVariant as_trial(const Composition& composition) const;

 private:
  [[nodiscard]] std::vector<PartCall> calls_of(const MeshCall& call) const;
  /// Each way to fill the parts of `outline`, whose variants are empty.
  void fill(const Composition& outline, const std::string& form, Composed& composed) const;

  Setting setting_;
  PartChooser parts_;
  std::vector<int> nodes_;  ///< of the world's ranks
  std::vector<int> kinds_;  ///< of the world, ascending
};

}  // namespace colltune
