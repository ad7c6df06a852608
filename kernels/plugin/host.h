// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/communicator.h"
#include "colltune/plugin.h"

/// What a plug-in holds as its memory: symmetric memory with the signals after the data.
struct colltune_memory {
  colltune_communicator* owner;
  int rank;  ///< this rank and the number of ranks, kept so that a look-up needs no call
  int ranks;
  int signal_count;
  std::unique_ptr<colltune::SymmetricMemory> memory;
  colltune::Signals signals;
};

/// What a plug-in holds as its communicator. There is one for each operation; it records what the
/// host learns during the current call into the plug-in.
struct colltune_communicator {
  explicit colltune_communicator(colltune::Communicator& ranks) : communicator(ranks) {}

  colltune::Communicator& communicator;
  bool is_preparing = false;
  std::vector<std::unique_ptr<colltune_memory>> memories;
  std::optional<colltune::RankMissing> missing;  ///< the last wait that was given up
  std::string message;                           ///< the text of the next error
  std::string misuse;                            ///< how the plug-in broke the rules
};

namespace colltune {

/// The functions that every plug-in receives. None throws.
[[nodiscard]] const colltune_host& plugin_host() noexcept;

/// A status as the plug-in interface numbers it.
[[nodiscard]] constexpr colltune_status to_plugin_status(StatusCode code) {
  return static_cast<colltune_status>(code);
}

[[nodiscard]] inline std::int64_t to_plugin_deadline(Deadline deadline) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
}

}  // namespace colltune
