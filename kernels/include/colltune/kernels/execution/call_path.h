// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "colltune/kernels/execution/call_log.h"
#include "colltune/kernels/execution/call_times.h"
#include "colltune/kernels/execution/program_call.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// What a program's call goes through around its kernel: its choice is looked up unless it is like
/// the call before, it is written down, counted and now and then timed, and the operation gets its
/// buffers. The executor of programs and the sweep's ordinary calls take the same path, so that
/// what is measured is what runs. Choices are numbered from 1. Inline, since it is a part of every
/// short call's time. Not thread-safe.
class CallPath {
 public:
  static constexpr std::uint16_t library = 0;  ///< the choice that leaves a call to the library

  /// The calls that one choice ran, on this rank.
  struct Tally {
    CallSamples made;
    std::chrono::nanoseconds saved{};   ///< as measured by the sweep, not here
    std::uint64_t waited = 0;           ///< calls left to the library until preparing it pays
    std::chrono::nanoseconds missed{};  ///< what it would have saved in those
  };
  /// What was found for a call: programs repeat theirs.
  struct Found {
    ProgramCall call;
    CallLog::Entry entry;
    std::uint16_t choice = library;
    std::chrono::nanoseconds saving{};
  };

  /// `choices`: so many. `clock` times some of the calls; null: none.
  CallPath(CallLog log, std::size_t choices, CallTimer::Now clock)
      : log_(std::move(log)),
        found_{.entry = CallLog::entry_of(found_.call)},
        prepared_(choices),
        tallies_(choices),
        timer_(clock) {}

  /// From now on a choice is prepared in the first call by which its calls would have saved
  /// `of_preparing`, the same on all ranks; those before are left to the library. It is 0 at first:
  /// a choice is prepared in its first call.
  void set_price(std::chrono::nanoseconds of_preparing) noexcept { price_ = of_preparing; }

  /// Begins a call: writes it down and returns its choice, by `find(call)`, a Found, unless it is
  /// like the call before. `finish` ends it.
  template <class Find>
  [[nodiscard]] std::uint16_t begin(const ProgramCall& call, const Find& find) noexcept {
    if (!(call == found_.call)) [[unlikely]] {
      found_ = find(call);
      is_bound_ = false;
      awaited_ = may_run(found_.choice) ? library : std::exchange(found_.choice, library);
    }
    log_.write(found_.entry);
    if (found_.choice == library && (awaited_ == library || !pays_now())) {
      leave(call.collective);
      return library;
    }
    Tally& tally = tallies_[found_.choice - 1U];
    tally.saved += found_.saving;
    timer_.begin(tally.made);
    return found_.choice;
  }
  /// What is written down of a call like the one that was begun last, if all those are left to the
  /// library from now on; else null.
  [[nodiscard]] const CallLog::Entry* left_for_good() const noexcept {
    return found_.choice == library && awaited_ == library ? &found_.entry : nullptr;
  }
  /// A call that no choice can be for. `finish` ends it, too.
  void leave(Collective collective) noexcept {
    timer_.begin(left_[static_cast<std::size_t>(collective)]);
  }
  /// Starts the call that was begun last, as `choice`. `wait` completes it. False if the choice is
  /// withdrawn: then `prepare(choice, call)`, which makes its operation in its first call, has
  /// returned null. `blocks`: as Call::blocks.
  template <class Prepare>
  [[nodiscard]] bool start(std::uint16_t choice, const ProgramCall& call, bool in_place,
                           const CallBuffers& buffers, std::span<const std::size_t> blocks,
                           const Prepare& prepare) {
    if (is_bound_ && was_in_place_ == in_place && std::ranges::equal(blocks, bound_blocks_))
        [[likely]]
      running_->bind(buffers);  // as most programs' calls
    else if (!take_up(choice, call, in_place, buffers, blocks, prepare))
      return false;
    running_->start();
    return true;
  }
  void wait(Deadline deadline) { running_->wait(deadline); }
  /// The call that was begun last, or left, is over on this rank.
  void finish() noexcept { timer_.end(); }

