// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "support/fake_nccl/communicators.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "colltune/kernels/arithmetic/reduction.h"
#include "support/fake_nccl/selection.h"
#include "support/pretended_stream.h"

namespace colltune::test {
namespace {

using nccl::Result;

constexpr int first_own_op = 100;

std::vector<std::byte> multiplied(const std::byte* from, std::size_t count, DataType type,
                                  const std::vector<std::byte>& scalar) {
  std::vector<std::byte> factors;
  for (std::size_t i = 0; i < count; ++i)
    factors.insert(factors.end(), scalar.begin(), scalar.end());
  std::vector<std::byte> products(factors.size());
  reduce_in_rank_order(std::array{from, static_cast<const std::byte*>(factors.data())},
                       products.data(), count, {.type = type, .op = ReduceOp::prod, .ranks = 2});
  return products;
}

/// What `rank` receives.
std::vector<std::byte> result_of(const Meeting& meeting, int rank) {
  const FakeCall& own = meeting.calls[static_cast<std::size_t>(rank)];
  const std::size_t block = own.count * size_of(own.type);
  const bool is_root = rank == own.root;
  const auto send_of = [&](int from, int number = 0) {
    return meeting.calls[static_cast<std::size_t>(from)].send +
           static_cast<std::size_t>(number) * block;
  };
  const int ranks = static_cast<int>(meeting.calls.size());
  const auto from_all = [&](int number) {
    std::vector<const std::byte*> sources;
    for (int from = 0; from < ranks; ++from) sources.push_back(send_of(from, number));
    return sources;
  };
  const auto gathered = [&](int number) {
    std::vector<std::byte> blocks;
    for (const std::byte* const source : from_all(number))
      blocks.insert(blocks.end(), source, source + block);
    return blocks;
  };
  const auto reduced = [&](int number) {
    std::vector<std::byte> sum(block);
    std::vector<std::vector<std::byte>> products;
    std::vector<const std::byte*> sources = from_all(number);
    if (!own.scalar.empty()) {
      for (const std::byte* const source : sources)
        products.push_back(multiplied(source, own.count, own.type, own.scalar));
      std::ranges::transform(products, sources.begin(), [](const auto& one) { return one.data(); });
    }
    reduce_in_rank_order(sources, sum.data(), own.count,
                         {.type = own.type, .op = own.op, .ranks = ranks});
    return sum;
  };
  const auto copied = [&](const std::byte* from) {
    return std::vector<std::byte>(from, from + block);
  };
  switch (own.collective) {
    case Collective::all_reduce:
      return reduced(0);
    case Collective::reduce:
      return is_root ? reduced(0) : std::vector<std::byte>{};
    case Collective::reduce_scatter:
      return reduced(rank);
    case Collective::all_gather:
      return gathered(0);
    case Collective::gather:
      return is_root ? gathered(0) : std::vector<std::byte>{};
    case Collective::all_to_all:
      return gathered(rank);
    case Collective::broadcast:
      return copied(send_of(own.root));
    case Collective::scatter:
      return copied(send_of(own.root, rank));
  }
  return {};
}

/// Waits for what no condition variable tells of. Holds `lock` whenever it looks.
template <class IsOver>
void poll(std::unique_lock<std::mutex>& lock, IsOver is_over) {
  constexpr auto pause = std::chrono::microseconds(200);
  while (!is_over()) fake_library().changed.wait_for(lock, pause);
}

/// Bytes that `rank` sends.
std::size_t sent_by(const FakeCall& call, int rank, int ranks) {
  const std::size_t block = call.count * size_of(call.type);
  switch (call.collective) {
    case Collective::broadcast:
      return rank == call.root ? block : 0;
    case Collective::scatter:
      return rank == call.root ? block * static_cast<std::size_t>(ranks) : 0;
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return block * static_cast<std::size_t>(ranks);
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::all_gather:
    case Collective::gather:
      return block;
  }
  return 0;
}

}  // namespace

FakeLibrary& fake_library() {
  // Never destroyed: its threads may outlive main.
  static auto* const library = new FakeLibrary;
  return *library;
}

FakeMember::FakeMember(std::shared_ptr<FakeGroup> group, int rank, nccl::CtaPolicy policy)
    : group_(std::move(group)), rank_(rank), policy_(policy), thread_([this] { run(); }) {}

FakeMember::~FakeMember() { end(true); }

void FakeMember::run() {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  for (;;) {
    library.changed.wait(lock, [&] { return has_ended_ || !works_.empty(); });
    if (works_.empty()) return;
    const auto work = std::move(works_.front());
    works_.pop_front();
    lock.unlock();
    const Result result = work();
    lock.lock();
    if (result != nccl::result_success) state_ = result;
    --pending_;
    library.changed.notify_all();
  }
}

Result FakeMember::have_done(std::function<Result()> act) {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  if (is_aborted_ || is_revoked_) return nccl::result_invalid_usage;
  works_.push_back(std::move(act));
  ++pending_;
  library.changed.notify_all();
  if (library.settings.is_nonblocking) return nccl::result_in_progress;
  ++inside_;
  library.changed.wait(lock, [&] { return pending_ == 0; });
  --inside_;
  library.changed.notify_all();
  return state_;
}

Result FakeMember::call(const FakeCall& asked, void* stream) {
  FakeLibrary& library = fake_library();
  {
    const std::lock_guard lock(library.mutex);
    library.callers[static_cast<std::size_t>(rank_)] = static_cast<int>(::gettid());
  }
  return have_done([this, asked, stream] {
    {
      FakeLibrary& all = fake_library();
      std::unique_lock lock(all.mutex);
      if (++asked_ > all.settings.sound_calls && all.settings.rank_stuck_inside == rank_)
        all.changed.wait(lock, [&] { return is_aborted_ || is_revoked_; });
      if (is_aborted_ || is_revoked_) return Result{nccl::result_remote_error};
    }
    return ask_and_enqueue(asked, stream);
  });
}

Result FakeMember::revoke() {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  if (has_ended_ || is_revoked_) return nccl::result_invalid_argument;
  is_revoked_ = true;
  ++library.counts.revoked;
  group_->is_broken = true;
  if (group_->shared) group_->shared->is_broken = true;
  library.changed.notify_all();
  return nccl::result_success;
}

Result FakeMember::state() {
  const std::lock_guard lock(fake_library().mutex);
  if (state_ != nccl::result_success) return state_;
  return pending_ > 0 ? nccl::result_in_progress : nccl::result_success;
}

Result FakeMember::open_window(std::byte* memory, std::size_t bytes, nccl::NativeWindow* made) {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  const auto allocation = library.allocations.find(memory);
  if (allocation == library.allocations.end() || allocation->second < bytes)
    return nccl::result_invalid_argument;
  if (!library.settings.makes_windows) return nccl::result_success;
  const std::uint64_t number = ++windows_made_;
  if (library.settings.rank_without_window != rank_) ++group_->windows[number];
  library.changed.notify_all();
  library.changed.wait(
      lock, [&] { return is_aborted_ || is_revoked_ || group_->windows[number] == group_->ranks; });
  if (is_aborted_ || is_revoked_) return nccl::result_remote_error;
  windows_[memory] = bytes;
  ++library.counts.windows;
  *made = reinterpret_cast<nccl::NativeWindow>(memory);
  return nccl::result_success;
}

Result FakeMember::close_window(nccl::NativeWindow window) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  if (windows_.erase(reinterpret_cast<std::byte*>(window)) == 0)
    return nccl::result_invalid_argument;
  --library.counts.windows;
  return nccl::result_success;
}

