// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "packets.h"
#include "staging.h"
#include "team.h"

namespace colltune::device {

/// Like FlaggedWire, with one flag per line of 128 bytes: 120 bytes of data, then an 8-byte flag
/// (NCCL's LL128). 1 hop, 16/15 of the bytes. Neighbouring threads write a line's 16-byte lanes in
/// one store and read them in one load. If the hardware shows such a line whole or not at all, a
/// reader that finds the flag has the data. That holds within a GPU and over NVLink, but no
/// standard promises it, so algorithms with this wire set `needs_whole_lines`.
///
/// Two lines carry 15 packets of a message: 7 each in their first lanes, and half of the 15th next
/// to each flag. All other pieces of a message thus lie at multiples of 16 bytes. The slots are
/// those of FlaggedWire.
template <class Context>
class LineWire {
 public:
  static constexpr unsigned char poison_byte = 0;
  static constexpr bool clears_words = false;
  static constexpr double expansion = 16.0 / 15;
  static constexpr bool needs_whole_lines = true;
  static constexpr std::uint64_t pieces_of_unit = 8;

  /// Lines that `bytes` bytes take.
  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t units_of(std::uint64_t bytes) {
    const std::uint64_t rest = bytes % two_lines;
    return bytes / two_lines * 2 + (rest == 0 ? 0 : rest <= half ? 1 : 2);
  }
  /// Calls `act(piece)` for the pieces of the lines of `range` that belong to this thread. The
  /// threads of one line stay together.
  template <class Act>
  static COLLTUNE_DEVICE void for_each_piece(const Context& context, const PacketRange& range,
                                             Act act) {
    constexpr auto threads = static_cast<std::uint64_t>(Context::threads_of_line);
    const auto of_launch = static_cast<std::uint64_t>(context.blocks() * context.threads());
    const auto own =
        static_cast<std::uint64_t>(context.block() * context.threads() + context.thread());
    for (std::uint64_t line = range.first + own / threads; line < range.last;
         line += of_launch / threads)
      for (std::uint64_t lane = own % threads; lane < lanes; lane += threads)
        act(line * lanes + lane);
  }
  /// Piece `piece` of the `bytes` bytes at `from`, padded with zeros after the end of the buffer
  /// and of the piece.
  [[nodiscard]] static COLLTUNE_DEVICE Packet read_from(const std::byte* from, std::uint64_t piece,
                                                        std::uint64_t bytes) {
    const Place place = place_of(piece, bytes);
    if (place.size == packet_bytes) return read_packet<Context>(from + place.at, 0, packet_bytes);
    if (Context::is_whole && place.size == 8) {
      const auto* const words = reinterpret_cast<const Word*>(from + place.at);
      return {{words[0], words[1], 0, 0}};
    }
    return place.size == 0 ? Packet{} : read_part(from + place.at, place.size);
  }
  static COLLTUNE_DEVICE void write_to(std::byte* to, std::uint64_t piece, std::uint64_t bytes,
                                       const Packet& packet) {
    const Place place = place_of(piece, bytes);
    if (place.size == packet_bytes)
      return write_packet<Context>(to + place.at, 0, packet_bytes, packet);
    if (Context::is_whole && place.size == 8) {
      auto* const words = reinterpret_cast<Word*>(to + place.at);
      words[0] = packet.words[0];
      words[1] = packet.words[1];
    } else if (place.size > 0) {
      write_part(to + place.at, place.size, packet);
    }
  }

  /// As in FlaggedWire.
  COLLTUNE_DEVICE LineWire(Team<Context>& team, const DeviceCall& call, std::uint64_t bytes,
                           std::uint64_t call_number, int /*lines*/ = 1)
      : team_(team),
        call_(call),
        size_(units_of(bytes) * line_bytes),
        slot_(staging_slot(call, call_number)),
        flag_(call_number + 1) {}

  [[nodiscard]] static COLLTUNE_DEVICE std::uint64_t size(const DeviceCall& call,
                                                          std::uint64_t bytes, int lines = 1) {
    return 2 * static_cast<std::uint64_t>(call.ranks * lines) * units_of(bytes) * line_bytes;
  }

  COLLTUNE_DEVICE void write(int peer, std::uint64_t piece, const Packet& packet, int line = 0) {
    team_.context().store_lane(place(peer, call_.rank, line, piece), lane_of(piece), packet, flag_);
  }

  /// As in FlaggedWire, for the lanes of a line.
  using Arrival = typename Context::Lane;
  [[nodiscard]] COLLTUNE_DEVICE Arrival begin_read(int peer, std::uint64_t piece, int line = 0) {
    return team_.context().load_lane(place(call_.rank, peer, line, piece), lane_of(piece), flag_);
  }
  [[nodiscard]] COLLTUNE_DEVICE bool has_come(const Arrival& found) const {
    return team_.context().has_line(found, flag_);
  }
  [[nodiscard]] COLLTUNE_DEVICE Packet packet_of(const Arrival& found, std::uint64_t piece) const {
    return Context::packet_of(found, lane_of(piece));
  }
  /// The threads of a line wait together, and give up together.
  template <class Condition>
  COLLTUNE_DEVICE void wait_until(const int& peer, Condition is_there) {
    Context& context = team_.context();
    if (!is_lost_)
      is_lost_ = !team_.wait_until(peer, is_there,
                                   [&](bool gives_up) { return context.any_of_line(gives_up); });
  }
  COLLTUNE_DEVICE void clear(int, std::uint64_t, int = 0) {}
  [[nodiscard]] COLLTUNE_DEVICE bool is_lost() const { return is_lost_; }

 private:
  static constexpr std::uint64_t line_bytes = 128;
  static constexpr std::uint64_t lanes = line_bytes / packet_bytes;
  static constexpr std::uint64_t two_lines = 15 * packet_bytes;  ///< of a message
  static constexpr std::uint64_t half = 7 * packet_bytes;

  struct Place {
    std::uint64_t at = 0;
    std::uint64_t size = 0;
  };
  [[nodiscard]] static COLLTUNE_DEVICE int lane_of(std::uint64_t piece) {
    return static_cast<int>(piece % lanes);
  }
  [[nodiscard]] static COLLTUNE_DEVICE Place place_of(std::uint64_t piece, std::uint64_t bytes) {
    const std::uint64_t second = piece / lanes % 2;
    const std::uint64_t lane = piece % lanes;
    const bool is_split = lane + 1 == lanes;
    const std::uint64_t size = is_split ? packet_bytes / 2 : packet_bytes;
    const std::uint64_t inside =
        is_split ? 2 * half + second * size : second * half + lane * packet_bytes;
    const std::uint64_t at = piece / (2 * lanes) * two_lines + inside;
    if (at >= bytes) return {};
    return {at, bytes - at < size ? bytes - at : size};
  }
  /// The line of `piece` in the memory of rank `at` for data from rank `from`.
  [[nodiscard]] COLLTUNE_DEVICE std::uint64_t* place(int at, int from, int line,
                                                     std::uint64_t piece) const {
    std::byte* const all = block_of(data_of(call_, at) + slot_, line * call_.ranks + from, size_);
    return reinterpret_cast<std::uint64_t*>(all + piece / lanes * line_bytes);
  }

  Team<Context>& team_;
  const DeviceCall& call_;
  std::uint64_t size_;  ///< of all lines between two ranks
  std::uint64_t slot_;
  std::uint64_t flag_;  ///< never 0, the initial content of memory
  bool is_lost_ = false;
};

}  // namespace colltune::device
