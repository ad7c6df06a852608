// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "scheduled_operation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "buffers_of_ranks.h"
#include "colltune/kernels/arithmetic/reduction.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/messages.h"
#include "colltune/machine/keep_for_good.h"
#include "shared_memory/adaptive_stores.h"
#include "waves.h"

namespace colltune {
namespace {

constexpr std::string_view waiting_for = "its part of the data";

int word_of(WavePhase phase) { return static_cast<int>(phase); }
constexpr int phase_words = 2;

/// The symmetric memory of a rank: slots of scratch blocks, then signals.
struct Sizes {
  std::size_t block = 0;  ///< of scratch memory
  std::size_t slot = 0;
  std::size_t scratch = 0;
  int words = 0;

  Sizes(int scratch_blocks, const ScheduledCall& shape, const Call& call,
        const ScheduleOptions& options)
      : block(Waves::largest(call, shape, options.chunk).largest_block()),
        slot(static_cast<std::size_t>(scratch_blocks) * block),
        scratch(slot * static_cast<std::size_t>(shape.slots)),
        // Always with the words for times, since ranks with different settings of `stores` can meet
        // in one call.
        words(phase_words + SizeBuckets(call).words()) {}
  [[nodiscard]] std::size_t signals() const { return scratch; }
  [[nodiscard]] Bytes total() const { return {signals() + Signals::size(words)}; }
};

bool streams(const ScheduleOptions& options) {
  return options.stores.results == CopyMode::non_temporal ||
         options.stores.staging == CopyMode::non_temporal || options.adapts;
}

/// Runs this rank's part of a schedule, wave after wave. Each rank has one signal word per phase,
/// whose epochs number the steps of all calls so far: nothing is ever reset.
class ScheduledOperation final : public Operation {
 public:
  ScheduledOperation(Communicator& communicator, const Call& call, const ScheduledCall& shape,
                     std::unique_ptr<RootPlans> plans, const ScheduleOptions& options,
                     Deadline deadline)
      : rank_(communicator.rank()),
        shape_(shape),
        chunk_(options.chunk),
        prepared_(call),
        plans_(std::move(plans)),
        plan_(&plans_->of(shape.root, shape.in_place)),
        waves_(call.problem, shape, options.chunk, call.blocks),
        sizes_(plans_->needs().scratch_blocks, shape, call, options),
        memory_(communicator.allocate(sizes_.total(), deadline)),
        signals_(communicator, *memory_, sizes_.signals(),
                 streams(options) ? CopyMode::non_temporal : CopyMode::cached),
        abort_flag_(communicator.abort_flag()),
        yields_at_once_(communicator.is_oversubscribed()),
        stores_(options.stores),
        tells_its_end_(call.capacity != Bytes{} && shape_of(shape.collective).has_root),
        buffers_(communicator, signals_, word_of(WavePhase::before_waits), shape.access,
                 call.buffers, deadline) {
    prepared_.blocks = {};  // the caller's, who keeps them no longer than this
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      scratch_.push_back(memory_->part(rank).data());
      if (rank != rank_ && shape_.share_node(rank, rank_)) near_.push_back(rank);
    }
    compute_by(call.problem);
    if (options.adapts) {
      const auto rhythm_of = [&](Bytes size) {
        Problem problem = call.problem;
        problem.message_size = size;
        return StoreChoice::rhythm_of(Waves(problem, shape, options.chunk).count(), shape.slots,
                                      size);
      };
      adaptive_.emplace(SizeBuckets(call), rhythm_of, signals_, communicator, phase_words);
    }
    if (plans_->needs().tags > 0) open_messages(communicator, deadline);
    sources_.resize(plan_->most_sources);
  }

