// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "colltune/kernels/device.h"
#include "colltune/kernels/operation.h"
#include "colltune/nccl/choice.h"
#include "kept_graph.h"
#include "nccl_rank.h"
#include "nccl_library/watched_call.h"
#include "windows.h"

namespace colltune::nccl {

/// One rank's call of libnccl, as that takes it.
struct NativeCall {
  Collective collective = Collective::all_reduce;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  bool is_premultiplied = false;  ///< an average as the sum of the ranks' shares
  std::size_t count = 0;          ///< elements of a block
  const void* send = nullptr;
  void* receive = nullptr;
  bool registers = false;  ///< the buffers, with NCCL's communicator, for as long as the call
  std::size_t send_bytes = 0;
  std::size_t receive_bytes = 0;
};

/// Buffers that NCCL's communicator knows: it then reads and writes them directly, where it can.
class Registration {
 public:
  Registration() = default;
  /// `bytes` may be 0: nothing.
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

/// An operator of NCCL's for one communicator: the sum of inputs that each rank divides first.
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

/// A collective of NCCL's, on a queue of its own. Where it can be forced it sets what NCCL is to
/// choose before each call; the first one is observed, by the tuner and by NCCL's profiler, and the
/// later ones choose alike. What is captured is asked for once, then replayed; NCCL tells its
/// profiler of it when it is captured, or, of what its proxy takes part in, at each replay.
class LibraryCall final : public Operation {
 public:
  /// `choice`: nothing is NCCL's own. `windows`: those that the buffers lie in, for as long as the
  /// call; NCCL may then do it without asking its tuner.
  LibraryCall(std::shared_ptr<NcclRank> member, const NativeCall& call,
              const std::optional<Choice>& choice, Windows windows = {});
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  /// Aborts the communicator where a call is still under way: nobody waits for it any more.
  ~LibraryCall() override;

  /// Captures the call; `start` replays it from now on. For all ranks at once: NCCL may connect
  /// them. Throws Error where NCCL or the device refuses, or at the deadline, with NCCL's
  /// communicator as it is; UnavailableHere.
  void capture(Deadline deadline);

  void start() override;
  void wait(Deadline deadline) override;
  /// All ranks at once, as `capture`; it waits for NCCL to put the call on the queue.
  void submit(void* queue) override;
  /// Aborts the communicator.
  void end_submitted() override { member_->abort_elsewhere("what was submitted was ended"); }
  /// Throws OperationLost where it was aborted, Error where NCCL reports one; nobody counts
  /// replays.
  void check_submitted() const override;
  std::optional<std::chrono::nanoseconds> device_time() const override {
    return launch_->duration();
  }
  std::optional<Executed> executed() const override { return executed_; }
  bool is_lost() const override { return !member_->is_usable(); }
  void give_up() noexcept override { member_->abort("another rank's was aborted"); }

  /// Whether the call that was begun has ended.
  [[nodiscard]] bool has_ended() { return launch_->has_ended(); }

 private:
  /// What its launch puts on its queue.
  class Submission final : public DeviceSubmission {
   public:
    explicit Submission(LibraryCall& call) : call_(call) {}
    void submit(void* queue) override;
    bool is_submitted() override;

   private:
    LibraryCall& call_;
  };

  /// Has NCCL choose what is to be chosen in the next call, and has that observed if it is the
  /// first.
  void prepare_choice();
  /// NCCL's call, by this thread: it waits for nobody.
  void ask(void* queue);
  /// The same by the member's other thread: NCCL may connect the ranks first.
  void ask_aside(void* queue);
  [[nodiscard]] int op() const;  ///< by its number in NCCL
  /// The same for a queue that is captured: what NCCL then chooses stays for all replays. Returns
  /// when it is all on the queue.
  void ask_captured(void* queue, Deadline deadline);
  [[noreturn]] void give_up(bool is_aborted);
  /// Has NCCL's profiler told of the next call, where that says something.
  void watch();
  /// What the call was that was observed and watched.
  void read_back();
  /// What its profiler told NCCL of it, if it did.
  void read_told();
  /// What the tuner's table led to.
  void read_table();
  /// Throws UnavailableHere where NCCL said of the call that is observed that it cannot have what
  /// is forced, for all that it said of a small one.
  void require_forced() const;

  std::shared_ptr<NcclRank> member_;
  NativeCall call_;
  std::optional<Choice> choice_;
  std::optional<Function> function_;  ///< nothing: NCCL asks no tuner about such calls
  bool is_under_way_ = false;
  bool is_submitted_ = true;
  std::uint64_t asked_before_ = 0;  ///< by NCCL of its tuner, before the first call
  std::optional<Executed> executed_;
  std::optional<WatchedCall> watched_;  ///< the first call or replay, until it has ended
  bool is_told_ = false;
  bool is_first_ = true;    ///< call, as far as it was begun
  bool asks_aside_ = true;  ///< the one that is begun
  Windows windows_;
  std::optional<PremultipliedSum> own_op_;  ///< in the place of `call_.op`
  Registration send_registration_;
  Registration receive_registration_;
  Submission submission_{*this};
  std::unique_ptr<DeviceLaunch> launch_;
  std::optional<KeptGraph> graph_;  ///< nothing: it is not captured
};

/// Collective: `call.capture`, with NCCL's communicator aborted where that fails on any rank: those
/// that captured it are ahead of the others. All ranks throw or none; UnavailableHere, where all
/// captured it, with the communicator as it is.
void capture_together(Communicator& communicator, const std::shared_ptr<NcclRank>& member,
                      LibraryCall& call, Deadline deadline);

/// "algorithm=ring,channels=8,protocol=ll"; without channels where NCCL decides on them.
[[nodiscard]] std::string choice_text(const Choice& choice);

}  // namespace colltune::nccl
