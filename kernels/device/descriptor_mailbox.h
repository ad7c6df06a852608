// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "colltune/machine/abort_flag.h"
#include "colltune/machine/descriptor.h"

namespace colltune {

/// A mailbox through which a rank receives file descriptors from other ranks of its node, in any
/// process. It is a Unix socket, since a process may always send what it has open; taking it from
/// another process (pidfd_getfd) is forbidden on many systems. The socket needs no name in a file
/// system, but ranks in separate containers must share the network namespace. Not thread-safe.
class DescriptorMailbox {
 public:
  /// Plain data, for memory that other ranks read.
  struct Address {
    std::array<char, 14> name{};  ///< chosen by the kernel
    std::uint16_t name_length = 0;
    std::uint64_t token = 0;  ///< identifies this mailbox; messages without it come from strangers
  };
  struct Letter {
    int to = 0;  ///< a rank
    Address address{};
    int descriptor = -1;
  };

  /// The mailbox of `rank`. Throws Error(resource_exhausted).
  explicit DescriptorMailbox(int rank);
  [[nodiscard]] const Address& address() const { return address_; }

  /// Sends `letters`, and returns the descriptors from `senders`, in their order. A rank that sends
  /// several is named once for each; they arrive in the order of its letters. All ranks that
  /// exchange make the same number of exchanges, with the same `round` in each. Throws RankMissing,
  /// at `deadline` or when the flag is raised, for the first rank that has sent nothing or taken
  /// nothing; Error(unavailable) if a mailbox does not exist, or no longer.
  [[nodiscard]] std::vector<Descriptor> exchange(std::uint32_t round,
                                                 std::span<const Letter> letters,
                                                 std::span<const int> senders, Deadline deadline,
                                                 const AbortFlag& abort_flag);

 private:
  [[nodiscard]] bool send(std::uint32_t round, const Letter& letter) const;
  /// Receives one message; false if there is none.
  [[nodiscard]] bool receive(std::uint32_t round, std::span<const int> senders,
                             std::vector<Descriptor>& got) const;

  int rank_;
  Descriptor socket_;
  Address address_;
};

}  // namespace colltune
