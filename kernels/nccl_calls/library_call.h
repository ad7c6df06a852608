// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"
#include "colltune/nccl/choice.h"
#include "kept_graph.h"
#include "known_calls.h"
#include "nccl_library/watched_call.h"
#include "nccl_rank.h"
#include "windows.h"

namespace colltune::nccl {

/// What a call's own configuration asks for (NCCL 2.31 and later).
struct CallSelection {
  /// As NCCL's algSelection: names, of which each stands for all that begin so; ',' or, '+' and,
  /// '^' not.
  std::string names;
  /// The entry of NCCL's table that they name, with exactly so many channels (0: NCCL decides);
  /// empty: a kernel for symmetric windows.
  std::optional<Choice> choice;
};

/// The arguments of one rank's call of libnccl.
struct NativeCall {
  /// Those of `call` among so many ranks.
  [[nodiscard]] static NativeCall of(const Call& call, int ranks);

  Collective collective = Collective::all_reduce;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  bool is_premultiplied = false;  ///< an average as the sum of the ranks' shares
  std::size_t count = 0;          ///< elements of a block
  const void* send = nullptr;
  void* receive = nullptr;
  bool registers = false;  ///< registers the buffers with NCCL's communicator while the call exists
  std::size_t send_bytes = 0;
  std::size_t receive_bytes = 0;
  std::optional<CallSelection> selection{};  ///< nothing: the plain call
};

/// Registers a buffer with NCCL's communicator, which then accesses it directly if it can.
class Registration {
 public:
  Registration() = default;
  /// `bytes` may be 0: then there is nothing to register.
  Registration(std::shared_ptr<NcclRank> member, const void* memory, std::size_t bytes);
  Registration(Registration&& other) noexcept
      : member_(std::move(other.member_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(member_, other.member_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Registration();

 private:
  std::shared_ptr<NcclRank> member_;
  void* handle_ = nullptr;
};

/// Whether the n-th part of such numbers is one that a sum can be made of.
[[nodiscard]] bool has_shares(DataType type);

/// An NCCL operator of one communicator: the sum of inputs that each rank first divides.
class PremultipliedSum {
 public:
  PremultipliedSum(std::shared_ptr<NcclRank> member, DataType type);
  PremultipliedSum(const PremultipliedSum&) = delete;
  PremultipliedSum& operator=(const PremultipliedSum&) = delete;
  ~PremultipliedSum();
  [[nodiscard]] int number() const { return number_; }

 private:
  std::shared_ptr<NcclRank> member_;
  int number_ = 0;
};

/// A collective of NCCL on a queue of its own. If it can be forced, the call tells the tuner what
/// to choose before each start. The tuner and NCCL's profiler observe the first start with a size,
/// root, type and operator; later ones with the same make the same choice. For a captured call NCCL
/// asks the tuner once, and then replays. NCCL reports a captured call to its profiler at capture
/// or, if its proxy takes part, at each replay.
class LibraryCall final : public Operation {
 public:
  /// `choice`: nothing means NCCL's own. `windows`: those that contain the buffers, kept as long as
  /// the call; NCCL may then run it without asking its tuner. `prepared`: what `rebind` departs
  /// from; without a capacity nothing does.
  LibraryCall(std::shared_ptr<NcclRank> member, const NativeCall& call,
              const std::optional<Choice>& choice, Windows windows = {}, const Call& prepared = {});
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  /// Aborts the communicator if a call is still under way, since nothing will wait for it.
  ~LibraryCall() override;

  /// Captures the call; from now on `start` replays it. All ranks at once: NCCL may connect them.
  /// Throws Error if NCCL or the device refuses, or at the deadline, and UnavailableHere; NCCL's
  /// communicator is left as it is.
  void capture(Deadline deadline);

  void bind(const CallBuffers& buffers) override;
  void rebind(const Call& call) override;
  void start() override;
  void wait(Deadline deadline) override;
  /// All ranks at once, like `capture`. Waits until NCCL has put the call on the queue.
  void submit(void* queue) override;
  /// Aborts the communicator.
  void end_submitted() override { member_->abort_elsewhere("what was submitted was ended"); }
  /// Throws OperationLost if the communicator was aborted, Error if NCCL reports one. Replays are
  /// not counted.
  void check_submitted() const override;
  std::optional<std::chrono::nanoseconds> device_time() const override {
    return launch_->duration();
  }
  std::optional<Executed> executed() const override { return executed_; }
  bool is_lost() const override { return !member_->is_usable(); }
  void give_up() noexcept override { member_->abort("another rank's was aborted"); }

  /// Whether the call under way has ended.
  [[nodiscard]] bool has_ended() { return launch_->has_ended(); }

 private:
  /// Puts the call on the queue of its kernel launch.
  class Submission final : public DeviceSubmission {
   public:
    explicit Submission(LibraryCall& call) : call_(call) {}
    void submit(void* queue) override;
    bool is_submitted() override;

   private:
    LibraryCall& call_;
  };

  /// Begins to look at calls of another size, root, type or operator than those before. If they are
  /// new, NCCL may make another choice for them, and first connect the ranks.
  void begin_form();
  /// Tells NCCL's tuner what to choose in the next call; if that is the first of its form, has it
  /// observed.
  void prepare_choice();
  /// Makes NCCL's call on this thread; the call waits for no rank.
  void ask(void* queue);
  /// Makes NCCL's call on the member's helper thread, since NCCL may first connect the ranks.
  void ask_aside(void* queue);
  [[nodiscard]] int op() const;  ///< its number in NCCL
  /// ask_aside for a queue that is being captured: NCCL's choice is then fixed for all replays.
  /// Returns when the whole call is on the queue.
  void ask_captured(void* queue, Deadline deadline);
  [[noreturn]] void give_up(bool is_aborted);
  /// Has NCCL's profiler report the next call, if that is informative.
  void watch();
  /// Reads what the observed and watched call was.
  void read_back();
  /// Reads what NCCL reported to its profiler, if anything.
  void read_told();
  /// Reads the choice that the tuner's table led to.
  void read_table();
  /// Throws UnavailableHere if NCCL refused the call because what it selects is not there: then
  /// nothing ran.
  void require_selected() const;
  /// Throws UnavailableHere if NCCL marked the forced choice as unavailable for the observed call,
  /// even though it was available for a small one.
  void require_forced() const;

  std::shared_ptr<NcclRank> member_;
  NativeCall call_;
  std::optional<Choice> choice_;
  std::optional<Choice> named_;       ///< what shall run, by `choice_` or the call's selection
  std::optional<Function> function_;  ///< nothing: NCCL asks no tuner about such calls
  bool is_under_way_ = false;
  bool is_submitted_ = true;
  std::uint64_t asked_before_ = 0;  ///< questions of NCCL to its tuner before the first call
  std::optional<Executed> executed_;
  std::optional<WatchedCall> watched_;  ///< the first call or replay, until it has ended
  bool is_told_ = false;
  /// Whether NCCL refused the first call for its selection. The thread that makes it may outlive
  /// this object.
  std::shared_ptr<std::atomic<bool>> is_refused_ = std::make_shared<std::atomic<bool>>(false);
  Call prepared_;
  KnownCalls known_;
  bool is_other_form_ = true;  ///< than that of the last call
  bool is_first_ = true;       ///< whether the current call is the first of its form
  bool asks_aside_ = true;     ///< whether the current call is made by ask_aside
  Windows windows_;
  std::map<DataType, PremultipliedSum> own_ops_;  ///< used instead of `call_.op`, if any
  Registration send_registration_;
  Registration receive_registration_;
  Submission submission_{*this};
  std::unique_ptr<DeviceLaunch> launch_;
  std::optional<KeptGraph> graph_;  ///< nothing: the call is not captured
};

/// Collective: `call.capture`. If that fails on any rank, NCCL's communicator is aborted, since
/// ranks that captured the call are ahead of the others. All ranks throw or none. Throws
/// UnavailableHere, with the communicator left as it is, if all ranks captured the call.
void capture_together(Communicator& communicator, const std::shared_ptr<NcclRank>& member,
                      LibraryCall& call, Deadline deadline);

/// "algorithm=ring,channels=8,protocol=ll"; without channels if NCCL decides on them, and
/// "most_channels=8" if it may have taken fewer.
[[nodiscard]] std::string choice_text(const Choice& choice, bool has_limit = false);

}  // namespace colltune::nccl
