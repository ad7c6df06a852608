// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace colltune {

/// Messages between ranks that share no memory, for one operation alone. Each carries a tag: a
/// receive takes the messages of its sender with the same tag in the order in which they were sent.
/// What is under way is known by a number of the caller's, below the one that
/// Communicator::open_messages was given; a number carries one message at a time, and its bytes
/// stay where they are until it is done. Destroying it gives up what is under way. Not thread-safe.
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
};

}  // namespace colltune
