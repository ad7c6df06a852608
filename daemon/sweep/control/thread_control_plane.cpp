// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "colltune/machine/abort_flag.h"
#include "colltune/sweep/control/control_plane.h"

namespace colltune {
namespace {

/// Where the ranks of one process meet: each rank leaves a payload and takes the payloads of all.
/// Thread-safe.
class MeetingPlace {
 public:
  MeetingPlace(int ranks, std::chrono::milliseconds time_out)
      : time_out_(time_out), brought_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] int size() const { return static_cast<int>(brought_.size()); }

  /// Every rank's payload, in rank order. `step` names the call; if the ranks make different calls,
  /// all of them throw.
  [[nodiscard]] std::shared_ptr<const std::vector<Payload>> meet(int rank, std::string_view step,
                                                                 Payload payload) {
    std::unique_lock lock(mutex_);
    check_whole(step);
    brought_[static_cast<std::size_t>(rank)] = std::move(payload);
    if (arrived_ == 0) step_ = step;
    if (step_ != step) unlike_ = step_ + "' and '" + std::string(step);
    ++arrived_;
    if (arrived_ == size()) {
      open_next_meeting();
    } else {
      const std::uint64_t meeting = meeting_;
      const bool came = changed_.wait_for(
          lock, time_out_, [&] { return meeting_ != meeting || missing_.has_value(); });
      if (!came) give_up(step);
      if (meeting_ == meeting) check_whole(step);
    }
    if (result_error_)
      throw Error(StatusCode::internal,
                  "ranks made unlike control steps: '" + *result_error_ + "'");
    return result_;
  }

 private:
  void open_next_meeting() {
    auto all = std::make_shared<std::vector<Payload>>();
    for (auto& payload : brought_) all->push_back(std::move(*std::exchange(payload, {})));
    result_ = std::move(all);
    result_error_ = std::exchange(unlike_, {});
    arrived_ = 0;
    ++meeting_;
    changed_.notify_all();
  }

  void give_up(std::string_view step) {
    missing_.emplace();
    for (std::size_t rank = 0; rank < brought_.size(); ++rank)
      if (!brought_[rank]) missing_->push_back(static_cast<int>(rank));
    changed_.notify_all();
    check_whole(step);
  }

  /// Once ranks were missing at a meeting, the payloads of later ones can no longer be matched.
  void check_whole(std::string_view step) const {
    if (!missing_) return;
    std::string others;
    for (const int rank : *missing_) others += (others.empty() ? "" : ", ") + std::to_string(rank);
    throw RankMissing(missing_->front(),
                      "control step '" + std::string(step) + "' (missing ranks: " + others + ")",
                      false);
  }

  const std::chrono::milliseconds time_out_;
  std::mutex mutex_;  ///< guards all members below
  std::condition_variable changed_;
  std::vector<std::optional<Payload>> brought_;
  std::string step_;
  std::optional<std::string> unlike_;
  int arrived_ = 0;
  std::uint64_t meeting_ = 0;
  std::optional<std::vector<int>> missing_;
  // The result of the last meeting. No rank can finish the next meeting before all ranks have left
  // this one.
  std::shared_ptr<const std::vector<Payload>> result_;
  std::optional<std::string> result_error_;
};

class ThreadControlPlane final : public ControlPlane {
 public:
  ThreadControlPlane(std::shared_ptr<MeetingPlace> place, int rank)
      : place_(std::move(place)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return place_->size(); }

  void barrier() override { (void)place_->meet(rank_, "barrier", {}); }

  [[nodiscard]] Payload broadcast(Payload payload) override {
    return place_->meet(rank_, "broadcast", rank_ == 0 ? std::move(payload) : Payload{})->front();
  }

  [[nodiscard]] std::vector<Payload> gather(const Payload& payload) override {
    const auto all = place_->meet(rank_, "gather", payload);
    return rank_ == 0 ? *all : std::vector<Payload>{};
  }

  [[nodiscard]] Payload merge(Payload payload, const Join& join) override {
    const auto all = place_->meet(rank_, "merge", std::move(payload));
    return join_range(*all, join);
  }

  void all_reduce_max(std::span<std::int64_t> values) override {
    reduce(values, "max", [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  }
  void all_reduce_sum(std::span<std::int64_t> values) override {
    reduce(values, "sum", [](std::int64_t a, std::int64_t b) { return a + b; });
  }

 private:
  static Payload join_range(std::span<const Payload> range, const Join& join) {
    if (range.size() == 1) return range.front();
    const std::size_t half = range.size() / 2;
    return join(join_range(range.first(half), join), join_range(range.subspan(half), join));
  }

  template <class Combine>
  void reduce(std::span<std::int64_t> values, const char* name, Combine combine) {
    const auto bytes = std::as_bytes(values);
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    // The length is part of the step's name, so that ranks with different lengths are caught.
    const auto all = place_->meet(rank_, name + (" of " + std::to_string(values.size())),
                                  Payload(first, first + bytes.size()));
    for (int rank = 0; rank < size(); ++rank) {
      const Payload& other = (*all)[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < values.size(); ++i) {
        std::int64_t value = 0;
        std::copy_n(other.data() + i * sizeof value, sizeof value,
                    reinterpret_cast<std::uint8_t*>(&value));
        values[i] = rank == 0 ? value : combine(values[i], value);
      }
    }
  }

  std::shared_ptr<MeetingPlace> place_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<ControlPlane>> make_thread_control_planes(
    int ranks, std::chrono::milliseconds time_out) {
  const auto place = std::make_shared<MeetingPlace>(ranks, time_out);
  std::vector<std::unique_ptr<ControlPlane>> planes;
  for (int rank = 0; rank < ranks; ++rank)
    planes.push_back(std::make_unique<ThreadControlPlane>(place, rank));
  return planes;
}

}  // namespace colltune
