// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
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
  /// What a person should know while it serves: connections that find no room, callers that do not
  /// read. May be empty. Called by other threads.
  std::function<void(const std::string& text)> warn{};
  /// A connection that has not said by then that it speaks HTTP/2 is closed.
  std::chrono::milliseconds handshake_limit = std::chrono::seconds(5);
  /// So is a connection without a call for so long; gRPC's clients open another one at the next.
  std::chrono::milliseconds idle_limit = std::chrono::minutes(10);
  /// Connections at once; 0: as many as the limit of open files has room for.
  std::size_t most_connections = 0;
  /// A receiver of a table that does not take a message within this time loses its call.
  std::chrono::milliseconds stall_limit = std::chrono::seconds(10);
};

/// Health says of this name whether the newest snapshot could be read: "not serving" where an older
/// one is served instead.
inline constexpr const char* snapshot_health_name = "snapshot";

/// The gRPC server of colltune.v1.TuningService, with health ("" and the service's name) and
/// reflection. Answers from its constructor to `shutdown`; `source` outlives it. Not thread-safe
/// itself; the requests are served by gRPC's threads and its own.
class LookupServer {
 public:
  /// Listens on every address, or on none. Throws Error(invalid_argument) where there is none,
  /// where one is given twice or reaches beyond this host without permission, Error(already_exists)
  /// where a port or socket is taken, Error(failed_precondition) where it cannot be bound for
  /// another reason, Error(resource_exhausted) where too few files may be open.
  LookupServer(const TableSource& source, const ServerOptions& options);
  /// Shuts down at once where `shutdown` was not called.
  ~LookupServer();

  /// Where it listens, with the ports that the system chose.
  [[nodiscard]] const std::vector<ListenAddress>& addresses() const;

  /// What the health service says. Begins with "not serving".
  void set_serving(bool is_serving);
  /// The same of snapshot_health_name. Begins with "serving".
  void set_snapshot_read(bool is_read);

  /// Health says "not serving", no connection is accepted any more, running calls get `grace` to
  /// finish, later calls and those that are not done by then are UNAVAILABLE.
  void shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colltune
