// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_call.h"
#include "host_device.h"
#include "packets.h"

namespace colltune::device {

/// The data of a rank's scratch memory, after its signals.
[[nodiscard]] COLLTUNE_DEVICE std::byte* data_of(const DeviceCall& call, int rank) {
  return call.scratch[rank] + signals_size;
}

/// Block `rank` of a buffer of blocks of `bytes`.
template <class Byte>
[[nodiscard]] COLLTUNE_DEVICE Byte* block_of(Byte* buffer, int rank, std::uint64_t bytes) {
  return buffer + static_cast<std::uint64_t>(rank) * bytes;
}

/// `bytes` in whole packets.
[[nodiscard]] COLLTUNE_DEVICE std::uint64_t whole_packets(std::uint64_t bytes) {
  return packets_of(bytes) * packet_bytes;
}

/// Bytes of a segment, for messages cut again and again into one segment per rank. Whole packets,
/// at least one: `call.chunk`, or all of it.
[[nodiscard]] COLLTUNE_DEVICE std::uint64_t segment_bytes(const DeviceCall& call) {
  const auto ranks = static_cast<std::uint64_t>(call.ranks);
  const std::uint64_t even = (packets_of(call.bytes) + ranks - 1) / ranks;
  const std::uint64_t wanted = call.chunk / packet_bytes;
  const std::uint64_t segment = wanted != 0 && wanted < even ? wanted : even;
  return (segment == 0 ? 1 : segment) * packet_bytes;
}

/// Where the slot of the `number`-th call begins. Calls use the two halves of the scratch memory in
/// turn, whatever their size: a call may follow a longer one that peers still read.
[[nodiscard]] COLLTUNE_DEVICE std::uint64_t staging_slot(const DeviceCall& call,
                                                         std::uint64_t number) {
  return number % 2 * (call.scratch_bytes / 2);
}
/// Scratch memory for two slots of `bytes`.
[[nodiscard]] COLLTUNE_DEVICE std::uint64_t staging_bytes(std::uint64_t bytes) {
  return 2 * whole_packets(bytes);
}

}  // namespace colltune::device
