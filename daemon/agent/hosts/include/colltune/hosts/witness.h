// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "colltune/machine/descriptor.h"

namespace colltune {

/// A rank's process, as the other processes of its host see it.
struct WitnessedRank {
  int rank = 0;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< see ProcessStatus
};

/// What a witness needs to know.
struct WitnessTask {
  std::string token;  ///< the supervisor's
  std::vector<WitnessedRank> ranks;
};

/// The first argument of this program as a witness.
constexpr const char* witness_role = "--colltune-witness";

/// Owns a process that tells the supervisor which ranks of this host are stopped (SIGSTOP, a
/// debugger). The supervisor runs on another host and cannot look, and a thread of a rank would
/// stop with it. One rank of each host starts a witness after it knows its neighbours.
///
/// The witness listens on a TCP port until the supervisor has connected. It accepts nobody else: a
/// connection that does not begin with the token within two seconds is closed. Then it looks at the
/// ranks twice per second and reports only while one is stopped. It ends with its owner however
/// that ends, when the supervisor closes the connection, or if none has connected within 30 s.
class Witness {
 public:
  /// Starts this program again as a witness. Takes 10 s at most. Null if it does not start: then
  /// the supervisor learns nothing about this host.
  [[nodiscard]] static std::unique_ptr<Witness> start(const WitnessTask& task);
  /// Ends it.
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] pid_t process() const { return process_; }

 private:
  Witness(Descriptor channel, pid_t process) : channel_(std::move(channel)), process_(process) {}
  [[nodiscard]] bool brief(const WitnessTask& task);

  Descriptor channel_;  ///< the witness ends when this is closed
  pid_t process_;
  std::uint16_t port_ = 0;
};

/// Runs as a witness; `arguments` is its owner's pid. Returns the exit code.
[[nodiscard]] int run_witness(const std::vector<std::string>& arguments);

}  // namespace colltune
