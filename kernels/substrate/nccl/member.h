// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/signals.h"
#include "colltune/nccl/choice.h"
#include "nccl/library.h"

namespace colltune::nccl {

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
/// settings, and kept with it. One thread at a time, as the communicator.
class Member {
 public:
  /// The one of `communicator` with `settings`, made where there is none, or where it was aborted:
  /// that takes NCCL seconds. Where there are most_members, the oldest one ends that no operation
  /// uses; Error(resource_exhausted) where all are used. Collective; all ranks throw or none,
  /// except for RankMissing. Refuses ranks that would not choose alike (Error failed_precondition):
  /// they have unlike versions of NCCL, restrictions in their environments, or decision snapshots.
  [[nodiscard]] static std::shared_ptr<Member> of(Communicator& communicator, const Opened& opened,
                                                  const CommunicatorSettings& settings,
                                                  Deadline deadline);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  /// Ends NCCL's communicator; aborts it where that takes too long.
  ~Member();

  [[nodiscard]] NativeHandle handle() const { return handle_; }
  [[nodiscard]] const Functions& functions() const { return opened_.functions; }
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] int ranks() const { return communicator_.size(); }
  [[nodiscard]] const AbortFlag& abort_flag() const { return abort_flag_; }
  [[nodiscard]] bool yields_at_once() const { return yields_at_once_; }

  /// Whether what was begun without waiting is done. Throws Error where NCCL reports one.
  [[nodiscard]] bool is_ready() const;
  /// Waits for it. Throws Error(deadline_exceeded), or aborted for the abort flag, with NCCL's
  /// communicator aborted. `what` was begun.
  void finish(const std::string& what, Deadline deadline);
  [[nodiscard]] bool is_usable() const { return why_aborted_.empty(); }
  /// Throws OperationLost where the communicator was aborted.
  void require_usable() const;
  /// Ends all that is under way, on this rank; nothing runs on it any more. `why` is for who tries.
  void abort(const std::string& why) noexcept;

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
  Member(Communicator& communicator, const Opened& opened, const CommunicatorSettings& settings,
         Deadline deadline);

  void make(Deadline deadline);
  void join(const UniqueId& id, Deadline deadline);
  [[noreturn]] void fail_to_join();
  [[nodiscard]] bool shares_node_with(int rank) const;
  void find_tuner_context(Deadline deadline, std::uint64_t newest_before);
  [[nodiscard]] std::uint64_t find_by_turns(const std::vector<std::uint64_t>& candidates,
                                            Deadline deadline);
  [[nodiscard]] std::vector<colltune_nccl_communicator> list_contexts() const;
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
  std::string why_aborted_;  ///< empty: it was not
  std::string why_not_forced_;
  std::uint64_t context_ = 0;  ///< the tuner's number for it
  std::optional<std::uint64_t> force_id_;
  DeviceMemory scratch_;  ///< of small calls of its own
  std::map<std::tuple<Function, DataType, ReduceOp>, std::uint64_t> available_;
};

}  // namespace colltune::nccl