  ScheduledOperation(const ScheduledOperation&) = delete;
  ScheduledOperation& operator=(const ScheduledOperation&) = delete;
  ~ScheduledOperation() override {
    // After a call that timed out, messages that the library does not release may still be under
    // way: their slots then stay mapped, so that they cannot belong to someone else when they are
    // written. (The caller must keep its own buffers: operation.h.)
    constexpr auto patience = std::chrono::milliseconds(100);
    if (messages_ && !messages_->give_up(Deadline::clock::now() + patience))
      keep_for_good(std::move(memory_));
  }

  void bind(const CallBuffers& buffers) override {
    check_bound_sizes(call_buffers_, buffers);
    buffers_.use(buffers);
  }

  void rebind(const Call& call) override {
    check_rebound(prepared_, call, rank_, shape_.ranks);
    const RootPlan& plan = plans_->of(call.root, call.problem.in_place);
    buffers_.use(call.buffers);
    if (&plan != plan_) {
      plan_ = &plan;
      is_new_plan_ = true;
      if (sources_.size() < plan.most_sources) sources_.resize(plan.most_sources);
    }
    compute_by(call.problem);
    call_buffers_ = call.buffers;
    waves_.use(call.problem, shape_, chunk_, call.blocks);
  }

  void start() override {
    first_ = next_;
    if (waves_.count() == 0) return;
    next_ += waves_.count();
    for (std::size_t phase = 0; phase < base_.size(); ++phase) {
      base_[phase] = next_base_[phase];
      next_base_[phase] += waves_.count() * plan_->stride[phase];
    }
    begun_ = 0;
    if (adaptive_) stores_ = adaptive_->begin(message_size_);
    start_lead();
    if (adaptive_) adaptive_->pause();
  }

  void wait(Deadline deadline) override {
    if (waves_.count() == 0) return;
    if (adaptive_) adaptive_->resume();
    if (is_new_plan_) {
      for (const int rank : near_) wait_until(rank, WavePhase::before_waits, base_[0], deadline);
      begin_plan(deadline);
    }
    run_phase(WavePhase::before_waits, first_, begun_, deadline);
    for (std::uint64_t wave = first_; wave < next_; ++wave) {
      if (wave + 1 < next_) {
        begin_wave(wave + 1, deadline);
        run_phase(WavePhase::before_waits, wave + 1, 0, deadline);
      }
      run_phase(WavePhase::rest, wave, 0, deadline);
    }
    for (const Await& await : own().at_end) wait_for(await, next_ - 1, deadline);
    if (messages_) {
      const auto slots = static_cast<std::uint64_t>(shape_.slots);
      for (std::uint64_t wave = next_ - std::min(slots, next_ - first_); wave < next_; ++wave)
        finish_messages(slot_of(wave), deadline);
    }
    order_stores();
    // Where roots change, whoever makes the next call with another one need not wait for it here.
    if (tells_its_end_) signals_.set(word_of(WavePhase::before_waits), next_base_[0]);
    if (adaptive_) adaptive_->end();
  }

 private:
  struct Running {
    Waves::Wave wave;
    std::size_t slot = 0;
  };

  /// Orders stores past the caches before everything that follows, for every other observer: the
  /// transport, which may let another process read or write there, and anyone whom the caller tells
  /// about its results. Signals fence by themselves.
  void order_stores() const noexcept {
    if (stores_.results == CopyMode::non_temporal || stores_.staging == CopyMode::non_temporal)
      fence_non_temporal_stores();
  }

  [[nodiscard]] const RankSchedule& own() const { return plan_->own; }

  /// Sets what the type, the operator and the size decide.
  void compute_by(const Problem& problem) {
    message_size_ = problem.message_size;
    element_size_ = size_of(problem.data_type);
    last_ = {problem.data_type, problem.reduce_op, shape_.ranks};
    part_ = last_;
    if (problem.reduce_op == ReduceOp::avg) part_.op = ReduceOp::sum;
  }

