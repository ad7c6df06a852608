// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "colltune/collectives/agreement.h"
#include "colltune/collectives/choices.h"
#include "colltune/collectives/mesh_choices.h"
#include "colltune/collectives/program_settings.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

/// Which choices a program needs.
struct NeededChoices {
  std::span<const ProgramCalling> callings;
  bool meshes = false;  ///< also those of mesh reductions
};

/// What the ranks of a communicator run; the same on all of them.
struct AgreedChoices {
  std::vector<Choices>
      of_calling{};  ///< for each that was asked for; empty ones if an error follows
  MeshChoices meshes{};
  MeshChoices persistent_meshes{};
  bool are_unlike = false;             ///< the ranks' processors differ: nothing of ours runs
  std::optional<Error> table_error{};  ///< why the table cannot be used
};

/// What a process has decided and read for communicators before, so that the next one that is like
/// them need not: a table is read once for each kind of world. Holds a few of them. Thread-safe.
class ChoiceCache {
 public:
  ChoiceCache();
  ~ChoiceCache();
  ChoiceCache(ChoiceCache&&) noexcept;
  ChoiceCache& operator=(ChoiceCache&&) noexcept;

 private:
  friend AgreedChoices agree_on_choices(Communicator& communicator, Agreement& agreement,
                                        const ProgramSettings& settings,
                                        const Implementations& catalogue,
                                        const NeededChoices& needed, ChoiceCache& cache);
  struct Known;
  std::unique_ptr<Known> known_;
};

/// Collective: rank 0 reads the table that its `settings` name, if any, and decides for all; where
/// its `cache` knows what it decided for such ranks and settings, that holds. Waits as long as it
/// takes. Throws Error on all ranks or none.
[[nodiscard]] AgreedChoices agree_on_choices(Communicator& communicator, Agreement& agreement,
                                             const ProgramSettings& settings,
                                             const Implementations& catalogue,
                                             const NeededChoices& needed, ChoiceCache& cache);

}  // namespace colltune