bool FakeMember::lies_in_windows(const FakeCall& call) const {
  const std::lock_guard lock(fake_library().mutex);
  const auto lies = [&](const std::byte* buffer) {
    return std::ranges::any_of(windows_, [&](const auto& window) {
      return buffer >= window.first && buffer < window.first + window.second;
    });
  };
  return lies(call.send) && lies(call.receive);
}

bool FakeMember::has_copy_engines() {
  const std::lock_guard lock(fake_library().mutex);
  return fake_library().settings.has_copy_engines;
}

int FakeMember::entry_in_windows(const FakeCall& call) const {
  if (!lies_in_windows(call)) return -1;
  const bool reduces = shape_of(call.collective).reduces;
  if (policy_ == nccl::CtaPolicy::zero && !reduces && call.collective != Collective::broadcast &&
      has_copy_engines())
    return copy_engine_entry;
  if (!call.selection.empty() && count_symmetric_kernels(call.selection, call.collective) == 0)
    return -1;
  if (call.collective == Collective::all_gather) return symmetric_kernel_entry;
  const bool has_kernel =
      call.collective == Collective::all_reduce || call.collective == Collective::reduce_scatter;
  const bool is_sum = call.op == ReduceOp::sum && call.scalar.empty();
  return has_kernel && is_sum && is_floating(call.type) && call.type != DataType::f64
             ? symmetric_kernel_entry
             : -1;
}

int FakeMember::add_op(const void* scalar, DataType type) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  ++library.counts.operators;
  const int number = first_own_op + static_cast<int>(ops_.size());
  const auto* const bytes = static_cast<const std::byte*>(scalar);
  ops_[number] = {.type = type, .scalar = {bytes, bytes + size_of(type)}};
  return number;
}

Result FakeMember::remove_op(int op) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  if (ops_.erase(op) == 0) return nccl::result_invalid_argument;
  --library.counts.operators;
  return nccl::result_success;
}

