// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "nccl_rank.h"
#include "nccl_library/library.h"
#include "windows.h"

namespace colltune::nccl {

/// What a call asks of NCCL besides the problem.
struct CallSettings {
  CommunicatorSettings communicator{};
  bool is_premultiplied = false;  ///< NativeCall's
};

/// A way to call NCCL and let it choose algorithm, protocol and channels: an entry of the catalogue
/// for each collective that has it.
struct OwnChoice {
  std::string_view suffix;  ///< of the name, behind the collective
  std::string_view description;
  bool is_baseline = false;
  std::vector<Collective> collectives{};
  /// The settings worth trying, each a variant's parameters.
  std::vector<std::vector<Parameter>> (*list)(const Problem&, const Topology&,
                                              const Capability&) = nullptr;
  /// Why such a rank cannot run it with these parameters, which may be anything; empty where it
  /// can. Asked where NCCL's plain call is there.
  std::string (*why_not)(const Problem&, const Topology&, const Capability&,
                         const std::vector<Parameter>&) = nullptr;
  /// Its buffers lie in memory of this, in windows that are symmetric between the ranks; null: they
  /// lie anywhere.
  std::shared_ptr<WindowMemory> windows{};
  /// Of parameters that can be run.
  CallSettings (*settings)(const std::vector<Parameter>&) = nullptr;
};

[[nodiscard]] Implementations make_own_choice(const OwnChoice& form,
                                              const std::shared_ptr<const Runtime>& runtime);

}  // namespace colltune::nccl
