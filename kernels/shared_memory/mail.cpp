// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mail.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "arithmetic/round_up.h"

namespace colltune {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t pair_of_lines = 2 * line;  // x86-64 prefetchers fetch pairs
constexpr std::size_t word = sizeof(std::uint64_t);
constexpr std::size_t beside_flag = line - word;  // bytes

std::atomic_ref<std::uint64_t> word_at(const std::byte* slot, std::size_t index) {
  // Slots of other ranks are only loaded from.
  return std::atomic_ref(
      *reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(slot) + index * word));
}

/// `size` bytes of `from` at `offset`, padded with zeros.
template <class T>
T load_part(std::span<const std::byte> from, std::size_t offset) {
  T value = 0;
  const std::size_t rest = offset < from.size() ? from.size() - offset : 0;
  if (rest >= sizeof value)  // fixed size: no call of memcpy
    std::memcpy(&value, from.data() + offset, sizeof value);
  else
    std::memcpy(&value, from.data() + offset, rest);
  return value;
}

/// Whether the message has arrived, for formats whose first word is the message's number.
bool has_number(const std::byte* slot, std::uint64_t number) {
  // Equality, not mere presence: the slot may still hold the message of four before.
  return word_at(slot, 0).load(std::memory_order_acquire) == number;
}

/// The message's number before its first byte: one flag for the whole message.
class Line final : public MailFormat {
 public:
  std::string_view name() const override { return "line"; }
  std::size_t slot_size(std::size_t size) const override {
    return round_up(word + size, pair_of_lines);
  }
  void clear(std::byte* slot, std::size_t) const override {
    word_at(slot, 0).store(0, std::memory_order_relaxed);
  }
  void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t number,
             CopyMode) const override {
    if (message.size() == word) {  // fixed size: no call of memcpy on the path of every small
                                   // collective
      std::memcpy(slot + word, message.data(), word);
    } else {
      // First the lines after the flag's line: a reader that polls the flag's line would take it
      // from this core between two stores to it.
      const std::size_t beside = std::min(beside_flag, message.size());
      std::memcpy(slot + line, message.data() + beside, message.size() - beside);
      std::memcpy(slot + word, message.data(), beside);
    }
    word_at(slot, 0).store(number, std::memory_order_release);
  }
  const std::byte* read(const std::byte* slot, std::size_t, std::uint64_t number,
                        std::span<std::byte>) const override {
    return has_number(slot, number) ? slot + word : nullptr;
  }
};

/// The message's number in a line of its own before the message, so that no vector of the message
/// straddles two lines.
class Header final : public MailFormat {
 public:
  std::string_view name() const override { return "header"; }
  std::size_t slot_size(std::size_t size) const override {
    return round_up(line + size, pair_of_lines);
  }
  void clear(std::byte* slot, std::size_t) const override {
    word_at(slot, 0).store(0, std::memory_order_relaxed);
  }
  bool streams() const override { return true; }
  void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t number,
             CopyMode stores) const override {
    copy_bytes(slot + line, message.data(), message.size(), stores);
    if (stores == CopyMode::non_temporal) fence_non_temporal_stores();
    word_at(slot, 0).store(number, std::memory_order_release);
  }
  const std::byte* read(const std::byte* slot, std::size_t, std::uint64_t number,
                        std::span<std::byte>) const override {
    return has_number(slot, number) ? slot + line : nullptr;
  }
};

/// The message's number in each line, before 56 bytes of data. The reader can load all lines at
/// once, whereas with a single flag it must see the flag before it looks at the lines after it.
class Lines final : public MailFormat {
 public:
  std::string_view name() const override { return "lines"; }
  std::size_t slot_size(std::size_t size) const override {
    return round_up(std::max<std::size_t>(1, lines_of(size)) * line, pair_of_lines);
  }
  void clear(std::byte* slot, std::size_t size) const override {
    for (std::size_t i = 0; i < lines_of(size); ++i)
      word_at(slot, i * words_per_line).store(0, std::memory_order_relaxed);
  }
  void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t number,
             CopyMode) const override {
    for (std::size_t i = 0; i < lines_of(message.size()); ++i) {
      const auto data = message.subspan(i * beside_flag);
      std::byte* const place = slot + i * line + word;
      if (data.size() >= beside_flag)
        std::memcpy(place, data.data(), beside_flag);
      else
        std::memcpy(place, data.data(), data.size());
      word_at(slot, i * words_per_line).store(number, std::memory_order_release);
    }
  }
  const std::byte* read(const std::byte* slot, std::size_t size, std::uint64_t number,
                        std::span<std::byte> space) const override {
    const std::size_t lines = lines_of(size);
    for (std::size_t first = 0; first < lines; first += looked_at_at_once) {
      bool has_come = true;
      for (std::size_t i = first; i < std::min(lines, first + looked_at_at_once); ++i)
        has_come &= word_at(slot, i * words_per_line).load(std::memory_order_acquire) == number;
      if (!has_come) return nullptr;
    }
    for (std::size_t i = 0; i < lines; ++i) {
      const std::byte* const place = slot + i * line + word;
      const std::size_t rest = size - i * beside_flag;
      if (rest >= beside_flag)
        std::memcpy(space.data() + i * beside_flag, place, beside_flag);
      else
        std::memcpy(space.data() + i * beside_flag, place, rest);
    }
    return space.data();
  }

 private:
  static constexpr std::size_t looked_at_at_once = 8;
  static constexpr std::size_t words_per_line = line / word;
  static std::size_t lines_of(std::size_t size) { return (size + beside_flag - 1) / beside_flag; }
};

