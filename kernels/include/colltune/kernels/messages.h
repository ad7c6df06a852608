// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// Messages between ranks that share no memory, for one operation alone. Each carries a tag:
/// receives match messages of the same sender and tag in the order of sending. The caller
/// identifies a message under way by a number below the one given to Communicator::open_messages. A
/// number carries one message at a time, whose bytes must stay in place until it is done or given
/// up. Not thread-safe.
class Messages {
 public:
  static constexpr int largest_tag = 32767;                 ///< the largest that every MPI library
                                                            ///< allows
  static constexpr std::size_t largest_size = 0x7FFF'FFFF;  ///< in bytes: MPI counts with int

  virtual ~Messages() = default;
  /// Starts a send to rank `to`; never waits.
  virtual void send(std::size_t number, int to, int tag, std::span<const std::byte> bytes) = 0;
  /// Starts to receive as many bytes as were sent; never waits.
  virtual void receive(std::size_t number, int from, int tag, std::span<std::byte> bytes) = 0;
  /// Whether no message is under way as `number`. Also advances messages.
  [[nodiscard]] virtual bool is_done(std::size_t number) = 0;
  /// Advances all messages, for a rank that is waiting for something else.
  virtual void advance() = 0;
  /// Cancels what is under way; no other call may follow. The destructor does this too. Returns
  /// whether nothing touches those bytes any more. A library may not release a message that the
  /// other side has begun to receive; it is waited for until `deadline`. If the library still holds
  /// one then, its bytes must stay valid until the process ends.
  [[nodiscard]] virtual bool give_up(Deadline deadline) = 0;
};

}  // namespace colltune
