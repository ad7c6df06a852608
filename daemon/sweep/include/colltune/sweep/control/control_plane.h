// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace colltune {

using Payload = std::vector<std::uint8_t>;

/// Out-of-band coordination between all ranks of a launch; never in a timed region. Every call is
/// collective: all ranks make the same calls in the same order. A rank that does not come within
/// the plane's time-out ends the call with RankMissing (threads) or ends the process with a message
/// that names the missing ranks (MPI, where nothing can be done for the others). Waiting ranks
/// sleep instead of burning a core. Not thread-safe.
class ControlPlane {
 public:
  virtual ~ControlPlane() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  virtual void barrier() = 0;
  /// Rank 0's payload, on all ranks.
  [[nodiscard]] virtual Payload broadcast(Payload payload) = 0;
  /// Every rank's payload in rank order on rank 0; empty elsewhere.
  [[nodiscard]] virtual std::vector<Payload> gather(const Payload& payload) = 0;
  /// What `join` makes of all payloads, on all ranks. It joins those of two neighbouring ranges of
  /// ranks, the lower ones first, must not throw, and is to give the same whatever the ranges: the
  /// payloads travel along a tree, so that one that grows with what differs, and not with the
  /// ranks, stays small all the way.
  using Join = std::function<Payload(const Payload& lower, const Payload& upper)>;
  [[nodiscard]] virtual Payload merge(Payload payload, const Join& join) = 0;
  /// Element-wise MAX and sum over all ranks, in place on all of them; equal lengths everywhere.
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
};

/// Control planes for ranks that live as threads of this process; `result[r]` is used by rank r's
/// thread alone.
[[nodiscard]] std::vector<std::unique_ptr<ControlPlane>> make_thread_control_planes(
    int ranks, std::chrono::milliseconds time_out);

}  // namespace colltune
