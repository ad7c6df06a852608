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

/// What an NCCL communicator is made with.
struct CommunicatorSettings {
  int ctas = 0;  ///< exactly this many; 0: NCCL decides
  CtaPolicy policy = CtaPolicy::own;

  friend auto operator<=>(const CommunicatorSettings&, const CommunicatorSettings&) = default;
};

/// The most NCCL communicators kept with one of colltune's: each has memory for all its channels on
/// every GPU.
inline constexpr std::size_t most_members = 8;

/// A rank as a member of an NCCL communicator. Made once for each communicator of colltune and each
/// set of settings, and kept with the communicator. Used by one thread at a time, like the
/// communicator, except for abort_elsewhere.
///
/// NCCL's communicator is blocking, as in most programs: in a nonblocking one each call creates a
/// thread. Calls that may wait for other ranks inside NCCL are errands (`begin`), with a deadline
/// for the wait. Other calls are made between `enter` and `leave`, while a thread of this member
/// watches how long they take. NCCL requires that no thread is inside one of its functions when a
/// communicator is aborted; PendingEnd describes how that is achieved. A communicator that is being
/// made cannot be aborted. It is left alone, and the thread that makes it aborts it if that ever
/// ends.
class NcclRank {
 public:
  /// The member of `communicator` with `settings`. If there is none, or it was aborted, makes one,
  /// which takes NCCL seconds. At most_members, ends the oldest member that no operation uses;
  /// Error(resource_exhausted) if all are in use. Collective; all ranks throw or none, except for
  /// RankMissing. Throws Error(failed_precondition) for ranks that would not choose alike because
  /// their NCCL versions, restrictions in their environments, or table files differ.
  [[nodiscard]] static std::shared_ptr<NcclRank> of(Communicator& communicator,
                                                    const Opened& opened,
                                                    const CommunicatorSettings& settings,
                                                    Deadline deadline);
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;
  /// Ends NCCL's communicator; aborts it if that takes too long.
  ~NcclRank();