/// Half of each word is data, half the message's number modulo 2^32: each word shows by itself that
/// it has arrived.
class Word final : public MailFormat {
 public:
  std::string_view name() const override { return "word"; }
  std::size_t slot_size(std::size_t size) const override {
    return round_up(std::max<std::size_t>(1, (size + half - 1) / half) * word, pair_of_lines);
  }
  void clear(std::byte* slot, std::size_t size) const override {
    for (std::size_t i = 0; i < slot_size(size) / word; ++i)
      word_at(slot, i).store(0, std::memory_order_relaxed);
  }
  void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t number,
             CopyMode) const override {
    const std::uint64_t flag = flag_of(number);
    for (std::size_t i = 0; i * half < message.size(); ++i)
      word_at(slot, i).store(flag << 32 | load_part<std::uint32_t>(message, i * half),
                             std::memory_order_relaxed);
  }
  const std::byte* read(const std::byte* slot, std::size_t size, std::uint64_t number,
                        std::span<std::byte> space) const override {
    const std::uint64_t flag = flag_of(number);
    // In pairs: an 8-byte load of data just written by two 4-byte stores waits until both have left
    // the core.
    for (std::size_t i = 0; i * half < size; i += 2) {
      const std::uint64_t low = word_at(slot, i).load(std::memory_order_relaxed);
      if (low >> 32 != flag) return nullptr;
      std::uint64_t data = low & 0xFFFFFFFFU;
      if ((i + 1) * half < size) {
        const std::uint64_t high = word_at(slot, i + 1).load(std::memory_order_relaxed);
        if (high >> 32 != flag) return nullptr;
        data |= high << 32;
      }
      std::memcpy(space.data() + i * half, &data, sizeof data);
    }
    return space.data();
  }

 private:
  static constexpr std::size_t half = sizeof(std::uint32_t);
  /// Never 0, the value of a cleared slot; distinct for messages that can be in a slot at a time.
  static std::uint64_t flag_of(std::uint64_t number) { return number % 0xFFFFFFFFU + 1; }
};

/// A word has arrived when it no longer holds the poison word. A payload word that equals the
/// poison word is sent as a stand-in, and its index is listed at the end. The first word is the
/// number of such words.
class Poison final : public MailFormat {
 public:
  std::string_view name() const override { return "poison"; }
  std::size_t slot_size(std::size_t size) const override {
    return round_up((1 + 2 * words_of(size)) * word, pair_of_lines);
  }
  bool needs_clearing() const override { return true; }
  void clear(std::byte* slot, std::size_t size) const override {
    for (std::size_t i = 0; i < 1 + 2 * words_of(size); ++i)
      word_at(slot, i).store(poison, std::memory_order_relaxed);
  }
  void write(std::byte* slot, std::span<const std::byte> message, std::uint64_t,
             CopyMode) const override {
    const std::size_t words = words_of(message.size());
    std::uint64_t equal = 0;
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t data = load_part<std::uint64_t>(message, i * word);
      if (data == poison) {
        word_at(slot, 1 + words + equal++).store(i, std::memory_order_relaxed);
        data = stand_in;
      }
      word_at(slot, 1 + i).store(data, std::memory_order_relaxed);
    }
    // A rank that sees this store also sees the slots that were cleared before it.
    word_at(slot, 0).store(equal, std::memory_order_release);
  }
  const std::byte* read(const std::byte* slot, std::size_t size, std::uint64_t,
                        std::span<std::byte> space) const override {
    const std::uint64_t equal = word_at(slot, 0).load(std::memory_order_acquire);
    if (equal == poison) return nullptr;
    const std::size_t words = words_of(size);
    for (std::size_t i = 0; i < words; ++i) {
      const std::uint64_t data = word_at(slot, 1 + i).load(std::memory_order_relaxed);
      if (data == poison) return nullptr;
      std::memcpy(space.data() + i * word, &data, word);
    }
    for (std::uint64_t e = 0; e < equal; ++e) {
      const std::uint64_t index = word_at(slot, 1 + words + e).load(std::memory_order_relaxed);
      if (index == poison) return nullptr;
      std::memcpy(space.data() + index * word, &poison, word);
    }
    return space.data();
  }

 private:
  // A quiet NaN with a payload that no arithmetic produces, both as one f64 and as two f32.
  static constexpr std::uint64_t poison = 0x7FFC'0DE5'7FFC'0DE5;
  static constexpr std::uint64_t stand_in = 0;
  static std::size_t words_of(std::size_t size) { return (size + word - 1) / word; }
};

}  // namespace

std::vector<std::unique_ptr<const MailFormat>> make_mail_formats() {
  std::vector<std::unique_ptr<const MailFormat>> all;
  all.push_back(std::make_unique<Line>());
  all.push_back(std::make_unique<Header>());
  all.push_back(std::make_unique<Lines>());
  all.push_back(std::make_unique<Word>());
  all.push_back(std::make_unique<Poison>());
  return all;
}

std::unique_ptr<const MailFormat> make_mail_format(std::string_view name) {
  for (auto& format : make_mail_formats())
    if (format->name() == name) return std::move(format);
  return nullptr;
}

}  // namespace colltune
