// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// Messages between ranks that share no memory, for one operation alone. Each carries a tag: a
/// receive takes the messages of its sender with the same tag in the order in which they were sent.
/// What is under way is known by a number of the caller's, below the one that
/// Communicator::open_messages was given; a number carries one message at a time, and its bytes
/// stay where they are until it is done or given up. Not thread-safe.
class Messages {
 public:
  static constexpr int largest_tag = 32767;                 ///< what every MPI library allows
  static constexpr std::size_t largest_size = 0x7FFF'FFFF;  ///< in bytes: MPI counts with int

  virtual ~Messages() = default;
  /// Begins to send to rank `to`; never waits.
  virtual void send(std::size_t number, int to, int tag, std::span<const std::byte> bytes) = 0;
  /// Begins to receive as many bytes as were sent; never waits.
  virtual void receive(std::size_t number, int from, int tag, std::span<std::byte> bytes) = 0;
  /// Whether no message is under way as `number`; moves messages on.
  [[nodiscard]] virtual bool is_done(std::size_t number) = 0;
  /// Moves all messages on, for who waits for something else meanwhile.
  virtual void advance() = 0;
  /// Gives up what is under way, as the last thing that is asked of it (destroying it does so too):
  /// whether nothing touches those bytes any more. A library may not let go of a message that the
  /// other side has begun to take; it is waited for until `deadline`. Where it still holds one,
  /// its bytes must stay as long as the process.
  [[nodiscard]] virtual bool give_up(Deadline deadline) = 0;
};

}  // namespace colltune
