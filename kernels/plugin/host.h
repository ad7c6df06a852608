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

/// What a plug-in holds as its memory: the symmetric memory with the signals behind the data.
struct colltune_memory {
  colltune_communicator* owner;
  int rank;  ///< this rank and the number of ranks, so that a look-up asks nobody
  int ranks;
  int signal_count;
  std::unique_ptr<colltune::SymmetricMemory> memory;
  colltune::Signals signals;
};

/// What a plug-in holds as its communicator: one per operation, with what the host remembers about
/// the call into the plug-in that is going on.
struct colltune_communicator {
  explicit colltune_communicator(colltune::Communicator& ranks) : communicator(ranks) {}

  colltune::Communicator& communicator;
  bool is_preparing = false;
  std::vector<std::unique_ptr<colltune_memory>> memories;
  std::optional<colltune::RankMissing> missing;  ///< the last wait that was given up
  std::string message;                           ///< the text of the error to come
  std::string misuse;                            ///< what the plug-in did against the rules
};

namespace colltune {

/// The functions that every plug-in gets. None throws.
[[nodiscard]] const colltune_host& plugin_host() noexcept;

/// A status as the plug-in interface numbers it.
[[nodiscard]] constexpr colltune_status to_plugin_status(StatusCode code) {
  return static_cast<colltune_status>(code);
}

[[nodiscard]] inline std::int64_t to_plugin_deadline(Deadline deadline) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
}

}  // namespace colltune
