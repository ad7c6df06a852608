// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"
#include "colltune/nccl/choice.h"
#include "nccl_library/errands.h"
#include "nccl_library/library.h"
#include "nccl_library/pending_end.h"

namespace colltune::nccl {

class LibraryCall;

/// What one of NCCL's communicators is made with.
struct CommunicatorSettings {
  int ctas = 0;  ///< no fewer and no more; 0: NCCL decides
  CtaPolicy policy = CtaPolicy::own;

  friend auto operator<=>(const CommunicatorSettings&, const CommunicatorSettings&) = default;
};

/// As many of NCCL's communicators are kept with one of colltune's: each has memory for all its
/// channels on every GPU.
inline constexpr std::size_t most_members = 8;

/// A rank's part in one of NCCL's communicators: made once for each of colltune's and each set of
/// settings, and kept with it. One thread at a time, as the communicator, but for abort_elsewhere.
///
/// NCCL's communicator is a blocking one, as programs have them: in a nonblocking one each call
/// makes a thread. Whatever may wait for other ranks inside NCCL is an errand (`begin`), which is
/// waited for until a deadline; other calls are made between `enter` and `leave`, where a thread of
/// this member's watches how long they take. NCCL wants that nobody is inside one of its functions
/// when a communicator is aborted: PendingEnd says what is done for that. Nothing can abort a
/// communicator that is being made: it is left alone, and aborted by the thread that makes it where
/// that ever ends.
class NcclRank {
 public:
  /// The one of `communicator` with `settings`, made where there is none, or where it was aborted:
  /// that takes NCCL seconds. Where there are most_members, the oldest one ends that no operation
  /// uses; Error(resource_exhausted) where all are used. Collective; all ranks throw or none,
  /// except for RankMissing. Refuses ranks that would not choose alike (Error failed_precondition):
  /// they have unlike versions of NCCL, restrictions in their environments, or decision snapshots.
  [[nodiscard]] static std::shared_ptr<NcclRank> of(Communicator& communicator, const Opened& opened,
                                                  const CommunicatorSettings& settings,
                                                  Deadline deadline);
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  /// Ends NCCL's communicator; aborts it where that takes too long.
  ~NcclRank();

  [[nodiscard]] NativeHandle handle() const { return handle_; }
  [[nodiscard]] const Functions& functions() const { return opened_.functions; }
  [[nodiscard]] const ProfilerControl& profiler() const { return opened_.profiler_control; }
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] int ranks() const { return communicator_.size(); }
  [[nodiscard]] CtaPolicy policy() const { return settings_.policy; }
  [[nodiscard]] const AbortFlag& abort_flag() const { return abort_flag_; }
  [[nodiscard]] bool yields_at_once() const { return yields_at_once_; }

  /// NCCL's communicator cannot be aborted meanwhile: for its functions that return at once. Throws
  /// OperationLost where it was.
  [[nodiscard]] std::unique_lock<std::mutex> use() const;
  /// `act`, which gives something of NCCL's communicator back and is called `what`; not where the
  /// communicator was aborted, which has forgotten it. Says on stderr what NCCL says.
  void give_back(const char* what, const std::function<Result()>& act) const noexcept;
  /// `kept` stays until NCCL's communicator has ended, or the wait for that end has.
  void keep_until_end(std::shared_ptr<void> kept) { kept_.push_back(std::move(kept)); }
  /// Has `act`, a function of NCCL's for this communicator that may wait for other ranks, done by a
  /// thread of the member's, on its device; `what` it is. One at a time. Throws OperationLost where
  /// the communicator was aborted.
  void begin(std::string what, std::function<Result()> act);
  /// Around a function of NCCL's that waits for nobody: it is aborted where it does not return in
  /// the time that the last call was allowed (`allow`). `enter` throws OperationLost where the
  /// communicator was aborted.
  void enter();
  void leave() noexcept { mark_->inside.store(0, std::memory_order_release); }
  void allow(std::chrono::nanoseconds time) noexcept {
    mark_->allowed_ns.store(time.count(), std::memory_order_relaxed);
  }
  /// Whether a function between `enter` and `leave` was aborted for that.
  [[nodiscard]] bool is_overdue() const { return is_overdue_; }

  /// Whether what was begun without waiting is done. Throws Error where NCCL reports one,
  /// OperationLost where the communicator was aborted.
  [[nodiscard]] bool is_ready() const;
  /// Waits for it, and lets the communicator be. Throws Error(deadline_exceeded), or aborted for
  /// the abort flag. `what` was begun.
  void await(const std::string& what, Deadline deadline) const;
  /// The same, with NCCL's communicator aborted where it throws one of these.
  void finish(const std::string& what, Deadline deadline);
  [[nodiscard]] bool is_usable() const { return !is_aborted_; }
  /// Throws OperationLost where the communicator was aborted.
  void require_usable() const;
  /// Ends all that is under way, on this rank; nothing runs on it any more. `why` is for who tries.
  /// Its graphs go first. Waits for NCCL's abort, at most `longest_end`; not where the caller has
  /// graphs (`held_by_graphs`), for which that waits.
  void abort(const std::string& why) noexcept;
  /// The same from any other thread. Its graphs go with the member's own thread: at its next abort,
  /// or with the operations that use them.
  void abort_elsewhere(const std::string& why) noexcept;

