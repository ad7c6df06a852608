// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_rank.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "agreement.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/vocabulary/error.h"
#include "library_call.h"
#include "native.h"

namespace colltune::nccl {
namespace {

using Clock = std::chrono::steady_clock;

// NCCL takes seconds to create a communicator, and some time to end one.
constexpr auto pause_between_looks = std::chrono::microseconds(200);
// Indices of the words of `progress_`.
constexpr int joined_word = 0;
constexpr int calls_word = 1;
constexpr std::uint64_t join_begun = 1;
constexpr std::uint64_t join_done = 2;

/// The members kept with a communicator, in the order in which they were made.
class KeptMembers final : public Attachment {
 public:
  struct Kept {
    CommunicatorSettings settings;
    std::shared_ptr<NcclRank> member;
  };
  static KeptMembers& of(Communicator& communicator) {
    if (auto* const kept = communicator.attachments().find<KeptMembers>()) return *kept;
    return communicator.attachments().keep(std::make_unique<KeptMembers>());
  }

  [[nodiscard]] std::shared_ptr<NcclRank> find(const CommunicatorSettings& settings) const {
    const auto found = std::ranges::find(kept_, settings, &Kept::settings);
    return found == kept_.end() ? nullptr : found->member;
  }
  void add(const CommunicatorSettings& settings, std::shared_ptr<NcclRank> member) {
    kept_.push_back({settings, std::move(member)});
  }
  void drop(const CommunicatorSettings& settings) {
    std::erase_if(kept_, [&](const Kept& one) { return one.settings == settings; });
  }
  /// Collective: makes room for the next member.
  void make_room(Communicator& communicator, Deadline deadline) {
    if (kept_.size() < most_members) return;
    for (const Kept& one : kept_)
      if (first_rank_where(communicator, one.member.use_count() > 1, deadline) < 0)
        return drop(CommunicatorSettings(one.settings));
    throw Error(StatusCode::resource_exhausted,
                "operations use " + std::to_string(most_members) +
                    " communicators of NCCL's already, each with settings of its own");
  }

