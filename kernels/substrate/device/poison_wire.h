// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/packets.h"
#include "device/staging.h"
#include "device/team.h"

namespace colltune::device {

/// As FlaggedWire, without the flags: a word of 8 bytes has come when it is not the poison word any
/// more (TensorRT-LLM's and NCCL's "Lamport"; Lamport 1977). Once the bytes, but three slots in
/// turn, of which each call clears the one of the call before: who writes it again, two calls
/// later, has read the words of the call between from everyone, who so had cleared it. All scratch
/// memory is filled with `poison_byte` before the first call.
///
/// A payload word that equals the poison, or the one value that stands for such words, is told in a
/// word beside, with the number of the call.
template <class Context>
class PoisonWire : public PacketPieces<Context> {
 public:
  static constexpr unsigned char poison_byte = 0xA9;
  static constexpr int expansion = 1;

  /// As FlaggedWire's.
  COLLTUNE_DEVICE PoisonWire(Team<Context>& team, const DeviceCall& call, std::uint64_t bytes,
                             std::uint64_t call_number, int lines = 1)
      : team_(team),
        call_(call),
        line_(whole_packets(bytes)),
        slot_bytes_(size(call, bytes, lines) / (2 * slots)),
        number_(call_number) {}

  /// The words, and as many beside them.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t size(const DeviceCall& call,
                                                          std::uint64_t bytes, int lines = 1) {
    return 2 * slots * static_cast<std::uint64_t>(call.ranks * lines) * whole_packets(bytes);
  }

  COLLTUNE_DEVICE void write(int peer, std::uint64_t index, const Packet& packet, int line = 0) {
    Arrival payload = arrival_of(packet);
    std::uint64_t* const words = place(peer, call_.rank, line, number_ % slots) + 2 * index;
    COLLTUNE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t is_substitute = payload.words[i] == substitute ? 1 : 0;
      if (payload.words[i] == poison || is_substitute != 0) {
        Context::store_relaxed(beside(words) + i, 2 * number_ + is_substitute);
        payload.words[i] = substitute;
      }
    }
    Context::store_pair(words, payload.words[0], payload.words[1]);
  }

  /// As FlaggedWire's.
  struct Arrival {
    std::uint64_t words[2];
  };
  [[nodiscard]] COLLTUNE_DEVICE Arrival begin_read(int peer, std::uint64_t index, int line = 0) {
    Arrival found;
    Context::load_pair(place(call_.rank, peer, line, number_ % slots) + 2 * index, found.words);
    return found;
  }
  [[nodiscard]] COLLTUNE_DEVICE Arrival arrival_of(const Packet& packet) const {
    Arrival own;
    __builtin_memcpy(own.words, &packet, packet_bytes);
    return own;
  }
  [[nodiscard]] COLLTUNE_DEVICE Packet finish_read(int peer, std::uint64_t index, Arrival found,
                                                   int line = 0) {
    if (peer != call_.rank && !is_lost_) {
      if (!has_come(found))
        is_lost_ = !team_.wait_until(peer, [&] {
          found = begin_read(peer, index, line);
          return has_come(found);
        });
      if (found.words[0] == substitute || found.words[1] == substitute)
        undo_substitutes(peer, place(call_.rank, peer, line, number_ % slots) + 2 * index, found);
    }
    Packet packet{};
    if (!is_lost_) __builtin_memcpy(&packet, found.words, packet_bytes);
    return packet;
  }
  /// Clears packet `index` of what came on line `line` from `peer` a call before. In every call, by
  /// the thread that read it.
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

  [[nodiscard]] COLLTUNE_DEVICE bool has_come(const Arrival& found) const {
    return (found.words[0] != poison && found.words[1] != poison) || !team_.context().heeds_flags();
  }
  /// What the words beside `words` tell of those that stand for others.
  COLLTUNE_DEVICE void undo_substitutes(int peer, const std::uint64_t* words, Arrival& found) {
    for (int i = 0; i < 2 && !is_lost_; ++i) {
      if (found.words[i] != substitute) continue;
      std::uint64_t told = 0;
      is_lost_ = !team_.wait_until(peer, [&] {
        told = Context::load_relaxed(beside(words) + i);
        return told / 2 == number_ || !team_.context().heeds_flags();
      });
      found.words[i] = told % 2 == 0 ? poison : substitute;
    }
  }
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
