// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "colltune/collectives/choices.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/execution/call_path.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// A wait inside a program ends when the others come, however late, or with the job.
inline constexpr Deadline no_deadline = Deadline::max() - std::chrono::hours(1);

/// What a collective step takes, of the `own` times of the ranks in it: the least, that of the rank
/// which came last and waited for nobody. More than 0. Collective; waits as long as it takes.
[[nodiscard]] std::chrono::nanoseconds agreed_time(Communicator& communicator,
                                                   std::chrono::nanoseconds own);

/// Runs the calls of one communicator on one rank. Not thread-safe: MPI forbids two collectives on
/// one communicator at a time.
class Executor {
 public:
  using Tally = CallPath::Tally;  ///< of one variant

  /// Collective. `communicator` has an abort flag that lets the library go on; `catalogue` outlives
  /// this. `clock` times some of the calls; null: none. `preparing`: what it is thought to take,
  /// the same on all ranks; once a variant was prepared, what that took counts. 0: each is prepared
  /// in its first call, else in the one by which the table's times say that it pays.
  Executor(std::unique_ptr<Communicator> communicator, const Implementations& catalogue,
           Choices choices, CallTimer::Now clock = nullptr,
           std::chrono::nanoseconds preparing = {});
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  [[nodiscard]] Communicator& communicator() const { return *communicator_; }
  [[nodiscard]] int rank() const { return communicator_->rank(); }
  [[nodiscard]] int size() const { return communicator_->size(); }
  [[nodiscard]] const Choices& choices() const { return choices_; }

  /// Begins a call: writes it down and returns its choice, Choices::library or one for `run`. The
  /// same on all ranks. `finish` ends it.
  [[nodiscard]] std::uint16_t begin(const ProgramCall& call) noexcept;
  /// Writes down a call that is not made by `begin`, such as the start of a persistent one.
  void note(const ProgramCall& call) noexcept { path_.log().write(call); }
  /// CallLog::end: ranks of this node that wait for this one for long throw.
  void end(bool in_call) noexcept { path_.log().end(in_call); }
  /// CallPath::left_for_good. Who writes calls like it into `lines` need not begin or finish them;
  /// they are not counted then.
  [[nodiscard]] const CallLog::Entry* left_for_good() const noexcept {
    return path_.left_for_good();
  }
  [[nodiscard]] colltune_call_lines& lines() noexcept { return path_.log().own_lines(); }
  /// A call that no choice can be for, since the kernels lack its type or operator.
  /// `finish` ends it, too.
  void leave(Collective collective) noexcept { path_.leave(collective); }
  /// Runs the call on these buffers (CallBuffers); waits as long as it takes. Returns false if all
  /// ranks leave it to the library after all, since one lacks the memory. Throws Error if the ranks
  /// make different calls. `blocks`: the bytes of each rank's block where counts are unequal
  /// (Call::blocks).
  [[nodiscard]] bool run(std::uint16_t choice, const ProgramCall& call, bool in_place,
                         const CallBuffers& buffers, std::span<const std::size_t> blocks = {});
  /// The call that was begun last, or left, is over on this rank.
  void finish() noexcept { path_.finish(); }
  /// Compares this rank's call with the others'; to be called now and then by who waits for long.
  void compare_calls() const { path_.log().compare(); }
  /// For each entry of the choices.
  [[nodiscard]] const std::vector<Tally>& tallies() const { return path_.tallies(); }
  /// Calls left to the library, by collective.
  [[nodiscard]] const std::array<CallSamples, enum_names(Collective{}).size()>& left() const {
    return path_.left();
  }
  /// Why entries do not run after all; for a person.
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

 private:
  [[nodiscard]] CallPath::Found find(const ProgramCall& call) const noexcept;
  /// Null, and the choice is withdrawn, if that fails on all ranks.
  [[nodiscard]] std::unique_ptr<Operation> prepare(std::uint16_t choice, const Call& first);

  std::unique_ptr<Communicator> communicator_;
  const Implementations& catalogue_;
  Choices choices_;
  std::vector<const Choices::Row*> rows_;  ///< by kind_of(); null: all left to the library
  bool is_priced_;                         ///< preparing must pay
  CallPath path_;
  std::vector<std::string> failures_;
};

}  // namespace colltune