  /// Graphs that hold calls of the communicator, in the order in which they were captured; null
  /// behind an abort. Of KeptGraph.
  using Graphs = std::list<std::unique_ptr<DeviceGraph>>;
  [[nodiscard]] Graphs::iterator keep(std::unique_ptr<DeviceGraph> graph);
  void drop(Graphs::iterator graph) noexcept { graphs_.erase(graph); }
  /// For each graph of somebody else's that holds calls of the communicator, to be kept with it
  /// (Device::keep_with_capture).
  [[nodiscard]] const std::shared_ptr<const int>& held_by_graphs() const { return held_; }

  /// Why this rank's calls can be neither forced nor read back; empty where they can. The same on
  /// all ranks in that it is empty or not.
  [[nodiscard]] const std::string& why_not_forced() const { return why_not_forced_; }
  /// What all calls use from now on: nothing, NCCL's own choice. Only where they can be forced.
  void force(const std::optional<Choice>& choice, Function function);
  void observe(bool is_on);
  /// What was asked last while it was observed.
  [[nodiscard]] std::optional<colltune_nccl_call> last_call() const;

  /// The entries of its table (bit algorithm * 3 + protocol) that NCCL can choose on this rank for
  /// such calls, found out by a small one, once. Collective. Nothing where NCCL does not ask.
  [[nodiscard]] std::optional<std::uint64_t> available(Function function, DataType type,
                                                       ReduceOp op, Deadline deadline);

  /// Tells the ranks of this node that this one has begun its next call.
  void begin_call() noexcept;
  /// The first rank of this node that has not begun as many calls; -1 where all have.
  [[nodiscard]] int who_is_late() const noexcept;

 private:
  NcclRank(Communicator& communicator, const Opened& opened, const CommunicatorSettings& settings,
         Deadline deadline);

  void make(Deadline deadline);
  /// Begins to abort the communicator, once.
  void end(const std::string& why) noexcept;
  /// Throws where graphs of the caller's stay.
  void await_others_graphs(Deadline deadline) const;
  void join(const UniqueId& id, Deadline deadline);
  /// NCCL makes the communicator; false where that has not ended by the deadline.
  [[nodiscard]] bool make_native(const UniqueId& id, Deadline deadline);
  [[noreturn]] void fail_to_join();
  /// Of the errands' thread: aborts a function that does not return.
  void watch() noexcept;
  [[nodiscard]] bool shares_node_with(int rank) const;
  void find_tuner_context(Deadline deadline, std::uint64_t newest_before);
  [[nodiscard]] std::uint64_t find_by_turns(std::uint64_t newest_before, Deadline deadline);
  /// Begins `call` and claims the context that asks about it.
  [[nodiscard]] std::uint64_t find_own(LibraryCall& call, std::uint64_t newest_before,
                                       Deadline deadline);
  void claim(std::uint64_t context);
  [[nodiscard]] std::vector<colltune_nccl_communicator> list_contexts() const;
  /// Those of as many ranks, newer than that one, that may be this member's.
  [[nodiscard]] std::vector<std::uint64_t> list_unclaimed(std::uint64_t newest_before) const;
  void require_alike_snapshots(Deadline deadline);

  Communicator& communicator_;
  const Opened& opened_;
  CommunicatorSettings settings_;
  Device& device_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  std::unique_ptr<SymmetricMemory> board_;  ///< of this node's ranks, for `progress_`
  Signals progress_;                        ///< words: joined (1: begun, 2: done), calls begun
  std::uint64_t calls_ = 0;
  NativeHandle handle_ = nullptr;
  Graphs graphs_;
  std::shared_ptr<const int> held_ = std::make_shared<const int>();
  mutable std::mutex ending_;  ///< guards the next two, `pending_`, and that nobody uses what ended
  std::atomic<bool> is_aborted_ = false;  ///< written under ending_
  std::string why_aborted_;
  std::atomic<bool> is_overdue_ = false;
  /// What `enter` and `leave` say to the thread that watches; shared with who ends the
  /// communicator, which may outlive this.
  struct Mark {
    alignas(128) std::atomic<std::uint64_t> inside = 0;  ///< the number of the call; 0: none
    alignas(128) std::atomic<std::int64_t> allowed_ns = 60'000'000'000;  ///< before the first
  };
  std::shared_ptr<Mark> mark_ = std::make_shared<Mark>();
  std::uint64_t entered_ = 0;
  std::uint64_t watched_ = 0;  ///< of `watch`: the call that it saw last, since when
  std::chrono::steady_clock::time_point watched_since_;
  std::vector<std::shared_ptr<void>> kept_;  ///< goes behind the one below, which waits
  std::unique_ptr<PendingEnd> pending_;      ///< null: it was not aborted
  std::string why_not_forced_;
  std::uint64_t context_ = 0;  ///< the tuner's number for it
  std::optional<std::uint64_t> force_id_;
  DeviceMemory scratch_;  ///< of small calls of its own
  std::map<std::tuple<Function, DataType, ReduceOp>, std::uint64_t> available_;
  Errands errands_{[this] { watch(); }};  ///< goes first
};

}  // namespace colltune::nccl