  /// Begins the call as far as that needs no wait.
  void start_lead() {
    if (is_new_plan_) {
      // Slots that the calls before used by another schedule are free when their ranks have ended
      // them all.
      signals_.set(word_of(WavePhase::before_waits), base_[0]);
      const auto has_ended = [&](int rank) {
        return signals_.get(rank, word_of(WavePhase::before_waits)) >= base_[0];
      };
      if (!std::ranges::all_of(near_, has_ended)) return;
      begin_plan(Deadline::max());
    } else {
      begin_call(Deadline::max());
    }
    const Running running = running_wave(first_);
    for (; begun_ < own().phases[0].size(); ++begun_) {
      const Step& step = own().phases[0][begun_];
      for (const Await& await : step.awaits)
        if (!has_come(await, first_)) return;
      run(step, running, Deadline::max());
      if (step.is_awaited) announce(WavePhase::before_waits, first_, begun_);
    }
  }

  /// The first call of a plan begins, when all ranks of the node have ended the calls before.
  void begin_plan(Deadline deadline) {
    is_new_plan_ = false;
    since_ = first_;
    begin_call(deadline);
  }

  void begin_call(Deadline deadline) {
    if (own().is_start_awaited)
      signals_.set(word_of(WavePhase::before_waits), epoch(WavePhase::before_waits, first_, 0));
    begin_wave(first_, deadline);
  }

  void open_messages(Communicator& communicator, Deadline deadline) {
    tags_ = plans_->needs().tags;
    if (tags_ > Messages::largest_tag / shape_.slots)
      throw Error(StatusCode::resource_exhausted,
                  "two ranks would send each other " + std::to_string(tags_) +
                      " messages at a time, more than MPI can tell apart");
    // Checked here, where all ranks reach the same result, and not when some of them have begun.
    if (sizes_.block > Messages::largest_size)
      throw Error(StatusCode::resource_exhausted, "a message would have " +
                                                      format_bytes({sizes_.block}) +
                                                      ", more than MPI counts; take a chunk size");
    messages_of_wave_ = static_cast<std::size_t>(plans_->needs().messages);
    const std::size_t numbers = messages_of_wave_ * static_cast<std::size_t>(shape_.slots);
    messages_ = communicator.open_messages(numbers, deadline);
    is_posted_.resize(numbers);
  }

  std::size_t slot_of(std::uint64_t wave) const {
    return static_cast<std::size_t>(wave % static_cast<std::uint64_t>(shape_.slots));
  }
  std::size_t number_of(std::size_t slot, int message) const {
    return slot * messages_of_wave_ + static_cast<std::size_t>(message);
  }
  int tag_of(const Step& step, std::size_t slot) const {
    return step.tag + tags_ * static_cast<int>(slot);
  }

  /// Posts the receives of this wave whose messages may arrive at any time.
  void begin_wave(std::uint64_t wave, Deadline deadline) {
    if (!messages_) return;
    const Running running = running_wave(wave);
    finish_messages(running.slot, deadline);
    for (const Step* step : plan_->early) post(*step, running);
  }

  void post(const Step& step, const Running& running) {
    const std::size_t size = waves_.size(running.wave, step.share);
    if (size == 0) return;
    const std::size_t number = number_of(running.slot, step.message);
    is_posted_[number] = true;
    order_stores();
    messages_->receive(number, step.from.front().rank, tag_of(step, running.slot),
                       {at(step.to, running), size});
  }

  void finish_message(std::size_t slot, int message, Deadline deadline) {
    const std::size_t number = number_of(slot, message);
    if (messages_->is_done(number)) return;
    if (adaptive_) adaptive_->pause();
    BoundedWait wait(deadline, abort_flag_, yields_at_once_);
    while (!messages_->is_done(number))
      wait.step(plan_->peers[static_cast<std::size_t>(message)], waiting_for);
    if (adaptive_) adaptive_->resume();
  }

  void finish_messages(std::size_t slot, Deadline deadline) {
    for (int message = 0; message < own().messages; ++message)
      finish_message(slot, message, deadline);
  }

  Running running_wave(std::uint64_t wave) const {
    return {waves_.wave(wave - first_), slot_of(wave)};
  }

