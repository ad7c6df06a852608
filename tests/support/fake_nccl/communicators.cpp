// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "support/fake_nccl/communicators.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "colltune/kernels/reduction.h"
#include "nccl/entries.h"
#include "support/pretended_stream.h"

namespace colltune::test {
namespace {

using nccl::Result;

constexpr int first_own_op = 100;

/// NCCL's own choice is the first of these that is there.
float cost_of(const nccl::Entry& entry) {
  return static_cast<float>(static_cast<int>(entry.algorithm) * 10 +
                            static_cast<int>(entry.protocol) + 1);
}

std::uint64_t bit_of(const nccl::Entry& entry) {
  return std::uint64_t{1} << (static_cast<unsigned>(entry.algorithm) * nccl::protocol_count +
                              static_cast<unsigned>(entry.protocol));
}

std::size_t bytes_of(const FakeCall& call, int ranks) {
  const std::size_t block = call.count * size_of(call.type);
  return shape_of(call.collective).has_block_per_rank() ? block * static_cast<std::size_t>(ranks)
                                                        : block;
}

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

Result FakeMember::do_later(std::function<Result()> act) {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  if (is_aborted_) return nccl::result_invalid_usage;
  works_.push_back(std::move(act));
  ++pending_;
  library.changed.notify_all();
  return nccl::result_in_progress;
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
  library.changed.wait(lock,
                       [&] { return is_aborted_ || group_->windows[number] == group_->ranks; });
  if (is_aborted_) return nccl::result_remote_error;
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

int FakeMember::entry_in_windows(const FakeCall& call) const {
  if (!lies_in_windows(call)) return -1;
  const bool reduces = shape_of(call.collective).reduces;
  if (policy_ == nccl::CtaPolicy::zero && !reduces && call.collective != Collective::broadcast)
    return copy_engine_entry;
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
    if (is_sound || settings.rank_stuck_in_init != rank_) ++group_->joined;
    library.changed.notify_all();
    library.changed.wait(lock, [&] { return is_aborted_ || group_->joined == group_->ranks; });
    if (is_aborted_) return nccl::result_remote_error;
  }
  const Result made = make_context();
  const std::lock_guard lock(library.mutex);
  if (made == nccl::result_success) ++library.counts.joined;
  return made;
}

Result FakeMember::make_context() {
  FakeLibrary& library = fake_library();
  const std::lock_guard environment(library.environment);
  const char* const plugin = std::getenv("NCCL_TUNER_PLUGIN");
  if (plugin == nullptr || group_->ranks == 1) return nccl::result_success;
  int interface_version = 0;
  const char* snapshot = nullptr;
  {
    const std::lock_guard lock(library.mutex);
    interface_version = library.settings.tuner_interface;
    snapshot = library.settings.snapshot[rank_];
  }
  auto& tuner = library.tuners[std::string(plugin) + std::to_string(interface_version)];
  if (!tuner) {
    try {
      tuner = std::make_unique<LoadedTuner>(plugin, interface_version);
    } catch (const std::exception&) {
      return nccl::result_success;  // as NCCL: no tuner, then
    }
  }
  constexpr const char* variable = "COLLTUNE_NCCL_SNAPSHOT";
  if (snapshot != nullptr) ::setenv(variable, snapshot, 1);
  const Result made =
      tuner->init(&context_, group_->identity, static_cast<std::size_t>(group_->ranks), 1, nullptr);
  if (snapshot != nullptr) ::unsetenv(variable);
  if (made == nccl::result_success) tuner_ = tuner.get();
  return made;
}

Costs FakeMember::costs_of(nccl::Function function, std::size_t bytes) const {
  FakeLibrary& library = fake_library();
  const std::lock_guard lock(library.mutex);
  const FakeNcclSettings& settings = library.settings;
  std::uint64_t without = settings.unavailable[rank_];
  if (bytes >= settings.long_bytes) without |= settings.unavailable_for_long;
  Costs costs = Costs::of(nccl::cost_ignored);
  for (const nccl::Entry& entry : nccl::entries_of(function))
    if (nccl::why_not_there(entry, {.ranks_per_node = group_->ranks, .ranks = group_->ranks})
            .empty() &&
        (without & bit_of(entry)) == 0)
      costs.at(entry.algorithm, entry.protocol) = cost_of(entry);
  return costs;
}

Result FakeMember::choose(const FakeCall& call, FakeNcclChoice& choice) {
  if (const int entry = entry_in_windows(call); entry >= 0 && group_->ranks > 1) {
    choice.entry = entry;
    const std::lock_guard lock(fake_library().mutex);
    fake_library().last[static_cast<std::size_t>(rank_)] = choice;
    return nccl::result_success;
  }
  const auto function = nccl::function_of(call.collective);
  if (!function || group_->ranks == 1) return nccl::result_success;
  const std::size_t bytes = bytes_of(call, group_->ranks);
  Costs costs = costs_of(*function, bytes);
  int channels = 0;
  if (tuner_ != nullptr &&
      tuner_->get_coll_info()(context_, static_cast<int>(*function), bytes, 1,
                              reinterpret_cast<float**>(costs.entries.data()),  // NOLINT
                              nccl::algorithm_count, nccl::protocol_count, 0,
                              &channels) != nccl::result_success)
    return nccl::result_internal_error;
  std::optional<std::size_t> best;
  for (std::size_t entry = 0; entry < costs.entries.size(); ++entry)
    if (costs.entries[entry] >= 0 && (!best || costs.entries[entry] < costs.entries[*best]))
      best = entry;
  if (!best) return nccl::result_invalid_usage;
  choice.entry = static_cast<int>(*best);
  const auto protocol = static_cast<nccl::Protocol>(choice.entry % nccl::protocol_count);
  const std::lock_guard lock(fake_library().mutex);
  const int most = std::min(fake_library().settings.channels,
                            nccl::most_channels_of(*function, protocol, bytes));
  choice.channels = channels == 0 ? most : std::min(channels, most);
  fake_library().last[static_cast<std::size_t>(rank_)] = choice;
  return nccl::result_success;
}

Result FakeMember::ask_and_enqueue(FakeCall call, void* stream) {
  if (const Result result = choose(call, call.choice); result != nccl::result_success)
    return result;
  struct Work {
    std::shared_ptr<FakeMember> member;
    FakeCall call;
    std::uint64_t number;
  };
  auto* const queue = static_cast<PretendedStream*>(stream);
  queue->enqueue(
      queue,
      [](void* argument) {
        const std::unique_ptr<Work> work(static_cast<Work*>(argument));
        work->member->carry_out(work->call, work->number);
      },
      new Work{shared_from_this(), call, ++calls_});
  return nccl::result_success;
}

void FakeMember::carry_out(const FakeCall& call, std::uint64_t number) {
  FakeLibrary& library = fake_library();
  std::unique_lock lock(library.mutex);
  ++library.counts.calls;
  if (library.held_rank == rank_) {
    library.is_one_held = true;
    library.changed.notify_all();
    library.changed.wait(lock, [&] { return is_aborted_ || library.held_rank != rank_; });
  }
  if (library.settings.rank_stuck_in_call == rank_ && call.choice.entry >= 0 &&
      call.choice.entry < symmetric_kernel_entry &&
      (library.settings.stuck_entries >> static_cast<unsigned>(call.choice.entry) & 1U) != 0)
    library.changed.wait(lock, [&] { return is_aborted_; });
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

void FakeMember::end(bool is_aborted) {
  FakeLibrary& library = fake_library();
  {
    const std::lock_guard lock(library.mutex);
    if (has_ended_) return;
    has_ended_ = true;
    is_aborted_ = is_aborted;
    group_->is_broken = group_->is_broken || is_aborted;
    library.changed.notify_all();
  }
  thread_.join();
  if (tuner_ != nullptr) tuner_->finalize(context_);
  tuner_ = nullptr;
}

}  // namespace colltune::test