void FakeMember::set_op(int op, FakeCall& call) {
  for (const auto& named : enum_names(ReduceOp{}))
    if (named.value != ReduceOp::none && nccl::native_op(named.value) == op) call.op = named.value;
  const std::lock_guard lock(fake_library().mutex);
  const auto own = ops_.find(op);
  if (own == ops_.end() || own->second.type != call.type) return;
  call.op = ReduceOp::sum;
  call.scalar = own->second.scalar;
}

Result FakeMember::join() {
  FakeLibrary& library = fake_library();
  {
    std::unique_lock lock(library.mutex);
    const FakeNcclSettings& settings = library.settings;
    const bool is_sound = library.made[static_cast<std::size_t>(rank_)].size() <=
                          static_cast<std::size_t>(settings.sound_inits);
    if (!is_sound && settings.rank_refused_in_init == rank_) return nccl::result_system_error;
    // It comes late, where that changes.
    const auto is_stuck = [&] { return !is_sound && settings.rank_stuck_in_init == rank_; };
    while (is_stuck() && !is_aborted_) library.changed.wait(lock);
    const bool comes = !is_aborted_;
    if (SharedGroup* const shared = group_->shared.get()) {
      if (comes) ++shared->joined;
      poll(lock, [&] { return is_aborted_ || shared->joined == group_->ranks; });
      forget_shared_group(group_->identity);
    } else {
      if (comes) ++group_->joined;
      library.changed.notify_all();
      library.changed.wait(lock, [&] { return is_aborted_ || group_->joined == group_->ranks; });
    }
    if (is_aborted_) return nccl::result_remote_error;
  }
  load_profiler();  // before the tuner, as NCCL
  const Result made = make_context();
  const std::lock_guard lock(library.mutex);
  if (made == nccl::result_success) ++library.counts.joined;
  return made;
}

Result FakeMember::ask_and_enqueue(FakeCall call, void* stream) {
  if (group_->shared && sent_by(call, rank_, group_->ranks) > most_bytes_across_processes)
    return nccl::result_invalid_argument;
  if (const Result result = choose(call, call.choice); result != nccl::result_success)
    return result;
  auto* const queue = static_cast<PretendedStream*>(stream);
  if (queue->keep != nullptr) return enqueue_captured(call, queue);
  struct Work {
    std::shared_ptr<FakeMember> member;
    FakeCall call;
    std::uint64_t number;
  };
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(fake_library().mutex);
    number = ++calls_;
  }
  queue->enqueue(
      queue,
      [](void* argument) {
        const std::unique_ptr<Work> work(static_cast<Work*>(argument));
        work->member->carry_out(work->call, work->number);
      },
      new Work{shared_from_this(), call, number});
  tell_profiler(call, number);
  return nccl::result_success;
}

Result FakeMember::enqueue_captured(const FakeCall& call, PretendedStream* queue) {
  FakeLibrary& library = fake_library();
  bool tells_of_replays = false;
  {
    std::unique_lock lock(library.mutex);
    if (library.settings.rank_refused_in_capture == rank_) return nccl::result_system_error;
    if (library.settings.rank_stuck_in_capture == rank_) {
      library.changed.wait(lock, [&] { return is_aborted_ || is_revoked_; });
      return nccl::result_remote_error;
    }
    ++captured_;
    ++library.counts.captured;
    tells_of_replays = library.settings.tells_of_replays;
  }
  if (!tells_of_replays) tell_profiler(call, 0);
  struct Work {
    std::shared_ptr<FakeMember> member;
    FakeCall call;
    bool is_told;
  };
  auto* const work = new Work{shared_from_this(), call, tells_of_replays};
  queue->keep(
      queue,
      [](void* argument) {
        const std::unique_ptr<Work> done(static_cast<Work*>(argument));
        FakeLibrary& counting = fake_library();
        const std::lock_guard lock(counting.mutex);
        --done->member->captured_;
        --counting.counts.captured;
        counting.changed.notify_all();
      },
      work);
  queue->enqueue(
      queue,
      [](void* argument) {
        const auto& replayed = *static_cast<const Work*>(argument);
        std::uint64_t number = 0;
        {
          const std::lock_guard lock(fake_library().mutex);
          number = ++replayed.member->calls_;
        }
        if (replayed.is_told) replayed.member->tell_profiler(replayed.call, number);
        replayed.member->carry_out(replayed.call, number);
      },
      work);
  return nccl::result_success;
}

