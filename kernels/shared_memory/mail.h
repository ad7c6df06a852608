// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "colltune/kernels/arithmetic/copy.h"

namespace colltune {

/// How a short message lies in symmetric memory so that its arrival needs no signal of its own: the
/// reader finds out from the message itself, with one transfer of a cache line instead of two.
/// Slots are used in turn, by the number of the message; reader and writer agree on it.
class MailFormat {
 public:
  /// Where a slot has to be cleared before it is used again, that is done two messages ahead: who
  /// reads the message in between sees it empty.
  static constexpr std::uint64_t cleared_ahead = 2;

  virtual ~MailFormat() = default;
  /// "line", "header", "lines", "word" or "poison".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Bytes of a slot for messages of `size` bytes: whole cache lines.
  [[nodiscard]] virtual std::size_t slot_size(std::size_t size) const = 0;
  /// Makes a slot empty, before anybody looks at it.
  virtual void clear(std::byte* slot, std::size_t size) const = 0;
  /// Writes message `number` (from 1). `stores` is for formats that `streams` says heed it, where
  /// messages are long enough for it to matter.
  virtual void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t number,
                     CopyMode stores) const = 0;
  /// Message `number`, of `size` bytes: in the slot itself, or copied to `space`; null as long as
  /// it has not come.
  [[nodiscard]] virtual const std::byte* read(const std::byte* slot, std::size_t size,
                                              std::uint64_t number,
                                              std::span<std::byte> space) const = 0;
  /// Whether `write` can go past the caches.
  [[nodiscard]] virtual bool streams() const { return false; }
  /// Whether a slot has to be cleared before it is used again.
  [[nodiscard]] virtual bool needs_clearing() const { return false; }
};

/// All of them.
[[nodiscard]] std::vector<std::unique_ptr<const MailFormat>> make_mail_formats();

/// A format of that name; null where there is none.
[[nodiscard]] std::unique_ptr<const MailFormat> make_mail_format(std::string_view name);

/// Bytes that `read` may need for a message.
[[nodiscard]] constexpr std::size_t space_for(std::size_t size) { return size + 8; }

}  // namespace colltune