 private:
  std::vector<Kept> kept_;
};

Configuration configuration_of(const CommunicatorSettings& settings) {
  Configuration configuration;
  configuration.blocking = 1;
  if (settings.ctas > 0) configuration.fewest_ctas = configuration.most_ctas = settings.ctas;
  if (settings.policy != CtaPolicy::own) {
    configuration.mean_all();
    configuration.cta_policy = static_cast<int>(settings.policy);
  }
  return configuration;
}

}  // namespace

std::shared_ptr<NcclRank> NcclRank::of(Communicator& communicator, const Opened& opened,
                                       const CommunicatorSettings& settings, Deadline deadline) {
  if (communicator.device() == nullptr)
    throw Error(StatusCode::failed_precondition, "NCCL takes buffers on a device, and rank " +
                                                     std::to_string(communicator.rank()) +
                                                     " has none");
  KeptMembers& kept = KeptMembers::of(communicator);
  std::shared_ptr<NcclRank> known = kept.find(settings);
  const bool is_lost = known == nullptr || !known->is_usable();
  if (first_rank_where(communicator, is_lost, deadline + vote_time) < 0) return known;
  // If one rank has lost its member, the others would wait for it in vain.
  if (known != nullptr) known->abort("another rank's was aborted");
  known.reset();
  kept.drop(settings);
  kept.make_room(communicator, deadline + vote_time);
  std::shared_ptr<NcclRank> made(new NcclRank(communicator, opened, settings, deadline));
  made->make(deadline);
  kept.add(settings, made);
  return made;
}

NcclRank::NcclRank(Communicator& communicator, const Opened& opened,
                   const CommunicatorSettings& settings, Deadline deadline)
    : communicator_(communicator),
      opened_(opened),
      settings_(settings),
      device_(*communicator.device()),
      abort_flag_(communicator.abort_flag()),
      yields_at_once_(communicator.is_oversubscribed()),
      board_(communicator.allocate({Signals::size(2)}, deadline)),
      progress_(communicator, *board_, 0) {}

void NcclRank::make(Deadline deadline) {
  const Deadline vote = deadline + vote_time;
  require_alike(communicator_, "NCCL's version", version_text(opened_.version), vote);
  require_alike(communicator_, "NCCL_* variables of their environments",
                opened_.compared_environment, vote);
  UniqueId id{};
  act_together(
      communicator_, "got no name for a communicator from NCCL",
      [&] {
        if (communicator_.rank() == 0)
          check_nccl(functions(), nullptr, functions().get_unique_id(&id), "ncclGetUniqueId");
        scratch_ = DeviceMemory(
            device_, {2 * widest_element * static_cast<std::uint64_t>(communicator_.size())});
        device_.fill(scratch_.bytes(), 0);
      },
      vote);
  std::uint64_t newest = 0;
  for (const auto& context : list_contexts()) newest = std::max(newest, context.number);
  // After this, no rank's tuner can make a context that is in the list above.
  id = share_id(communicator_, id, vote);
  act_together(
      communicator_, "could not join NCCL's communicator", [&] { join(id, deadline); }, vote);
  find_tuner_context(deadline, newest);
  if (why_not_forced_.empty()) require_alike_tables(vote);
}

NcclRank::~NcclRank() {
  // Operations keep the member alive, so none uses its graphs any more.
  if (handle_ == nullptr || !is_usable()) return;
  const auto end = Clock::now() + longest_end;
  try {
    await_others_graphs(end);
    begin("ncclCommFinalize",
          [finalize = functions().finalize, handle = handle_] { return finalize(handle); });
    while (!is_ready()) {
      if (Clock::now() > end) throw Error(StatusCode::deadline_exceeded, "ncclCommFinalize");
      std::this_thread::sleep_for(pause_between_looks);
    }
    const PendingEnd destroyed(functions(), handle_, PendingEnd::Way::destroy);
  } catch (const Error& error) {
    std::fprintf(stderr, "colltune: an NCCL communicator is aborted at its end: %s\n",
                 error.what());
    abort(error.what());
  }
}

void NcclRank::join(const UniqueId& id, Deadline deadline) {
  progress_.set(joined_word, join_begun);
  if (!make_native(id, deadline)) {
    try {
      fail_to_join();
    } catch (const Error& error) {
      abort(error.what());
      throw;
    }
  }
  try {
    while (!is_ready()) {
      if (abort_flag_.is_raised() || Clock::now() >= deadline) fail_to_join();
      std::this_thread::sleep_for(pause_between_looks);
    }
  } catch (const Error& error) {
    abort(error.what());
    throw;
  }
  progress_.set(joined_word, join_done);
}

bool NcclRank::make_native(const UniqueId& id, Deadline deadline) {
  // Shared with the thread that makes the communicator, which may be left alone.
  struct Making {
    std::mutex mutex;
    NativeHandle handle = nullptr;  ///< owned by NCCL until the call returns
    // Guarded by mutex:
    bool is_past_device = false;  ///< the thread no longer uses the rank's device
    bool is_made = false;
    bool is_left_alone = false;
  };
  const auto making = std::make_shared<Making>();
  errands_.begin("ncclCommInitRankConfig",
                 [making, nccl = functions(), id, &device = device_, ranks = communicator_.size(),
                  rank = communicator_.rank(), configuration = configuration_of(settings_)] {
                   device.make_current();
                   std::unique_lock lock(making->mutex);
                   making->is_past_device = true;
                   lock.unlock();
                   Configuration given = configuration;
                   const Result result = nccl.init(&making->handle, ranks, id, rank, &given);
                   lock.lock();
                   making->is_made = result == result_success || result == result_in_progress;
                   if (making->is_made && making->is_left_alone) {
                     lock.unlock();
                     return nccl.abort(making->handle);
                   }
                   return result;
                 });
  while (errands_.is_under_way()) {
    if (abort_flag_.is_raised() || Clock::now() >= deadline) {
      const std::lock_guard lock(making->mutex);
      if (making->is_made) break;
      // The device may be destroyed as soon as this returns.
      if (making->is_past_device) {
        making->is_left_alone = true;
        errands_.leave_alone();
        return false;
      }
    }
    std::this_thread::sleep_for(pause_between_looks);
  }
  while (errands_.is_under_way()) std::this_thread::sleep_for(pause_between_looks);
  // If there is an error, there is no communicator to end.
  check_nccl(functions(), nullptr, errands_.result(), "ncclCommInitRankConfig");
  handle_ = making->handle;
  return true;
}

void NcclRank::begin(std::string what, std::function<Result()> act) {
  require_usable();
  if (errands_.is_under_way())
    throw Error(StatusCode::failed_precondition, errands_.what() + " is still under way");
  errands_.begin(std::move(what), [&device = device_, act = std::move(act)] {
    device.make_current();
    return act();
  });
}

void NcclRank::enter() {
  // Sequentially consistent, as is the abort, which sets its own flag and then reads `inside`: at
  // least one of the two sees the other.
  mark_->inside.store(++entered_, std::memory_order_seq_cst);
  if (!is_aborted_.load(std::memory_order_seq_cst)) return;
  leave();
  require_usable();
}

void NcclRank::watch() noexcept {
  const std::uint64_t inside = mark_->inside.load(std::memory_order_acquire);
  const auto now = Clock::now();
  if (inside == 0 || inside != watched_) {
    watched_ = inside;
    watched_since_ = now;
    return;
  }
  const std::chrono::nanoseconds allowed(mark_->allowed_ns.load(std::memory_order_relaxed));
  if (now - watched_since_ < allowed || is_overdue_.exchange(true)) return;
  end("a call of NCCL's did not return in time");
}

void NcclRank::fail_to_join() {
  const bool is_aborted = abort_flag_.is_raised();
  const auto first_before = [&](std::uint64_t stage) {
    for (int rank = 0; rank < communicator_.size(); ++rank)
      if (rank != communicator_.rank() && shares_node_with(rank) &&
          progress_.get(rank, joined_word) < stage)
        return rank;
    return -1;
  };
  if (const int late = first_before(join_begun); late >= 0)
    throw RankMissing(late, "ncclCommInitRankConfig", is_aborted);
  const int unfinished = first_before(join_done);
  throw Error(is_aborted ? StatusCode::aborted : StatusCode::deadline_exceeded,
              std::string("NCCL's communicator was not made ") +
                  (is_aborted ? "before the abort flag was raised" : "in time") +
                  "; all ranks of this node had begun, " +
                  (unfinished < 0 ? "the others are done"
                                  : "rank " + std::to_string(unfinished) + " is not done either"));
}

bool NcclRank::shares_node_with(int rank) const {
  const auto nodes = communicator_.nodes();
  return nodes[static_cast<std::size_t>(rank)] ==
         nodes[static_cast<std::size_t>(communicator_.rank())];
}

std::unique_lock<std::mutex> NcclRank::use() const {
  std::unique_lock lock(ending_);
  if (is_aborted_) throw OperationLost("NCCL's communicator was aborted: " + why_aborted_);
  return lock;
}

void NcclRank::give_back(const char* what, const std::function<Result()>& act) const noexcept {
  const std::lock_guard lock(ending_);
  if (is_aborted_) return;
  if (const Result result = act(); result != result_success && result != result_in_progress)
    std::fprintf(stderr, "colltune: %s: %s\n", what, functions().get_error_string(result));
}

bool NcclRank::is_ready() const {
  if (errands_.is_under_way()) {
    require_usable();
    return false;
  }
  const Result ended = errands_.result();
  const std::string errand = errands_.what();
  const auto in_use = use();
  check_nccl(functions(), handle_, ended, errand.c_str());
  Result state = result_success;
  const Result result = functions().get_async_error(handle_, &state);
  check_nccl(functions(), handle_, result, "ncclCommGetAsyncError");
  check_nccl(functions(), handle_, state, "NCCL");
  return state == result_success;
}

void NcclRank::await(const std::string& what, Deadline deadline) const {
  while (!is_ready()) {
    const bool is_aborted = abort_flag_.is_raised();
    if (is_aborted || Clock::now() >= deadline)
      throw Error(is_aborted ? StatusCode::aborted : StatusCode::deadline_exceeded,
                  what + " did not end " + (is_aborted ? "before the abort flag" : "in time"));
    std::this_thread::sleep_for(pause_between_looks);
  }
}

void NcclRank::finish(const std::string& what, Deadline deadline) {
  try {
    await(what, deadline);
  } catch (const Error& error) {
    if (error.code() == StatusCode::aborted || error.code() == StatusCode::deadline_exceeded)
      abort(error.what());
    throw;
  }
}

void NcclRank::finish_capture(const std::string& what, Deadline deadline) {
  try {
    await(what, deadline);
  } catch (const Error& error) {
    end(error.what());
    static_cast<void>(errands_.has_ended_within(longest_return));
    throw;
  }
}

void NcclRank::await_others_graphs(Deadline deadline) const {
  while (held_.use_count() > 1) {
    if (Clock::now() >= deadline)
      throw Error(StatusCode::deadline_exceeded,
                  std::to_string(held_.use_count() - 1) +
                      " graph(s) of the caller's hold calls of it and do not go");
    std::this_thread::sleep_for(pause_between_looks);
  }
}

void NcclRank::require_usable() const {
  if (is_aborted_) static_cast<void>(use());
}

NcclRank::Graphs::iterator NcclRank::keep(std::unique_ptr<DeviceGraph> graph) {
  return graphs_.insert(graphs_.end(), std::move(graph));
}

void NcclRank::abort(const std::string& why) noexcept {
  // The kernel of a hanging replay ends only with NCCL's abort, and what it holds of its graph is
  // freed then.
  for (auto& graph : graphs_) graph.reset();
  end(why);
  if (pending_ && held_.use_count() == 1) static_cast<void>(pending_->has_ended(longest_end));
}

void NcclRank::abort_elsewhere(const std::string& why) noexcept { end(why); }

void NcclRank::end(const std::string& why) noexcept {
  const std::lock_guard lock(ending_);
  if (is_aborted_) return;
  why_aborted_ = why.empty() ? "for an unknown reason" : why;
  is_aborted_ = true;
  if (handle_ == nullptr) return;
  try {
    pending_ = std::make_unique<PendingEnd>(
        functions(), handle_, PendingEnd::Way::abort,
        [mark = mark_, is_under_way = errands_.under_way_elsewhere()] {
          return mark->inside.load(std::memory_order_seq_cst) != 0 || is_under_way();
        });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colltune: an NCCL communicator is left as it is: %s\n", error.what());
  }
}

void NcclRank::begin_call() noexcept { progress_.set(calls_word, ++calls_); }

int NcclRank::who_is_late() const noexcept {
  for (int rank = 0; rank < communicator_.size(); ++rank)
    if (shares_node_with(rank) && progress_.get(rank, calls_word) < calls_) return rank;
  return -1;
}

}  // namespace colltune::nccl
