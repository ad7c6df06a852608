// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "by_way_of_block.h"
#include "call_check.h"
#include "colltune/collectives/agreed_choices.h"
#include "colltune/collectives/collectives.h"
#include "colltune/collectives/executor.h"
#include "colltune/collectives/meanwhile.h"
#include "colltune/kernels/communication/subgroups.h"
#include "colltune/kernels/execution/call_times.h"
#include "mesh_calls.h"
#include "plain_calls.h"

namespace colltune {

/// The options of a program, with the environment's values for those that are empty. Throws
/// Error(invalid_argument) that names the variable.
[[nodiscard]] ProgramSettings settings_of(const CollectivesOptions& options);

/// What a rank waits with. Lives as long as its communicator.
struct RankWaits {
  /// `progress` lets the library go on.
  explicit RankWaits(std::function<void()> progress)
      : meanwhile(std::move(progress)), abort_flag(meanwhile) {}

  Meanwhile meanwhile;
  AbortFlag abort_flag;
};

/// What a rank's collectives are made of.
struct OneRankParts {
  std::shared_ptr<const void> keeps;  ///< outlives all the others
  std::shared_ptr<RankWaits> waits;
  std::unique_ptr<Communicator> communicator;
  std::shared_ptr<const Implementations> catalogue;
  PlainWay plain;
  /// Ends the other ranks' waits, where one can.
  std::function<void()> abandon;
  bool reports = false;
};

/// One rank's collectives. What the public classes say of themselves holds here.
class [[gnu::visibility("hidden")]] Collectives::Impl {
 public:
  /// Collective: the ranks agree on what runs.
  Impl(OneRankParts parts, Agreement & agreement, const ProgramSettings& settings);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return ranks_; }
  void run(const CollectiveCall& call);
  void run(const MeshReductionCall& call);
  [[nodiscard]] std::unique_ptr<SymmetricMemory> allocate(Bytes bytes);
  [[nodiscard]] std::string report() const;

  /// What a persistent call is made of.
  struct Prepared {
    CheckedCall checked{};
    OwnBuffers own{};
    std::unique_ptr<Operation> operation;  ///< null: the rank is alone, or the message empty
    std::string variant;
    CallTimer timer{};
    CallSamples* samples = nullptr;  ///< of what it is run by; null if there is no operation
  };
  [[nodiscard]] Prepared prepare(const CollectiveCall& call);
  [[nodiscard]] Prepared prepare(const MeshReductionCall& call);
  /// For a persistent call that starts or is waited for, which has an operation.
  void start(Prepared & prepared);
  void wait(Prepared & prepared);
  /// A call of which this rank is the only one.
  static void move_alone(const CheckedCall& checked, const OwnBuffers& own);

 private:
  void require_whole() const;
  /// This rank makes no further call; tells the others.
  void give_up(bool in_call, const std::exception& error);
  /// Runs `body`, after which this rank cannot go on if it throws.
  template <class Body>
  auto attempt(bool in_call, const Body& body);
  /// The same, unless what it throws is thrown on all ranks.
  template <class Body>
  auto attempt_together(bool in_call, const Body& body);
  /// What all ranks' buffers are: the last that holds on one of them.
  enum class Buffers : std::int64_t { registered = 0, anywhere = 1 };
  /// Collective: checks this rank's part of `call`. Throws Error(invalid_argument) on all ranks if
  /// it is not valid on one.
  [[nodiscard]] Buffers agree_on_buffers(const CollectiveCall& call, Prepared& prepared);
  /// Where the times of a persistent call go; `plain`: what it is if it has no variant.
  void count(Prepared & prepared, const std::string& plain);
  [[nodiscard]] bool is_registered(const CallBuffers& buffers) const;
  /// A single call, on buffers that are its own.
  void run_checked(const CheckedCall& checked, const OwnBuffers& own);
  /// Collective: what runs a persistent call; sets `variant`, unless that is the plain one.
  [[nodiscard]] std::unique_ptr<Operation> prepare_best(
      const Call& call, const ProgramCall& program, Buffers buffers, std::string& variant);
  /// Collective: the winner among `choices`, prepared; null if there is none.
  [[nodiscard]] std::unique_ptr<Operation> prepare_winner(
      const Choices& choices, Call call, const ProgramCall& program, std::string& variant);

  /// Throws Error(invalid_argument), on all ranks, if it is no mesh of these ranks.
  void check_mesh(const MeshReduction& mesh) const;
  /// What was made once for all mesh reductions.
  [[nodiscard]] Subgroups& subgroups();
  [[nodiscard]] MeshCalls& mesh_calls();
  /// Collective: the form of a mesh reduction that wins, prepared; null if there is none.
  [[nodiscard]] std::unique_ptr<Operation> prepare_form(const Call& call, std::string& variant);

  OneRankParts parts_;  // the communicator is the executor's
  int rank_;
  int ranks_;
  std::unique_ptr<Executor> executor_;
  Choices persistent_;
  Choices registered_;
  MeshChoices meshes_;  ///< of single calls, until the first one
  MeshChoices persistent_meshes_;
  std::vector<std::string> notes_;
  std::map<std::string, CallSamples> persistent_samples_;  ///< by what runs the calls
  std::uint64_t persistent_calls_ = 0;                     ///< that were prepared
  std::chrono::nanoseconds set_up_{};                      ///< how long it took
  std::unique_ptr<PlainCalls> plain_;
  // Of the call that is made or prepared:
  std::vector<std::size_t> blocks_;        ///< their lengths, if counts are unequal
  OwnBlock own_block_;                     ///< of single calls in place that run as others
  std::unique_ptr<Subgroups> subgroups_;   ///< of mesh reductions; null: there was none yet
  std::unique_ptr<MeshCalls> mesh_calls_;  ///< null: there was no single one yet
  CallTimer mesh_timer_{CallTimer::steady_now};
  std::string broken_;  ///< why no further call can be made
};

}  // namespace colltune
