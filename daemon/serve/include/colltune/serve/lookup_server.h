// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "colltune/serve/listen_address.h"
#include "colltune/serve/table_source.h"

namespace colltune {

struct ServerOptions {
  std::vector<ListenAddress> listen;
  /// TCP beyond this host, without encryption and without asking who calls.
  bool allow_insecure_network = false;
};

/// The gRPC server of colltune.v1.TuningService, with health ("" and the service's name) and
/// reflection. Answers from its constructor to `shutdown`; `source` outlives it. Not thread-safe
/// itself; the requests are served by gRPC's threads.
class LookupServer {
 public:
  /// Listens on every address, or on none. Throws Error(invalid_argument) where there is none or
  /// one reaches beyond this host without permission, Error(already_exists) where a port or socket
  /// is taken, Error(failed_precondition) where it cannot be bound for another reason.
  LookupServer(const TableSource& source, const ServerOptions& options);
  /// Shuts down at once where `shutdown` was not called.
  ~LookupServer();

  /// Where it listens, with the ports that the system chose.
  [[nodiscard]] const std::vector<ListenAddress>& addresses() const;

  /// What the health service says. Begins with "not serving".
  void set_serving(bool is_serving);

  /// Health says "not serving", running calls get `grace` to finish and are cancelled then.
  void shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colltune
