// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "scheduled_operation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "colltune/kernels/arithmetic/reduction.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/messages.h"
#include "colltune/machine/keep_for_good.h"
#include "shared_memory/adaptive_stores.h"
#include "shared_memory/cross_memory.h"
#include "waves.h"

namespace colltune {
namespace {

constexpr std::string_view waiting_for = "its part of the data";

int word_of(WavePhase phase) { return static_cast<int>(phase); }
constexpr int phase_words = 2;

// Always with the words for times, since ranks with different settings of `stores` can meet in one
// call.
constexpr int words = phase_words + SharedTimes::words;

struct Sizes {
  std::size_t slot = 0;
  std::size_t scratch = 0;

  Sizes(const Schedule& schedule, const ScheduledCall& shape, const Waves& waves)
      : slot(static_cast<std::size_t>(schedule.scratch_blocks) * waves.largest_block()),
        scratch(slot * static_cast<std::size_t>(shape.slots)) {}
  [[nodiscard]] std::size_t signals() const { return scratch; }
  [[nodiscard]] Bytes total() const { return {signals() + Signals::size(words)}; }
};

/// Where a rank's buffers are in this call, for the others. It lies beside the rank's signal of the
/// lead: whoever accesses the buffers has seen a signal of this call before, and the rank ends the
/// call only when nobody accesses them any more.
struct Card {
  // Cross Memory Attach: addresses in that rank's process.
  ProcessMemory send{};
  ProcessMemory receive{};
  // Mapped: bytes from the buffers that the operation was prepared for.
  std::ptrdiff_t send_moved = 0;
  std::ptrdiff_t receive_moved = 0;
};
static_assert(sizeof(Card) <= Signals::room && std::is_trivially_copyable_v<Card>);

bool streams(const ScheduleOptions& options) {
  return options.stores.results == CopyMode::non_temporal ||
         options.stores.staging == CopyMode::non_temporal || options.adapts;
}

/// Runs this rank's part of a schedule, wave after wave. Each rank has one signal word per phase,
/// whose epochs number the steps of all calls so far: nothing is ever reset.
class ScheduledOperation final : public Operation {
 public:
  ScheduledOperation(Communicator& communicator, const Call& call, const ScheduledCall& shape,
                     Schedule schedule, const ScheduleOptions& options, Deadline deadline)
      : rank_(communicator.rank()),
        shape_(shape),
        waves_(call.problem, shape, options.chunk),
        sizes_(schedule, shape, waves_),
        memory_(communicator.allocate(sizes_.total(), deadline)),
        signals_(communicator, *memory_, sizes_.signals(),
                 streams(options) ? CopyMode::non_temporal : CopyMode::cached),
        abort_flag_(communicator.abort_flag()),
        yields_at_once_(communicator.is_oversubscribed()),
        stores_(options.stores),
        element_size_(size_of(call.problem.data_type)),
        last_{call.problem.data_type, call.problem.reduce_op, shape.ranks},
        part_{call.problem.data_type,
              call.problem.reduce_op == ReduceOp::avg ? ReduceOp::sum : call.problem.reduce_op,
              shape.ranks} {
    for (const RankSchedule& rank : schedule.ranks)
      lengths_.push_back({rank.phases[0].size(), rank.phases[1].size()});
    own_ = std::move(schedule.ranks[static_cast<std::size_t>(rank_)]);
    if (options.adapts)
      adaptive_.emplace(
          StoreChoice::rhythm_of(waves_.count(), shape.slots, call.problem.message_size), signals_,
          communicator, phase_words);
    find_buffers(communicator, call.buffers, deadline);
    if (schedule.tags > 0) open_messages(communicator, schedule.tags, deadline);
    std::size_t most = 0;
    for (const auto& steps : own_.phases)
      for (const Step& step : steps) most = std::max(most, step.from.size());
    sources_.resize(most);
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
    check_bound_sizes(prepared_, buffers);
    if (shape_.access == Access::direct) {
      require_at_home(send_home_, buffers.send);
      require_at_home(receive_home_, buffers.receive);
    }
    use(buffers);
  }

