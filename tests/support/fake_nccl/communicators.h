// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/nccl_tuner/loaded_profiler.h"
#include "client/nccl_tuner/loaded_tuner.h"
#include "colltune/nccl/library_abi.h"
#include "support/fake_nccl/fake_nccl.h"
#include "support/fake_nccl/shared_group.h"

namespace colltune::test {

/// A collective as one rank asked for it.
struct FakeCall {
  Collective collective{};
  DataType type{};
  ReduceOp op{};
  int root = 0;
  std::size_t count = 0;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  FakeNcclChoice choice{};
  int events = 0;                   ///< that its profiler wanted when it was called
  std::vector<std::byte> scalar{};  ///< that each input is multiplied by first; empty: none
  std::string selection{};          ///< of the call's own configuration; empty: none
  int ctas = 0;                     ///< the same: exactly so many; 0: the library decides
};

/// Ranks that do the same call.
struct Meeting {
  std::vector<FakeCall> calls;
  int arrived = 0;
  int computed = 0;
  int left = 0;
  bool is_alike = true;
};

class FakeMember;
struct PretendedStream;

/// One of NCCL's communicators. Everything in it is guarded by the library's mutex.
struct FakeGroup {
  std::uint64_t identity = 0;
  int ranks = 0;
  int joined = 0;
  bool is_broken = false;                     ///< a member was aborted: no call ends any more
  std::map<std::uint64_t, Meeting> meetings;  ///< by the number of the call
  std::map<std::uint64_t, int> windows;       ///< by their number: ranks that came to make it
  std::shared_ptr<SharedGroup> shared;        ///< where its ranks are processes; else null
};

/// The library's state.
struct FakeLibrary {
  std::mutex mutex;  ///< guards all below
  std::condition_variable changed;
  FakeNcclSettings settings;
  FakeNcclCounts counts;
  std::array<FakeNcclChoice, most_fake_ranks> last{};
  std::array<std::vector<FakeNcclMade>, most_fake_ranks> made{};
  std::array<int, most_fake_ranks> callers{};
  std::array<FakeNcclCallConfiguration, most_fake_ranks> configured{};
  int held_rank = -1;
  bool is_one_held = false;
  bool awaits_graphs = false;  ///< the end of a communicator, now or before
  std::uint64_t names = 0;
  std::map<std::uint64_t, std::shared_ptr<FakeGroup>> groups;
  std::vector<std::shared_ptr<FakeMember>> members;  ///< all that there ever were
  std::map<std::string, std::unique_ptr<LoadedTuner>> tuners;
  std::map<std::string, std::unique_ptr<LoadedProfiler>> profilers;
  int mask = 0;  ///< of events, for the profiler to write: read and written atomically alone
  std::map<void*, std::size_t> allocations;  ///< of ncclMemAlloc
  std::mutex environment;                    ///< held while a tuner reads it
};
FakeLibrary& fake_library();

/// A rank's part in a communicator: what ncclComm_t points to.
class FakeMember : public std::enable_shared_from_this<FakeMember> {
 public:
  FakeMember(std::shared_ptr<FakeGroup> group, int rank, nccl::CtaPolicy policy);
  FakeMember(const FakeMember&) = delete;
  FakeMember& operator=(const FakeMember&) = delete;
  ~FakeMember();

  /// Has `act` done by its thread; its result is the state afterwards. Waits for it in blocking
  /// communicators.
  nccl::Result have_done(std::function<nccl::Result()> act);
  /// The same for a call of a collective.
  nccl::Result call(const FakeCall& asked, void* stream);
  nccl::Result revoke();
  nccl::Result state();
  nccl::Result join();
  /// In the thread that calls: what its profiler wants to know, and that there is a call.
  void begin_call(FakeCall& call);
  nccl::Result ask_and_enqueue(FakeCall call, void* stream);
  /// A window over memory of ncclMemAlloc: `made` is written when all ranks have come.
  nccl::Result open_window(std::byte* memory, std::size_t bytes, nccl::NativeWindow* made);
  nccl::Result close_window(nccl::NativeWindow window);
  /// An operator: sums of inputs times `scalar`. What it was given, or an error for an unknown one.
  int add_op(const void* scalar, DataType type);
  nccl::Result remove_op(int op);
  /// Takes up the call's own configuration; an error where it is malformed, or where nothing that
  /// it selects is there.
  nccl::Result configure_call(const nccl::CallConfiguration& configuration, FakeCall& call);
  /// What the number `op` of NCCL's or of add_op means.
  void set_op(int op, FakeCall& call);
  /// The tuner's context goes, and the thread. An error where graphs hold calls of it that do not
  /// go.
  nccl::Result end(bool is_aborted);

 private:
  void run();
  nccl::Result make_context();
  void load_profiler();
  /// Behind the launch, as NCCL.
  void tell_profiler(const FakeCall& call, std::uint64_t number) const;
  /// What is no collective to it: each rank's sends and receives.
  void tell_of_transfers(const FakeCall& call) const;
  [[nodiscard]] Costs costs_of(nccl::Function function, std::size_t bytes) const;
  [[nodiscard]] bool lies_in_windows(const FakeCall& call) const;
  /// What it does where all lies in windows; -1: nothing else than elsewhere.
  [[nodiscard]] int entry_in_windows(const FakeCall& call) const;
  [[nodiscard]] static bool has_copy_engines();
  nccl::Result choose(const FakeCall& call, FakeNcclChoice& choice);
  /// A call that each replay of the graph repeats into which the queue is captured. It gets its
  /// number with each.
  nccl::Result enqueue_captured(const FakeCall& call, PretendedStream* queue);
  void carry_out(const FakeCall& call, std::uint64_t number);
  /// The same with ranks that are processes, behind what may hold it.
  void carry_out_across(std::unique_lock<std::mutex>& lock, const FakeCall& call,
                        std::uint64_t number);

  std::shared_ptr<FakeGroup> group_;
  int rank_;
  nccl::CtaPolicy policy_;
  const LoadedTuner* tuner_ = nullptr;
  void* context_ = nullptr;
  const LoadedProfiler* profiler_ = nullptr;
  void* profiler_context_ = nullptr;
  // Guarded by the library's mutex.
  std::uint64_t calls_ = 0;
  int captured_ = 0;  ///< calls that graphs hold
  bool is_aborted_ = false;
  bool is_revoked_ = false;
  bool has_ended_ = false;
  int inside_ = 0;  ///< threads that wait in have_done
  int asked_ = 0;   ///< calls of collectives
  int pending_ = 0;
  nccl::Result state_ = nccl::result_success;
  struct Op {
    DataType type{};
    std::vector<std::byte> scalar;
  };
  std::map<int, Op> ops_;
  std::map<std::byte*, std::size_t> windows_;  ///< by their first byte: their bytes
  std::uint64_t windows_made_ = 0;
  std::deque<std::function<nccl::Result()>> works_;
  std::thread thread_;
};

}  // namespace colltune::test
