// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "colltune/collectives/mesh_choices.h"
#include "colltune/kernels/communication/subgroups.h"
#include "colltune/kernels/execution/call_times.h"
#include "colltune/kernels/implementation.h"
#include "plain_calls.h"

namespace colltune {

/// The single mesh reductions of one communicator on one rank. What runs the calls over a mesh is
/// prepared by the first one and kept for the later ones. All ranks make the same calls in the same
/// order. Not thread-safe.
class MeshCalls {
 public:
  /// How many meshes are kept. Beyond that, the least recently used one is dropped.
  static constexpr std::size_t most_kept = 32;

  /// `subgroups` and `catalogue` outlive this.
  MeshCalls(Subgroups& subgroups, MeshChoices choices, const Implementations& catalogue,
            PlainWay way);
  MeshCalls(const MeshCalls&) = delete;
  MeshCalls& operator=(const MeshCalls&) = delete;
  ~MeshCalls();

  /// A mesh that calls are over.
  class Mesh;
  /// Null if there was no call over `mesh` yet.
  [[nodiscard]] Mesh* find(const MeshReduction& mesh);
  /// For one that `find` does not know. The next `prepare` must be for it.
  [[nodiscard]] Mesh& add(const MeshReduction& mesh);
  /// Which mesh it is, from 1 on, in the order of their first calls: the same on all ranks.
  [[nodiscard]] static int number_of(const Mesh& mesh);

  /// Whether what runs `call`, whose mesh is not set, is prepared.
  [[nodiscard]] bool is_prepared(Mesh& mesh, const Call& call) const;
  /// Prepares it. Collective. Throws Error(invalid_argument) on all ranks if they ask for different
  /// calls, else Error on all ranks or none, except for RankMissing. A form that cannot be prepared
  /// is left out from then on, and a note says why.
  void prepare(Mesh& mesh, const Call& call);

  struct Next {
    Operation& operation;  ///< whose next start is the call
    CallSamples& samples;  ///< of all calls that run likewise
  };
  /// For a call that is prepared. Local.
  [[nodiscard]] Next next(Mesh& mesh, const Call& call);

  /// By what ran the calls: a form's name, or what stands for plain calls.
  [[nodiscard]] const std::map<std::string, CallSamples>& samples() const { return samples_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// Throws Error(invalid_argument) on all ranks if they do not ask for the same. Collective.
  void agree(const Mesh& mesh, const Call& call) const;
  /// After that: `mesh` is known from now on.
  void keep(const Mesh& mesh);

  Subgroups& subgroups_;
  MeshChoices choices_;
  const Implementations& catalogue_;
  PlainWay way_;
  std::vector<std::unique_ptr<Mesh>> kept_;  ///< most recently used first
  std::unique_ptr<Mesh> added_;              ///< that the ranks have not agreed on yet
  int meshes_ = 0;                           ///< so many had calls
  std::map<std::string, CallSamples> samples_;
  std::vector<std::string> notes_;
};

}  // namespace colltune