  void start() override {
    if (waves_.count() == 0) return;
    first_ = next_;
    next_ += waves_.count();
    if (adaptive_) stores_ = adaptive_->begin();
    if (own_.is_start_awaited)
      signals_.set(word_of(WavePhase::lead), epoch(rank_, WavePhase::lead, first_, 0));
    begin_wave(first_, Deadline::max());
    const Running running = running_wave(first_);
    for (begun_ = 0; begun_ < own_.phases[0].size(); ++begun_) {
      const Step& step = own_.phases[0][begun_];
      for (const Await& await : step.awaits)
        if (!has_come(await, first_)) return;
      run(step, running, Deadline::max());
      if (step.is_awaited) announce(WavePhase::lead, first_, begun_);
    }
  }

  void wait(Deadline deadline) override {
    if (waves_.count() == 0) return;
    run_phase(WavePhase::lead, first_, begun_, deadline);
    for (std::uint64_t wave = first_; wave < next_; ++wave) {
      if (wave + 1 < next_) {
        begin_wave(wave + 1, deadline);
        run_phase(WavePhase::lead, wave + 1, 0, deadline);
      }
      run_phase(WavePhase::rest, wave, 0, deadline);
    }
    for (const Await& await : own_.at_end) wait_for(await, next_ - 1, deadline);
    if (messages_) {
      const auto slots = static_cast<std::uint64_t>(shape_.slots);
      for (std::uint64_t wave = next_ - std::min(slots, next_ - first_); wave < next_; ++wave)
        finish_messages(slot_of(wave), deadline);
    }
    order_stores();
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

  void find_buffers(Communicator& communicator, const CallBuffers& buffers, Deadline deadline) {
    for (int rank = 0; rank < shape_.ranks; ++rank) scratch_.push_back(memory_->part(rank).data());
    prepared_ = buffers;
    if (shape_.access == Access::direct) {
      sends_ = communicator.find_peers(buffers.send, deadline);
      receives_ = communicator.find_peers(buffers.receive, deadline);
      if (sends_.empty() || receives_.empty())
        throw Error(StatusCode::failed_precondition,
                    "the buffers of some rank do not lie in symmetric memory");
      send_home_ = communicator.allocation_around(buffers.send);
      receive_home_ = communicator.allocation_around(buffers.receive);
    }
    use(buffers);
  }

  /// Notes where this rank's buffers are, and tells the others.
  void use(const CallBuffers& buffers) {
    // In place, the smaller buffer is a view into the larger one, through which it is written.
    own_send_ = const_cast<std::byte*>(buffers.send.data());
    own_receive_ = buffers.receive.data();
    if (shape_.access == Access::staged) return;
    Card card;
    if (shape_.access == Access::cma) {
      card.send = own_memory(buffers.send);
      card.receive = own_memory(buffers.receive);
    } else {
      card.send_moved = buffers.send.data() - prepared_.send.data();
      card.receive_moved = buffers.receive.data() - prepared_.receive.data();
    }
    std::memcpy(signals_.beside(rank_, word_of(WavePhase::lead)), &card, sizeof card);
  }

  Card card_of(int rank) const {
    Card card;
    std::memcpy(&card, signals_.beside(rank, word_of(WavePhase::lead)), sizeof card);
    return card;
  }

  static void require_at_home(std::span<const std::byte> home, std::span<const std::byte> buffer) {
    if (buffer.empty() ||
        (std::less_equal<>{}(home.data(), buffer.data()) &&
         std::less_equal<>{}(buffer.data() + buffer.size(), home.data() + home.size())))
      return;
    throw Error(StatusCode::invalid_argument,
                "a registered buffer lies outside the allocation that this call was prepared for");
  }

  void open_messages(Communicator& communicator, int tags, Deadline deadline) {
    if (tags > Messages::largest_tag / shape_.slots)
      throw Error(StatusCode::resource_exhausted,
                  "two ranks would send each other " + std::to_string(tags) +
                      " messages at a time, more than MPI can tell apart");
    // Checked here, where all ranks reach the same result, and not when some of them have begun.
    if (waves_.largest_block() > Messages::largest_size)
      throw Error(StatusCode::resource_exhausted, "a message would have " +
                                                      format_bytes({waves_.largest_block()}) +
                                                      ", more than MPI counts; take a chunk size");
    tags_ = tags;
    peers_.resize(static_cast<std::size_t>(own_.messages));
    messages_ = communicator.open_messages(
        static_cast<std::size_t>(own_.messages) * static_cast<std::size_t>(shape_.slots), deadline);
    for (const auto& steps : own_.phases)
      for (const Step& step : steps)
        if (step.message >= 0) {
          peers_[static_cast<std::size_t>(step.message)] =
              step.kind == StepKind::send ? step.to.rank : step.from.front().rank;
          if (step.is_free_before) early_.push_back(&step);
        }
    is_posted_.resize(peers_.size() * static_cast<std::size_t>(shape_.slots));
  }

  std::size_t slot_of(std::uint64_t wave) const {
    return static_cast<std::size_t>(wave % static_cast<std::uint64_t>(shape_.slots));
  }
  std::size_t number_of(std::size_t slot, int message) const {
    return slot * peers_.size() + static_cast<std::size_t>(message);
  }
  int tag_of(const Step& step, std::size_t slot) const {
    return step.tag + tags_ * static_cast<int>(slot);
  }

  /// Posts the receives of this wave whose messages may arrive at any time.
  void begin_wave(std::uint64_t wave, Deadline deadline) {
    if (!messages_) return;
    const Running running = running_wave(wave);
    finish_messages(running.slot, deadline);
    for (const Step* step : early_) post(*step, running);
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
    BoundedWait wait(deadline, abort_flag_, yields_at_once_);
    while (!messages_->is_done(number))
      wait.step(peers_[static_cast<std::size_t>(message)], waiting_for);
  }

  void finish_messages(std::size_t slot, Deadline deadline) {
    for (int message = 0; message < own_.messages; ++message)
      finish_message(slot, message, deadline);
  }

  Running running_wave(std::uint64_t wave) const {
    return {waves_.wave(wave - first_), slot_of(wave)};
  }

  std::uint64_t epoch(int rank, WavePhase phase, std::uint64_t wave, std::uint64_t position) const {
    const auto length = lengths_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(phase)];
    return wave * (length + 1) + 1 + position;
  }

