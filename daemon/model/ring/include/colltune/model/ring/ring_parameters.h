// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "colltune/model/ring/ring_overrides.h"
#include "colltune/model/ring/ring_rules.h"
#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// All that the rules look at, besides the message's size. The text of v1 knows neither nodes nor
/// links, nor do the later sets, except for InfiniBand's threshold.
struct RingSetting {
  RingRules rules = default_ring_rules;
  RingArchitecture architecture = RingArchitecture::default_values;
  std::uint64_t ranks = 2;
  /// What the occupancy query of the kernel says: blocks of the device, and threads of a block. The
  /// initial values are those of torchcomms' own tests.
  std::uint64_t max_blocks = 64;
  std::uint64_t max_threads = 512;
  std::uint64_t element_bytes = 4;  ///< 1, 2, 4, 8 or 16
  std::uint64_t queue_pairs = 16;  ///< of InfiniBand, for each device of a rank; torchcomms' values
  std::uint64_t devices_of_rank = 2;
  /// A threshold that the caller chose: it wins over the rules'.
  std::optional<Bytes> qp_scaling_threshold;
  /// v1: leave messages of less than 64 KiB a rank untuned, as its author intends. The text as
  /// written tunes them, and does not say what runs otherwise.
  bool leaves_small_untuned = false;
  RingOverrides overrides;
};

/// What ctring runs a message with.
struct RingParameters {
  Bytes chunk;               ///< of the staging buffer; the unit that is sent
  std::uint64_t chunks = 1;  ///< of the staging buffer: what one partition has
  std::uint64_t blocks = 1;
  std::uint64_t threads = 1;  ///< of each block
  /// Messages above it go over several queue pairs of InfiniBand. Empty where the rules have none
  /// (v1, v2, Hopper), or where it is switched off.
  std::optional<Bytes> qp_scaling_threshold;
  /// chunk * chunks had to be lowered to what is allocated: by an override, or by alignment.
  bool is_limited = false;

  friend bool operator==(const RingParameters&, const RingParameters&) = default;
};

/// Bytes of ONE staging buffer: the only place where that is decided, for the tuner and for whoever
/// allocates. chunk * chunks of ring_parameters() is never more. At least 16 bytes, which hold an
/// element of each type. v1: the bandwidth-delay product, or the product of both overrides where
/// that is larger; v2: that product, else AUTO_TUNE_MAX_BDP, else 128 MiB; v3: that product, else
/// STAGING_BUF_SIZE, else 32 MiB. Throws Error(out_of_range) for a product beyond 2^63 - 1.
[[nodiscard]] Bytes ring_staging_size(RingRules rules, RingArchitecture architecture,
                                      const RingOverrides& overrides);

/// Such buffers of a communicator: to send and to receive, and the same for the other direction
/// unless it is switched off.
[[nodiscard]] int ring_staging_buffers(RingRules rules, const RingOverrides& overrides);

/// The parameters for a message of `message` bytes a rank; empty if the rules leave it untuned.
/// Source: torchcomms, comms/ctran/algos/AllReduce/AllReduceRingAutoTune, and for v1 the text of
/// its pull request 745.
///
/// Overrides win in this order: chunk and number of chunks; exact blocks, else their cap; threads;
/// bandwidth-delay product; the rules.
///
/// Unlike its source, the product of chunk and chunks is limited once more after overrides and
/// after the chunk has been aligned to elements (v2, v3). There, an unaligned chunk made the number
/// of chunks follow from the whole message, whatever was allocated. A number of chunks that the
/// user set stays. The number follows from the rounded message, so that a message equals its
/// nearest power of two in every result.
///
/// Throws Error(invalid_argument) for values that are not allowed, names them, and for a number of
/// threads beyond what the kernel can have; Error(out_of_range) for messages beyond 2^63 - 1.
[[nodiscard]] std::optional<RingParameters> ring_parameters(const RingSetting& setting,
                                                            Bytes message);

/// What the rules decide for one size.
struct RingDecision {
  Bytes message;
  std::optional<RingParameters> parameters;  ///< empty: left untuned

  friend bool operator==(const RingDecision&, const RingDecision&) = default;
};

/// The sizes of the log: powers of two from 1 KiB to 32 GiB and the midpoints between them.
[[nodiscard]] std::vector<Bytes> ring_log_sizes();

/// The log: the rules' decisions for these sizes. Throws as ring_parameters() does.
[[nodiscard]] std::vector<RingDecision> ring_decisions(const RingSetting& setting,
                                                       std::span<const Bytes> messages);

}  // namespace colltune