  [[nodiscard]] NativeHandle handle() const { return handle_; }
  [[nodiscard]] const Functions& functions() const { return opened_.functions; }
  [[nodiscard]] const ProfilerControl& profiler() const { return opened_.profiler_control; }
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] int ranks() const { return communicator_.size(); }
  [[nodiscard]] int rank() const { return communicator_.rank(); }
  [[nodiscard]] CtaPolicy policy() const { return settings_.policy; }
  [[nodiscard]] const AbortFlag& abort_flag() const { return abort_flag_; }
  [[nodiscard]] bool yields_at_once() const { return yields_at_once_; }

  /// Holds off aborts of NCCL's communicator; for NCCL functions that return at once. Throws
  /// OperationLost if it was aborted.
  [[nodiscard]] std::unique_lock<std::mutex> use() const;
  /// Runs `act`, which gives back a resource of NCCL's communicator and is called `what` in
  /// messages. Skipped if the communicator was aborted, since the abort has freed it. Prints NCCL's
  /// errors to stderr.
  void give_back(const char* what, const std::function<Result()>& act) const noexcept;
  /// Keeps `kept` until NCCL's communicator has ended, or the wait for that is over.
  void keep_until_end(std::shared_ptr<void> kept) { kept_.push_back(std::move(kept)); }
  /// Starts `act`, called `what` in messages, on the member's helper thread and on its device.
  /// `act` is an NCCL function for this communicator that may wait for other ranks. One at a time.
  /// Throws OperationLost if the communicator was aborted.
  void begin(std::string what, std::function<Result()> act);
  /// Enclose an NCCL function that waits for no rank. If it does not return in the time that the
  /// last call was allowed (`allow`), the communicator is aborted. `enter` throws OperationLost if
  /// the communicator was aborted.
  void enter();
  void leave() noexcept { mark_->inside.store(0, std::memory_order_release); }
  void allow(std::chrono::nanoseconds time) noexcept {
    mark_->allowed_ns.store(time.count(), std::memory_order_relaxed);
  }
  /// Whether a function between `enter` and `leave` was aborted because it took too long.
  [[nodiscard]] bool is_overdue() const { return is_overdue_; }

  /// Whether what was begun has completed. Throws Error if NCCL reports one, OperationLost if the
  /// communicator was aborted.
  [[nodiscard]] bool is_ready() const;
  /// Waits for what was begun, called `what` in messages. Throws Error(deadline_exceeded), or
  /// Error(aborted) on the abort flag, and then aborts NCCL's communicator.
  void finish(const std::string& what, Deadline deadline);
  /// The same for a capture. The stream and the graph that NCCL captures into are the caller's, who
  /// ends them when this throws. So before it throws anything, the abort has only begun (it waits
  /// for such graphs), and NCCL's function has returned, or did not within `longest_return`.
  void finish_capture(const std::string& what, Deadline deadline);
  [[nodiscard]] bool is_usable() const { return !is_aborted_; }
  /// Throws OperationLost if the communicator was aborted.
  void require_usable() const;
  /// Ends all that is under way on this rank; nothing runs on the communicator any more. `why` is
  /// reported to later users. Destroys its graphs first. Waits for NCCL's abort, at most
  /// `longest_end`, but not if the caller holds graphs (`held_by_graphs`), which the abort waits
  /// for.
  void abort(const std::string& why) noexcept;
  /// The same from any other thread. The member's own thread destroys the graphs, at its next abort
  /// or with the operations that use them.
  void abort_elsewhere(const std::string& why) noexcept;

  /// Graphs that hold calls of the communicator, in the order of their capture; null after an
  /// abort. For KeptGraph.
  using Graphs = std::list<std::unique_ptr<DeviceGraph>>;
  [[nodiscard]] Graphs::iterator keep(std::unique_ptr<DeviceGraph> graph);
  void drop(Graphs::iterator graph) noexcept { graphs_.erase(graph); }
  /// A token to keep with each foreign graph that holds calls of the communicator
  /// (Device::keep_with_capture).
  [[nodiscard]] const std::shared_ptr<const int>& held_by_graphs() const { return held_; }

  /// Why this rank's calls can be neither forced nor read back; empty if they can. All ranks agree
  /// on whether it is empty.
  [[nodiscard]] const std::string& why_not_forced() const { return why_not_forced_; }
  /// Sets the choice of all later calls; nothing: NCCL's own choice. Only if they can be forced.
  void force(const std::optional<Choice>& choice, Function function);
  void observe(bool is_on);
  /// The last question to the tuner while it was observed.
  [[nodiscard]] std::optional<colltune_nccl_call> last_call() const;

  /// The entries of NCCL's table (bit algorithm * 3 + protocol) that it can choose on this rank for
  /// such calls. Found by one small call, once. Collective. Nothing if NCCL does not ask.
  [[nodiscard]] std::optional<std::uint64_t> available(Function function, DataType type,
                                                       ReduceOp op, Deadline deadline);

  /// Tells the ranks of this node that this rank has begun its next call.
  void begin_call() noexcept;
  /// The first rank of this node that has begun fewer calls; -1: none.
  [[nodiscard]] int who_is_late() const noexcept;

 private:
  NcclRank(Communicator& communicator, const Opened& opened, const CommunicatorSettings& settings,
           Deadline deadline);

  void make(Deadline deadline);
  void await(const std::string& what, Deadline deadline) const;
  /// Begins to abort the communicator, once.
  void end(const std::string& why) noexcept;
  /// Throws if graphs of the caller remain.
  void await_others_graphs(Deadline deadline) const;
  void join(const UniqueId& id, Deadline deadline);
  /// Has NCCL make the communicator; false if that has not ended by the deadline.
  [[nodiscard]] bool make_native(const UniqueId& id, Deadline deadline);
  [[noreturn]] void fail_to_join();
  /// Runs on the errands' thread: aborts a function that does not return.
  void watch() noexcept;
  [[nodiscard]] bool shares_node_with(int rank) const;
  void find_tuner_context(Deadline deadline, std::uint64_t newest_before);
  [[nodiscard]] std::uint64_t find_by_turns(std::uint64_t newest_before, Deadline deadline);
  /// Begins `call` and claims the context that is asked about it.
  [[nodiscard]] std::uint64_t find_own(LibraryCall& call, std::uint64_t newest_before,
                                       Deadline deadline);
  void claim(std::uint64_t context);
  [[nodiscard]] std::vector<colltune_nccl_communicator> list_contexts() const;
  /// Unclaimed contexts newer than `newest_before` with the same number of ranks, which may be this
  /// member's.
  [[nodiscard]] std::vector<std::uint64_t> list_unclaimed(std::uint64_t newest_before) const;
  void require_alike_tables(Deadline deadline);

  Communicator& communicator_;
  const Opened& opened_;
  CommunicatorSettings settings_;
  Device& device_;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  std::unique_ptr<SymmetricMemory> board_;  ///< shared by this node's ranks, for `progress_`
  Signals progress_;                        ///< words: joined (1: begun, 2: done), calls begun
  std::uint64_t calls_ = 0;
  NativeHandle handle_ = nullptr;
  Graphs graphs_;
  std::shared_ptr<const int> held_ = std::make_shared<const int>();
  mutable std::mutex ending_;  ///< guards the next two and `pending_`, and keeps what is in use
                               ///< from ending
  std::atomic<bool> is_aborted_ = false;  ///< written under ending_
  std::string why_aborted_;
  std::atomic<bool> is_overdue_ = false;
  /// What `enter` and `leave` tell the watching thread. Shared with the thread that ends the
  /// communicator, which may outlive this object.
  struct Mark {
    alignas(128) std::atomic<std::uint64_t> inside = 0;  ///< number of the current call; 0: none
    alignas(128) std::atomic<std::int64_t> allowed_ns = 60'000'000'000;  ///< before the first call
  };
  std::shared_ptr<Mark> mark_ = std::make_shared<Mark>();
  std::uint64_t entered_ = 0;
  std::uint64_t watched_ = 0;  ///< for `watch`: the call it saw last, and since when
  std::chrono::steady_clock::time_point watched_since_;
  std::vector<std::shared_ptr<void>> kept_;  ///< destroyed after pending_, whose destructor waits
  std::unique_ptr<PendingEnd> pending_;      ///< null: not aborted
  std::string why_not_forced_;
  std::uint64_t context_ = 0;  ///< the tuner's number of this member
  std::optional<std::uint64_t> force_id_;
  DeviceMemory scratch_;  ///< for small calls of its own
  std::map<std::tuple<Function, DataType, ReduceOp>, std::uint64_t> available_;
  Errands errands_{[this] { watch(); }};  ///< destroyed first
};

}  // namespace colltune::nccl
