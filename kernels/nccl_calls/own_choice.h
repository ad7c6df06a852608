// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/kernels/implementation.h"
#include "library_call.h"
#include "nccl_library/library.h"
#include "nccl_rank.h"
#include "windows.h"

namespace colltune::nccl {

/// What a call asks of NCCL in addition to the problem.
struct CallSettings {
  CommunicatorSettings communicator{};
  bool is_premultiplied = false;  ///< as in NativeCall
  std::optional<CallSelection> selection{};
};

/// A way to call NCCL that leaves algorithm, protocol and channels to it: one entry of the
/// catalogue for each collective that supports it.
struct OwnChoice {
  std::string_view suffix;  ///< of the name, after the collective
  std::string_view description;
  bool is_baseline = false;
  std::vector<Collective> collectives{};
  /// The settings worth trying, each as the parameters of a variant.
  std::vector<std::vector<Parameter>> (*list)(const Problem&, const Topology&,
                                              const Capability&) = nullptr;
  /// Why such a rank cannot run it with these parameters, which may be arbitrary; empty if it can.
  /// Called only if NCCL's plain call is supported.
  std::string (*why_not)(const Problem&, const Topology&, const Capability&,
                         const std::vector<Parameter>&) = nullptr;
  /// If set, its buffers lie in memory of this source, in windows that are symmetric between the
  /// ranks; null: they lie anywhere.
  std::shared_ptr<WindowMemory> windows{};
  /// The settings of parameters that can be run.
  CallSettings (*settings)(Collective, const std::vector<Parameter>&) = nullptr;
};

[[nodiscard]] Implementations make_own_choice(const OwnChoice& form,
                                              const std::shared_ptr<const Runtime>& runtime);

}  // namespace colltune::nccl