  /// The epoch to wait for; 0 if there is none.
  std::uint64_t awaited_epoch(const Await& await, std::uint64_t wave) const {
    const auto position = static_cast<std::uint64_t>(await.position);
    const auto slots = static_cast<std::uint64_t>(shape_.slots);
    switch (await.lag) {
      case Lag::same_wave:
        return epoch(await.rank, await.phase, wave, position);
      case Lag::slot_before:
        return wave < slots ? 0 : epoch(await.rank, await.phase, wave - slots, position);
      case Lag::start_of_call:
        return epoch(await.rank, await.phase, first_, position);
    }
    return 0;  // not reached: the switch is complete
  }

  bool has_come(const Await& await, std::uint64_t wave) const {
    return signals_.get(await.rank, word_of(await.phase)) >= awaited_epoch(await, wave);
  }

  void wait_for(const Await& await, std::uint64_t wave, Deadline deadline) const {
    const std::uint64_t awaited = awaited_epoch(await, wave);
    if (!messages_)
      return signals_.wait_until(await.rank, word_of(await.phase), awaited, deadline, waiting_for);
    // Messages under way must advance meanwhile: other ranks may wait for them.
    BoundedWait wait(deadline, abort_flag_, yields_at_once_);
    while (signals_.get(await.rank, word_of(await.phase)) < awaited) {
      messages_->advance();
      wait.step(await.rank, waiting_for);
    }
  }

  void announce(WavePhase phase, std::uint64_t wave, std::size_t step) const {
    signals_.set(word_of(phase), epoch(rank_, phase, wave, step + 1));
  }

