// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "listener.h"

namespace colltune {

/// Accepts connections and hands them over. gRPC 1.51's own listener never accepts again once the
/// process ran out of descriptors, so it is not used.
///
/// No more than `most_connections` are open at once: others wait in the listeners' queues until one
/// is closed. Where the system refuses (no descriptors, no memory) it is tried again a little
/// later.
class Acceptor {
 public:
  struct Callbacks {
    std::function<void(int descriptor)> hand_over;      ///< which closes it in the end
    std::function<void(const std::string& text)> warn;  ///< once per state, not per connection
  };

  Acceptor(std::vector<Listener> listeners, std::size_t most_connections, Callbacks callbacks);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  /// Stops accepting; removes the sockets.
  void stop();
  /// Tells whoever is still connected that no more comes, after stop(). gRPC 1.51 would answer a call
  /// that arrives while its server shuts down with CANCELLED, which no caller takes for "try again".
  void hang_up();

 private:
  void run(const std::stop_token& stop);
  /// Accepts all that wait on `socket`; false where the system refuses.
  bool accept_all(int socket);
  [[nodiscard]] bool is_full();
  void forget_closed();
  void say_once(bool& is_said, const std::string& text) const;

  std::vector<Listener> listeners_;
  const std::size_t most_connections_;
  const Callbacks callbacks_;
  FileDescriptor wake_;  ///< an eventfd
  /// Those that were handed over, by descriptor with the socket's number: only a closed one's
  /// descriptor stands for another socket, or none.
  std::unordered_map<int, ino_t> open_;
  bool is_full_said_ = false;
  bool is_refusal_said_ = false;
  std::jthread thread_;
};

/// Raises this process's limit of open files as far as it may. Throws Error(resource_exhausted)
/// where even that is too little to serve.
void raise_descriptor_limit();

/// How many connections the limit of open files has room for beside what is open now and what
/// reading a snapshot takes. Throws Error(resource_exhausted) where there is none.
[[nodiscard]] std::size_t room_for_connections();

}  // namespace colltune
