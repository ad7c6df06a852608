// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/control/control_tree.h"

namespace colltune {

/// The control plane of an MPI launch: a binomial tree of point-to-point messages rooted at rank 0,
/// on a communicator of its own. Every wait first tests, then yields, then sleeps. It is bounded by
/// `time_out`, plus a little per level of the tree so that the rank next to the missing one reports
/// first. On a time-out, a message that names the missing rank is passed to `on_missing`, which
/// does not return.
class MpiControlPlane final : public ControlPlane {
 public:
  /// Ends the process; receives the message and the missing rank. The default writes the message to
  /// stderr and calls MPI_Abort with exit code 4.
  using OnMissing = std::function<void(const std::string& message, int missing_rank)>;

  /// Collective over `world`, which outlives this object.
  MpiControlPlane(MPI_Comm world, std::chrono::milliseconds time_out, OnMissing on_missing = {});
  ~MpiControlPlane() override;
  /// Sets the bound of later waits; the same on all ranks.
  void set_time_out(std::chrono::milliseconds time_out) { time_out_ = time_out; }
  MpiControlPlane(const MpiControlPlane&) = delete;
  MpiControlPlane& operator=(const MpiControlPlane&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void barrier() override;
  [[nodiscard]] Payload broadcast(Payload payload) override;
  [[nodiscard]] std::vector<Payload> gather(const Payload& payload) override;
  [[nodiscard]] Payload merge(Payload payload, const Join& join) override;
  void all_reduce_max(std::span<std::int64_t> values) override;
  void all_reduce_sum(std::span<std::int64_t> values) override;

 private:
  using Combine = void (*)(std::span<std::int64_t> into, std::span<const std::int64_t> from);
  void all_reduce(std::span<std::int64_t> values, Combine combine, std::string_view step);
  void send(int peer, const void* data, std::size_t bytes, int levels, std::string_view step);
  [[nodiscard]] Payload receive(int peer, int levels, std::string_view step);
  /// Tests until `is_done`; gives up after the time-out plus `levels` tenths of it.
  void wait(const std::function<bool()>& is_done, int peer, int levels, std::string_view step);
  void next_step();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  TreePlace tree_;
  int tag_ = 0;
  std::chrono::milliseconds time_out_;
  OnMissing on_missing_;
};

}  // namespace colltune
