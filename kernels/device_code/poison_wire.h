// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "packets.h"
#include "staging.h"
#include "team.h"

namespace colltune::device {

/// Like FlaggedWire, without the flags: a word of 8 bytes has arrived when it no longer equals the
/// poison word (TensorRT-LLM's and NCCL's "Lamport"; Lamport 1977). It moves the bytes once, but
/// needs three slots in turn. Each call clears the slot of the call before. A rank that writes a
/// slot again, two calls after it was cleared, has read words of the intervening call from every
/// rank, so every rank had cleared the slot. All scratch memory is filled with `poison_byte` before
/// the first call.
///
/// A payload word that equals the poison, or the substitute that stands for such words, is
/// announced in a side word that holds the number of the call.
template <class Context>
class PoisonWire : public PacketPieces<Context> {
 public:
  static constexpr unsigned char poison_byte = 0xA9;
  static constexpr bool clears_words = true;
  static constexpr int expansion = 1;

  /// As in FlaggedWire.
  COLLTUNE_DEVICE PoisonWire(Team<Context>& team, const DeviceCall& call, std::uint64_t bytes,
                             std::uint64_t call_number, int lines = 1)
      : team_(team),
        call_(call),
        line_(whole_packets(bytes)),
        slot_bytes_(size(call, bytes, lines) / (2 * slots)),
        number_(call_number) {}

  /// Bytes for the words, and as many for the side words.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t size(const DeviceCall& call,
                                                          std::uint64_t bytes, int lines = 1) {
    return 2 * slots * static_cast<std::uint64_t>(call.ranks * lines) * whole_packets(bytes);
  }

  COLLTUNE_DEVICE void write(int peer, std::uint64_t index, const Packet& packet, int line = 0) {
    std::uint64_t payload[2];
    __builtin_memcpy(payload, &packet, packet_bytes);
    std::uint64_t* const words = place(peer, call_.rank, line, number_ % slots) + 2 * index;
    COLLTUNE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t is_substitute = payload[i] == substitute ? 1 : 0;
      if (payload[i] == poison || is_substitute != 0) {
        Context::store_relaxed(beside(words) + i, 2 * number_ + is_substitute);
        payload[i] = substitute;
      }
    }
    Context::store_pair(words, payload[0], payload[1]);
  }

  /// As in FlaggedWire.
  struct Arrival {
    std::uint64_t words[2];
    std::uint64_t told[2];  ///< the side words, read if a word is the substitute
  };
  [[nodiscard]] COLLTUNE_DEVICE Arrival begin_read(int peer, std::uint64_t index, int line = 0) {
    const std::uint64_t* const words = place(call_.rank, peer, line, number_ % slots) + 2 * index;
    Arrival found{};
    Context::load_pair(words, found.words);
    if (found.words[0] == substitute || found.words[1] == substitute)
      Context::load_pair(beside(words), found.told);
    return found;
  }
  [[nodiscard]] COLLTUNE_DEVICE bool has_come(const Arrival& found) const {
    const auto has = [&](int i) {
      return found.words[i] != poison &&
             (found.words[i] != substitute || found.told[i] / 2 == number_);
    };
    return (has(0) && has(1)) || !team_.context().heeds_flags();
  }
  [[nodiscard]] COLLTUNE_DEVICE Packet packet_of(const Arrival& found, std::uint64_t) const {
    const auto word = [&](int i) {
      return found.words[i] == substitute && found.told[i] % 2 == 0 ? poison : found.words[i];
    };
    const std::uint64_t payload[2] = {word(0), word(1)};
    Packet packet;
    __builtin_memcpy(&packet, payload, packet_bytes);
    return packet;
  }
  template <class Condition>
  COLLTUNE_DEVICE void wait_until(const int& peer, Condition is_there) {
    if (!is_lost_) is_lost_ = !team_.wait_until(peer, is_there);
  }
  /// Clears packet `index` that came on line `line` from `peer` in the previous call. The thread
  /// that read it must do this in every call.
  COLLTUNE_DEVICE void clear(int peer, std::uint64_t index, int line = 0) {
    if (!team_.context().clears_words()) return;
    std::uint64_t* const words =
        place(call_.rank, peer, line, (number_ + slots - 1) % slots) + 2 * index;
    Context::store_pair(words, poison, poison);
  }
  [[nodiscard]] COLLTUNE_DEVICE bool is_lost() const { return is_lost_; }

 private:
  static constexpr std::uint64_t slots = 3;
  static constexpr std::uint64_t poison = 0x0101010101010101U * poison_byte;
  static constexpr std::uint64_t substitute = poison + 1;

  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t* place(int at, int from, int line,
                                                     std::uint64_t slot) const {
    std::byte* const all = data_of(call_, at) + slot * slot_bytes_;
    return reinterpret_cast<std::uint64_t*>(block_of(all, line * call_.ranks + from, line_));
  }
  template <class Word>
  [[nodiscard]] COLLTUNE_DEVICE Word* beside(Word* words) const {
    return words + slots * slot_bytes_ / sizeof(std::uint64_t);
  }

  Team<Context>& team_;
  const DeviceCall& call_;
  std::uint64_t line_;
  std::uint64_t slot_bytes_;
  std::uint64_t number_;
  bool is_lost_ = false;
};

}  // namespace colltune::device
