// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/composition/mesh_reduce.h"
#include "conformance.h"
#include "stub_implementation.h"

namespace colltune::test {

/// A mesh reduction in one form as the conformance test takes implementations.
class ByMesh final : public StubImplementation {
 public:
  ByMesh(Subgroups& ranks, const Composition& composition, const Implementations& catalogue,
         Members members = {})
      : StubImplementation(Collective::all_reduce),
        ranks_(ranks),
        composition_(composition),
        catalogue_(catalogue),
        members_(std::move(members)) {}
  /// A wrong one: it does another reduction than it is asked for.
  void do_instead(MeshReduction mesh) { instead_ = std::move(mesh); }

  Numerics numerics(const Problem& problem, const Variant&) const override;
  CallTraits traits(const Problem& problem, const Topology&, const Variant&) const override;
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call, const Variant&,
                                     Deadline deadline) const override;

 private:
  Subgroups& ranks_;
  const Composition& composition_;
  const Implementations& catalogue_;
  Members members_;
  std::optional<MeshReduction> instead_{};
};

/// `elements` of `type`, reduced over `mesh`.
[[nodiscard]] Problem mesh_problem(MeshReduction mesh, DataType type, std::size_t elements);

/// Meshes of so many ranks, the usual ones first, with sums in all steps: regular ones, groups and
/// components of unlike sizes, single ranks, inputs that count twice.
[[nodiscard]] std::vector<MeshReduction> meshes_of(int ranks);
/// The mesh with the operators of its steps in turn.
[[nodiscard]] MeshReduction with_operators(MeshReduction mesh, const std::vector<ReduceOp>& ops);
[[nodiscard]] MeshReduction random_mesh(std::mt19937& random, int ranks);

/// The parts that a form of `mode` has, without their variants. `inside`: the step in whose groups
/// a hierarchical one shares out.
[[nodiscard]] Composition outline_of(const MeshReduction& mesh, CompositionMode mode, int inside);

/// The form with variants that follow one another in the catalogue as `turn` counts on: unlike ones
/// in neighbouring parts. For ranks that can all do what this one can; threads share what is
/// `known`. Throws as mesh_form.
[[nodiscard]] Composition choose_composition(const Problem& problem, Composition outline,
                                             const Communicator& communicator,
                                             const Capability& capability,
                                             const Implementations& catalogue,
                                             ChosenVariants& known, std::size_t turn);

/// What was run, for a test to see that it was enough.
struct MeshRuns {
  int sequential = 0;
  int merged = 0;
  int hierarchical = 0;
  int rounding = 0;    ///< of them, with data that is rounded
  int unlike = 0;      ///< of them, with unlike variants in two parts
  int by_library = 0;  ///< of them, with a variant of the MPI library's
  int refused = 0;     ///< forms that there are not
};
MeshRuns& operator+=(MeshRuns& all, const MeshRuns& more);

/// Runs each form that there is of `mesh` and reports each fault to GoogleTest; sizes, places of
/// the buffers and variants follow one another as `turn` counts on. Collective.
[[nodiscard]] MeshRuns run_mesh(Subgroups& ranks, const Capability& capability,
                                const Implementations& catalogue, ChosenVariants& known,
                                const MeshReduction& mesh, DataType type, std::size_t turn);

/// The operators that steps have in turn: each alone, and mixtures.
[[nodiscard]] std::vector<std::vector<ReduceOp>> operators_in_turn();

/// Runs run_mesh with all of them and all `types`.
[[nodiscard]] MeshRuns run_operators(Subgroups& ranks, const Capability& capability,
                                     const Implementations& catalogue, ChosenVariants& known,
                                     const MeshReduction& mesh, const std::vector<DataType>& types,
                                     std::size_t turn);

/// The same, but types and operators take turns together: each of them at least once.
[[nodiscard]] MeshRuns run_operators_in_turn(Subgroups& ranks, const Capability& capability,
                                             const Implementations& catalogue,
                                             ChosenVariants& known, const MeshReduction& mesh,
                                             const std::vector<DataType>& types, std::size_t turn);

}  // namespace colltune::test
