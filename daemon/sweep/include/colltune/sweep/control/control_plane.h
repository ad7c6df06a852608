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

/// Coordination between all ranks of a launch, out of band and never in a timed region. Every call
/// is collective: all ranks make the same calls in the same order. If a rank does not arrive within
/// the plane's time-out, the call throws RankMissing (threads), or ends the process with a message
/// that names the missing ranks (MPI, where nothing can be done for the other ranks). Waiting ranks
/// sleep instead of occupying a core. Not thread-safe.
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
  /// Combines all payloads with `join`; every rank gets the result. `join` combines the payloads of
  /// two neighbouring ranges of ranks, the lower ranks first. It must not throw, and the result
  /// must not depend on how the ranks are split into ranges. The payloads travel along a tree, so a
  /// payload that grows with the differences between ranks, and not with their number, stays small
  /// all the way.
  using Join = std::function<Payload(const Payload& lower, const Payload& upper)>;
  [[nodiscard]] virtual Payload merge(Payload payload, const Join& join) = 0;
  /// Element-wise MAX or sum over all ranks, in place on every rank; lengths must be equal.
  virtual void all_reduce_max(std::span<std::int64_t> values) = 0;
  virtual void all_reduce_sum(std::span<std::int64_t> values) = 0;
};

/// Control planes for ranks that are threads of this process; only rank r's thread uses
/// `result[r]`.
[[nodiscard]] std::vector<std::unique_ptr<ControlPlane>> make_thread_control_planes(
    int ranks, std::chrono::milliseconds time_out);

}  // namespace colltune