void FakeMember::carry_out(const FakeCall& call, std::uint64_t number) {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  ++library.counts.calls;
  if (library.held_rank == rank_) {
    library.is_one_held = true;
    library.changed.notify_all();
    library.changed.wait(lock,
                         [&] { return is_aborted_ || is_revoked_ || library.held_rank != rank_; });
  }
  if (library.settings.rank_stuck_in_call == rank_ && call.choice.entry >= 0 &&
      call.choice.entry < symmetric_kernel_entry &&
      (library.settings.stuck_entries >> static_cast<unsigned>(call.choice.entry) & 1U) != 0)
    library.changed.wait(lock, [&] { return is_aborted_; });
  if (group_->shared) return carry_out_across(lock, call, number);
  Meeting& meeting = group_->meetings[number];
  meeting.calls.resize(static_cast<std::size_t>(group_->ranks));
  meeting.calls[static_cast<std::size_t>(rank_)] = call;
  if (++meeting.arrived == group_->ranks)
    meeting.is_alike = std::ranges::all_of(meeting.calls, [&](const FakeCall& other) {
      return other.choice.entry == call.choice.entry &&
             other.choice.channels == call.choice.channels && other.count == call.count;
    });
  library.changed.notify_all();
  library.changed.wait(lock, [&] {
    return is_aborted_ ||
           (meeting.arrived == group_->ranks && meeting.is_alike && !group_->is_broken);
  });
  if (is_aborted_) return;
  // Under the mutex: who is aborted frees its buffers.
  const std::vector<std::byte> result = result_of(meeting, rank_);
  // Nobody writes before all have read: they may call in place.
  ++meeting.computed;
  library.changed.notify_all();
  library.changed.wait(lock, [&] { return is_aborted_ || meeting.computed == group_->ranks; });
  if (!is_aborted_ && !result.empty()) std::memcpy(call.receive, result.data(), result.size());
  if (++meeting.left == group_->ranks) group_->meetings.erase(number);
}

void FakeMember::carry_out_across(std::unique_lock<std::mutex>& lock, const FakeCall& call,
                                  std::uint64_t number) {
  if (is_aborted_) return;
  SharedGroup& shared = *group_->shared;
  const auto ranks = static_cast<std::size_t>(group_->ranks);
  const auto all_have = [&](const auto& numbers) {
    return std::all_of(numbers.begin(), numbers.begin() + group_->ranks,
                       [&](const auto& one) { return one >= number; });
  };
  SharedGroup::Call& own = shared.calls[static_cast<std::size_t>(rank_)];
  own.collective = call.collective;
  own.type = call.type;
  own.op = call.op;
  own.root = call.root;
  own.count = call.count;
  own.choice = call.choice;
  std::copy_n(call.send, sent_by(call, rank_, group_->ranks), own.sent.begin());
  shared.arrived[static_cast<std::size_t>(rank_)] = number;
  const auto is_alike = [&] {
    return std::all_of(shared.calls.begin(), shared.calls.begin() + group_->ranks,
                       [&](const SharedGroup::Call& other) {
                         return other.choice.entry == call.choice.entry &&
                                other.choice.channels == call.choice.channels &&
                                other.count == call.count;
                       });
  };
  poll(lock, [&] {
    return is_aborted_ || (!shared.is_broken && all_have(shared.arrived) && is_alike());
  });
  if (is_aborted_) return;
  Meeting meeting;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    FakeCall& one = meeting.calls.emplace_back(call);
    one.send = shared.calls[rank].sent.data();
  }
  const std::vector<std::byte> result = result_of(meeting, rank_);
  shared.computed[static_cast<std::size_t>(rank_)] = number;
  poll(lock, [&] { return is_aborted_ || all_have(shared.computed); });
  if (!is_aborted_ && !result.empty()) std::memcpy(call.receive, result.data(), result.size());
}

Result FakeMember::end(bool is_aborted) {
  FakeLibrary& library = fake_library();
  {
    const std::lock_guard lock(library.mutex);
    if (has_ended_) return nccl::result_invalid_argument;
    has_ended_ = true;
    if (is_aborted && inside_ > 0 && !is_revoked_) ++library.counts.aborted_inside;
    is_aborted_ = is_aborted;
    group_->is_broken = group_->is_broken || is_aborted;
    if (group_->shared && is_aborted) group_->shared->is_broken = true;
    library.changed.notify_all();
  }
  thread_.join();
  bool waits_in_vain = false;
  {
    std::unique_lock lock(library.mutex);
    library.changed.wait(
        lock, [&] { return !is_aborted || library.settings.rank_stuck_in_abort != rank_; });
    const auto longest = std::chrono::milliseconds(library.settings.longest_wait_ms);
    if (captured_ > 0) {
      library.awaits_graphs = true;
      library.changed.notify_all();
      waits_in_vain = !library.changed.wait_for(lock, longest, [this] { return captured_ == 0; });
    }
    if (waits_in_vain) ++library.counts.overdue;
  }
  if (tuner_ != nullptr) tuner_->finalize(context_);
  tuner_ = nullptr;
  if (profiler_ != nullptr) profiler_->finalize(profiler_context_);
  profiler_ = nullptr;
  return waits_in_vain ? nccl::result_internal_error : nccl::result_success;
}

}  // namespace colltune::test