  /// `operation`, which was prepared for `call`, is that of `choice`.
  void adopt(std::uint16_t choice, const ProgramCall& call, bool in_place,
             std::span<const std::size_t> blocks, std::unique_ptr<Operation> operation) {
    prepared_[choice - 1U] = {.operation = std::move(operation),
                              .latest = call,
                              .blocks{blocks.begin(), blocks.end()},
                              .was_in_place = in_place};
  }
  /// A choice cannot run after all: the call that was begun last, and all that follow, are left to
  /// the library.
  void withdraw(std::uint16_t choice) noexcept {
    prepared_[choice - 1U].is_withdrawn = true;
    found_.choice = library;
    timer_.end();  // the time of the attempt stays in the tally
    Tally& tally = tallies_[choice - 1U];
    --tally.made.calls;
    tally.saved = {};
    leave(found_.call.collective);
  }
  [[nodiscard]] bool is_withdrawn(std::uint16_t choice) const noexcept {
    return prepared_[choice - 1U].is_withdrawn;
  }

  [[nodiscard]] CallLog& log() noexcept { return log_; }
  [[nodiscard]] const CallLog& log() const noexcept { return log_; }
  /// By choice, from 1 on.
  [[nodiscard]] const std::vector<Tally>& tallies() const noexcept { return tallies_; }
  /// Calls left to the library, by collective.
  [[nodiscard]] const std::array<CallSamples, enum_names(Collective{}).size()>& left()
      const noexcept {
    return left_;
  }

 private:
  struct Prepared {
    std::unique_ptr<Operation> operation{};
    ProgramCall latest{};  ///< of this operation
    std::vector<std::size_t> blocks{};
    bool was_in_place = false;
    bool is_withdrawn = false;
  };
  /// Whether the choice is prepared, or pays for that.
  [[nodiscard]] bool may_run(std::uint16_t choice) const noexcept {
    return choice == library || prepared_[choice - 1U].operation != nullptr ||
           tallies_[choice - 1U].missed >= price_;
  }
  /// Whether preparing the choice that is waited for pays from this call on.
  bool pays_now() noexcept {
    Tally& tally = tallies_[awaited_ - 1U];
    if (tally.missed + found_.saving < price_) {
      ++tally.waited;
      tally.missed += found_.saving;
      return false;
    }
    found_.choice = std::exchange(awaited_, library);
    return true;
  }
  /// Binds, rebinds or prepares the operation of a call that is unlike the one before.
  template <class Prepare>
  bool take_up(std::uint16_t choice, const ProgramCall& call, bool in_place,
               const CallBuffers& buffers, std::span<const std::size_t> blocks,
               const Prepare& prepare) {
    Prepared& one = prepared_[choice - 1U];
    if (one.operation != nullptr && one.latest == call && one.was_in_place == in_place &&
        std::ranges::equal(blocks, one.blocks)) {
      one.operation->bind(buffers);
    } else {
      call_.problem.collective = call.collective;
      call_.problem.data_type = call.data_type;
      call_.problem.reduce_op = call.reduce_op;
      call_.problem.message_size = call.message_size;
      call_.problem.in_place = in_place;
      call_.problem.counts = call.counts;
      call_.root = call.root;
      call_.buffers = buffers;
      call_.blocks = blocks;
      if (one.operation != nullptr)
        one.operation->rebind(call_);
      else if (one.operation = prepare(choice, std::as_const(call_)); one.operation == nullptr)
        return false;
      one.latest = call;
      one.blocks.assign(blocks.begin(), blocks.end());
      one.was_in_place = in_place;
    }
    running_ = one.operation.get();
    bound_blocks_ = one.blocks;
    was_in_place_ = in_place;
    is_bound_ = true;
    return true;
  }

  CallLog log_;
  Found found_;
  std::vector<Prepared> prepared_;
  std::vector<Tally> tallies_;
  std::array<CallSamples, enum_names(Collective{}).size()> left_{};
  CallTimer timer_;
  std::chrono::nanoseconds price_{};  ///< of preparing a choice
  std::uint16_t awaited_ = library;   ///< what would run the call that was begun last, if it paid
  Call call_;                         ///< of calls that are rebound
  Operation* running_ = nullptr;      ///< of the call that was started last
  std::span<const std::size_t> bound_blocks_;  ///< of that call
  bool is_bound_ = false;      ///< `running_` is bound to the call that was begun last
  bool was_in_place_ = false;  ///< that call
};

}  // namespace colltune
