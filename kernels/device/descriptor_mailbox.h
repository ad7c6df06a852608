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

/// Where a rank gets file descriptors from other ranks of its node, in whichever process: a Unix
/// socket, since a process may always send what it has open (to take it from another one, by
/// pidfd_getfd, many systems forbid). It needs no name in a file system: ranks in containers of
/// their own must share the network's namespace. Not thread-safe.
class DescriptorMailbox {
 public:
  /// For memory that others read: plain data.
  struct Address {
    std::array<char, 14> name{};  ///< that the kernel chose
    std::uint16_t name_length = 0;
    std::uint64_t token = 0;  ///< of this mailbox: what comes without it is a stranger's
  };
  struct Letter {
    int to = 0;  ///< a rank
    Address address{};
    int descriptor = -1;
  };

  /// Of `rank`. Throws Error(resource_exhausted).
  explicit DescriptorMailbox(int rank);
  [[nodiscard]] const Address& address() const { return address_; }

  /// Sends `letters`, and returns what came from `senders`, in their order. A rank that sends
  /// several here is named as often: they come in the order of its letters. Who shares a mailbox's
  /// address exchanges as often as its owner, with the same `round` on both sides. Throws
  /// RankMissing for the first from whom nothing has come, or who has taken nothing, until
  /// `deadline` or when the flag is raised; Error(unavailable) where a mailbox does not exist (any
  /// more).
  [[nodiscard]] std::vector<Descriptor> exchange(std::uint32_t round,
                                                 std::span<const Letter> letters,
                                                 std::span<const int> senders, Deadline deadline,
                                                 const AbortFlag& abort_flag);

 private:
  [[nodiscard]] bool send(std::uint32_t round, const Letter& letter) const;
  /// What lies in the mailbox; false where nothing does.
  [[nodiscard]] bool receive(std::uint32_t round, std::span<const int> senders,
                             std::vector<Descriptor>& got) const;

  int rank_;
  Descriptor socket_;
  Address address_;
};

}  // namespace colltune