  /// The epoch of a step, on any rank. Waves of earlier calls of the same plan count back from this
  /// call's first one.
  std::uint64_t epoch(WavePhase phase, std::uint64_t wave, std::uint64_t position) const {
    const auto index = static_cast<std::size_t>(phase);
    return base_[index] + (wave - first_) * plan_->stride[index] + 1 + position;
  }

  /// The epoch to wait for; 0 if there is none.
  std::uint64_t awaited_epoch(const Await& await, std::uint64_t wave) const {
    const auto position = static_cast<std::uint64_t>(await.position);
    const auto slots = static_cast<std::uint64_t>(shape_.slots);
    switch (await.lag) {
      case Lag::same_wave:
        return epoch(await.phase, wave, position);
      case Lag::slot_before:
        return wave < since_ + slots ? 0 : epoch(await.phase, wave - slots, position);
      case Lag::start_of_call:
        return epoch(await.phase, first_, position);
    }
    return 0;  // not reached: the switch is complete
  }

  bool has_come(const Await& await, std::uint64_t wave) const {
    return signals_.get(await.rank, word_of(await.phase)) >= awaited_epoch(await, wave);
  }

  void wait_for(const Await& await, std::uint64_t wave, Deadline deadline) {
    wait_until(await.rank, await.phase, awaited_epoch(await, wave), deadline);
  }

  void wait_until(int rank, WavePhase phase, std::uint64_t epoch, Deadline deadline) {
    const int word = word_of(phase);
    if (signals_.get(rank, word) >= epoch) return;
    if (adaptive_) adaptive_->pause();
    if (!messages_) {
      signals_.wait_until(rank, word, epoch, deadline, waiting_for);
    } else {
      // Messages under way must advance meanwhile: other ranks may wait for them.
      BoundedWait wait(deadline, abort_flag_, yields_at_once_);
      while (signals_.get(rank, word) < epoch) {
        messages_->advance();
        wait.step(rank, waiting_for);
      }
    }
    if (adaptive_) adaptive_->resume();
  }

  void announce(WavePhase phase, std::uint64_t wave, std::size_t step) const {
    signals_.set(word_of(phase), epoch(phase, wave, step + 1));
  }

  void run_phase(WavePhase phase, std::uint64_t wave, std::size_t from, Deadline deadline) {
    const auto& steps = own().phases[static_cast<std::size_t>(phase)];
    const Running running = running_wave(wave);
    for (std::size_t i = from; i < steps.size(); ++i) {
      for (const Await& await : steps[i].awaits) wait_for(await, wave, deadline);
      run(steps[i], running, deadline);
      if (steps[i].is_awaited) announce(phase, wave, i);
    }
  }

  void run(const Step& step, const Running& running, Deadline deadline) {
    const std::size_t size = waves_.size(running.wave, step.share);
    if (size == 0) return;
    for (const int message : step.overtakes) finish_message(running.slot, message, deadline);
    switch (step.kind) {
      case StepKind::send:
        order_stores();
        messages_->send(number_of(running.slot, step.message), step.to.rank,
                        tag_of(step, running.slot), {at(step.from.front(), running), size});
        if (step.is_awaited) finish_message(running.slot, step.message, deadline);
        return;
      case StepKind::receive:
        if (!is_posted_[number_of(running.slot, step.message)]) post(step, running);
        is_posted_[number_of(running.slot, step.message)] = false;
        return finish_message(running.slot, step.message, deadline);
      case StepKind::copy:
        return copy(step, running, size);
      case StepKind::combine:
        return combine(step, running, size, part_);
      case StepKind::combine_last:
        return combine(step, running, size, last_);
    }
  }

  void copy(const Step& step, const Running& running, std::size_t size) {
    const Block& from = step.from.front();
    if (is_far(from))
      read_memory(buffers_.far(from.rank, from.space), offset_of(from, running),
                  {at(step.to, running), size});
    else if (is_far(step.to))
      write_memory(buffers_.far(step.to.rank, step.to.space), offset_of(step.to, running),
                   {at(from, running), size});
    else if (std::byte* const to = at(step.to, running); to != at(from, running))  // else in place
      copy_bytes(to, at(from, running), size, mode_of(step.to));
  }

