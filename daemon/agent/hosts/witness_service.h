// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "colltune/hosts/witness.h"
#include "colltune/machine/descriptor.h"

namespace colltune {

/// A TCP socket that listens.
struct WitnessListener {
  Descriptor socket;
  std::uint16_t port = 0;  ///< chosen by the system
};

/// Listens on all addresses of this host, of both families if it has both. Empty if it cannot.
[[nodiscard]] std::optional<WitnessListener> listen_for_supervisor();

/// The times of a witness; tests have shorter ones.
struct WitnessTimes {
  std::chrono::milliseconds between_looks{500};
  /// For a connection to show the token.
  std::chrono::milliseconds introduction{2000};
  /// For the supervisor to connect. It does so as soon as the launch has begun.
  std::chrono::milliseconds supervisor{30'000};
};

/// What a witness does, until `channel` is closed by its owner, or the supervisor goes, or does not
/// come. A report is one line: "stopped", then the ranks that are stopped.
void serve_supervisor(const WitnessTask& task, const Descriptor& channel, WitnessListener listener,
                      const WitnessTimes& times = {});

}  // namespace colltune