  void run_phase(WavePhase phase, std::uint64_t wave, std::size_t from, Deadline deadline) {
    const auto& steps = own_.phases[static_cast<std::size_t>(phase)];
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

  void copy(const Step& step, const Running& running, std::size_t size) const {
    const Block& from = step.from.front();
    if (is_far(from))
      read_memory(far(from), offset_of(from, running), {at(step.to, running), size});
    else if (is_far(step.to))
      write_memory(far(step.to), offset_of(step.to, running), {at(from, running), size});
    else
      copy_bytes(at(step.to, running), at(from, running), size, mode_of(step.to));
  }

  void combine(const Step& step, const Running& running, std::size_t size,
               const Reduction& reduction) {
    for (std::size_t i = 0; i < step.from.size(); ++i) sources_[i] = at(step.from[i], running);
    Destination second;
    if (step.also_to) second = {at(*step.also_to, running), mode_of(*step.also_to)};
    reduce_in_rank_order({sources_.data(), step.from.size()},
                         {at(step.to, running), mode_of(step.to)}, second, size / element_size_,
                         reduction);
  }

  bool is_far(const Block& block) const {
    return shape_.access == Access::cma && block.rank != rank_ && block.space != Space::scratch;
  }

  ProcessMemory far(const Block& block) const {
    const Card card = card_of(block.rank);
    return block.space == Space::send ? card.send : card.receive;
  }

  std::size_t offset_of(const Block& block, const Running& running) const {
    return waves_.offset(running.wave, block.space, block.index);
  }

  std::byte* at(const Block& block, const Running& running) const {
    if (block.space == Space::scratch)
      return scratch_[static_cast<std::size_t>(block.rank)] + running.slot * sizes_.slot +
             static_cast<std::size_t>(block.index) * waves_.largest_block();
    return buffer(block) + offset_of(block, running);
  }

  /// The send or receive buffer of a rank whose memory is mapped here.
  std::byte* buffer(const Block& block) const {
    const bool is_send = block.space == Space::send;
    if (block.rank == rank_) return is_send ? own_send_ : own_receive_;
    const Card card = card_of(block.rank);
    const auto rank = static_cast<std::size_t>(block.rank);
    return is_send ? sends_[rank] + card.send_moved : receives_[rank] + card.receive_moved;
  }

  CopyMode mode_of(const Block& to) const {
    return to.space == Space::scratch || to.rank != rank_ ? stores_.staging : stores_.results;
  }

  int rank_;
  ScheduledCall shape_;
  Waves waves_;
  Sizes sizes_;
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  StoreWay stores_;
  std::optional<AdaptiveStores> adaptive_{};  ///< sets `stores_` for each call
  std::size_t element_size_;
  Reduction last_;
  Reduction part_;
  RankSchedule own_;
  std::vector<std::array<std::uint64_t, 2>> lengths_;  ///< number of steps, by rank and phase
  std::vector<std::byte*> scratch_;
  CallBuffers prepared_;
  std::byte* own_send_ = nullptr;
  std::byte* own_receive_ = nullptr;
  // Of mapped buffers: where all ranks' were when this was prepared, by rank, and the allocations
  // in which this rank's lie.
  std::vector<std::byte*> sends_;
  std::vector<std::byte*> receives_;
  std::span<const std::byte> send_home_;
  std::span<const std::byte> receive_home_;
  std::vector<const std::byte*> sources_;
  std::unique_ptr<Messages> messages_;  ///< null if all ranks share a node
  int tags_ = 0;                        ///< of one wave
  std::vector<int> peers_;              ///< by message of a wave: the rank at its other end
  std::vector<const Step*> early_;      ///< receives whose messages may arrive at any time
  std::vector<bool> is_posted_;         ///< by number: whether a receive was posted before its step
  std::uint64_t first_ = 0;             ///< first wave of the call, counted over all calls
  std::uint64_t next_ = 0;
  std::size_t begun_ = 0;  ///< steps of the lead that `start` has done
};

}  // namespace

Bytes memory_of(const Schedule& schedule, const ScheduledCall& shape, const Problem& problem,
                const ScheduleOptions& options) {
  return Sizes(schedule, shape, Waves(problem, shape, options.chunk)).total();
}

std::unique_ptr<Operation> make_scheduled_operation(Communicator& communicator, const Call& call,
                                                    const ScheduledCall& shape, Schedule schedule,
                                                    const ScheduleOptions& options,
                                                    Deadline deadline) {
  return std::make_unique<ScheduledOperation>(communicator, call, shape, std::move(schedule),
                                              options, deadline);
}

}  // namespace colltune