  void combine(const Step& step, const Running& running, std::size_t size,
               const Reduction& reduction) {
    for (std::size_t i = 0; i < step.from.size(); ++i) sources_[i] = at(step.from[i], running);
    const auto destination = [&](const Block& to) {
      return Destination{at(to, running), mode_of(to)};
    };
    Destination first = destination(step.to);
    Destination second;
    if (step.also_to) {
      second = destination(*step.also_to);
      if (is_for_others(*step.also_to)) std::swap(first, second);
    }
    reduce_in_rank_order({sources_.data(), step.from.size()}, first, second, size / element_size_,
                         reduction);
  }

  bool is_for_others(const Block& to) const {
    return to.space == Space::scratch || to.rank != rank_;
  }

  bool is_far(const Block& block) const {
    return shape_.access == Access::cma && block.rank != rank_ && block.space != Space::scratch;
  }

  std::size_t offset_of(const Block& block, const Running& running) const {
    return waves_.offset(running.wave, block.space, block.index);
  }

  std::byte* at(const Block& block, const Running& running) {
    if (block.space == Space::scratch)
      return scratch_[static_cast<std::size_t>(block.rank)] + running.slot * sizes_.slot +
             static_cast<std::size_t>(block.index) * sizes_.block;
    return buffers_.mapped(block.rank, block.space) + offset_of(block, running);
  }

  CopyMode mode_of(const Block& to) const {
    return is_for_others(to) ? stores_.staging : stores_.results;
  }

  int rank_;
  ScheduledCall shape_;
  std::size_t chunk_;
  Call prepared_;
  std::unique_ptr<RootPlans> plans_;
  const RootPlan* plan_;
  Waves waves_;
  Sizes sizes_;
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  StoreMode stores_;
  bool tells_its_end_;
  std::optional<AdaptiveStores> adaptive_{};  ///< sets `stores_` for each call
  BuffersOfRanks buffers_;
  CallBuffers call_buffers_ = prepared_.buffers;
  Bytes message_size_{};
  std::size_t element_size_ = 1;
  Reduction last_{};
  Reduction part_{};
  std::vector<std::byte*> scratch_;
  std::vector<int> near_;  ///< the other ranks of this node
  std::vector<const std::byte*> sources_;
  std::unique_ptr<Messages> messages_;  ///< null if all ranks share a node
  int tags_ = 0;                        ///< of one wave
  std::size_t messages_of_wave_ = 0;
  std::vector<bool> is_posted_;  ///< by number: whether a receive was posted before its step
  std::uint64_t first_ = 0;      ///< first wave of the call, counted over all calls
  std::uint64_t next_ = 0;
  std::uint64_t since_ = 0;  ///< first wave of the plan, since it was last changed
  /// By phase: the epoch before the call, and the one after it, when its rank has ended it.
  std::array<std::uint64_t, 2> base_{};
  std::array<std::uint64_t, 2> next_base_{};
  bool is_new_plan_ =
      false;               ///< the plan was changed, and not all ranks have ended the calls before
  std::size_t begun_ = 0;  ///< steps before the waits that `start` has done
};

}  // namespace

Bytes memory_of(int scratch_blocks, const ScheduledCall& shape, const Call& call,
                const ScheduleOptions& options) {
  return Sizes(scratch_blocks, shape, call, options).total();
}

std::unique_ptr<Operation> make_scheduled_operation(Communicator& communicator, const Call& call,
                                                    const ScheduledCall& shape,
                                                    std::unique_ptr<RootPlans> plans,
                                                    const ScheduleOptions& options,
                                                    Deadline deadline) {
  return std::make_unique<ScheduledOperation>(communicator, call, shape, std::move(plans), options,
                                              deadline);
}

}  // namespace colltune
