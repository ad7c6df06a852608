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

/// How a short message is laid out in symmetric memory so that it needs no separate signal: the
/// reader sees from the message itself that it has arrived, with one transfer of a cache line
/// instead of two. Messages use the slots in turn, by message number; reader and writer agree on
/// it.
class MailFormat {
 public:
  /// If slots must be cleared before reuse, they are cleared two messages ahead: a rank that has
  /// read the message in between sees the slot cleared.
  static constexpr std::uint64_t cleared_ahead = 2;

  virtual ~MailFormat() = default;
  /// "line", "header", "lines", "word" or "poison".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Bytes of a slot for a message of `size` bytes: whole cache lines.
  [[nodiscard]] virtual std::size_t slot_size(std::size_t size) const = 0;
  /// Makes a slot empty, before any rank looks at it.
  virtual void clear(std::byte* slot, std::size_t size) const = 0;
  /// Writes message `number` (from 1). `stores` is honoured only by formats with `streams`, whose
  /// messages are long enough for it to matter.
  virtual void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t number,
                     CopyMode stores) const = 0;
  /// Message `number`, of `size` bytes: in the slot itself, or copied to `space`; null if it has
  /// not arrived yet.
  [[nodiscard]] virtual const std::byte* read(const std::byte* slot, std::size_t size,
                                              std::uint64_t number,
                                              std::span<std::byte> space) const = 0;
  /// Whether `write` can bypass the caches.
  [[nodiscard]] virtual bool streams() const { return false; }
  /// Whether a slot must be cleared before it is used again.
  [[nodiscard]] virtual bool needs_clearing() const { return false; }
};

/// All formats.
[[nodiscard]] std::vector<std::unique_ptr<const MailFormat>> make_mail_formats();

/// The format of that name; null if there is none.
[[nodiscard]] std::unique_ptr<const MailFormat> make_mail_format(std::string_view name);

/// Bytes of `space` that `read` may need for a message.
[[nodiscard]] constexpr std::size_t space_for(std::size_t size) { return size + 8; }

}  // namespace colltune
