// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "colltune/collectives/call_times.h"
#include "colltune/collectives/choices.h"
#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// A wait inside a program ends when the others come, however late, or with the job.
inline constexpr Deadline never = Deadline::max() - std::chrono::hours(1);

/// A call as MPI guarantees it to be equal on all ranks.
struct ProgramCall {
  Collective collective = Collective::all_reduce;
  DataType data_type = DataType::u8;  ///< u8 unless it reduces
  ReduceOp reduce_op = ReduceOp::none;
  int root = 0;
  Bytes message_size;

  friend bool operator==(const ProgramCall&, const ProgramCall&) = default;
};
/// A mesh reduction, as it is written down: `mesh` is its number on the communicator.
[[nodiscard]] ProgramCall mesh_program_call(DataType type, Bytes message_size, int mesh) noexcept;
/// "broadcast of 16 bytes, root 0".
[[nodiscard]] std::string describe(const ProgramCall& call);

/// What the ranks of a node write down about the calls that they make, so that a rank that waits
/// for long can see whether the others make another call.
class CallLog {
 public:
  /// Collective.
  CallLog(Communicator& communicator, Deadline deadline);
  /// What is written of a call.
  struct Entry {
    std::uint64_t bytes = 0;
    std::uint64_t kind = 0;  ///< collective, type, operator, from the lowest byte; root above
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  [[nodiscard]] static Entry entry_of(const ProgramCall& call) noexcept;
  /// This rank makes its next call.
  void write(const Entry& entry) noexcept;
  void write(const ProgramCall& call) noexcept { write(entry_of(call)); }
  /// This rank makes no further call, since one failed: the one that was written last (`in_call`)
  /// or one that was not.
  void end(bool in_call) noexcept;
  /// Throws Error(failed_precondition) that names both ranks and calls if a rank of this node makes
  /// another call than this rank as its latest, or Error(aborted) if it has ended its calls.
  void compare() const;

 private:
  struct Line;

  std::unique_ptr<SymmetricMemory> memory_;
  std::vector<Line*> lines_;  ///< by rank: the first of its lines; null on other nodes
  std::vector<int> others_;   ///< the other ranks of this node
  int rank_;
  std::uint64_t calls_ = 0;
};

/// Runs the calls of one communicator on one rank. Not thread-safe: MPI forbids two collectives on
/// one communicator at a time.
class Executor {
 public:
  /// The calls that one variant ran, on this rank.
  struct Tally {
    CallSamples made;
    std::chrono::nanoseconds saved{};  ///< as measured by the sweep, not here
  };

  /// Collective. `communicator` has an abort flag that lets the library go on; `catalogue` outlives
  /// this. `clock` times some of the calls; null: none.
  Executor(std::unique_ptr<Communicator> communicator, const Implementations& catalogue,
           Choices choices, CallTimer::Now clock = nullptr);
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
  void note(const ProgramCall& call) noexcept { log_.write(call); }
  /// CallLog::end: ranks of this node that wait for this one for long throw.
  void end(bool in_call) noexcept { log_.end(in_call); }
  /// A call that no choice can be for, since the kernels lack its type or operator.
  /// `finish` ends it, too.
  void leave(Collective collective) noexcept {
    timer_.begin(left_[static_cast<std::size_t>(collective)]);
  }
  /// Runs the call on these buffers (CallBuffers); waits as long as it takes. Returns false if all
  /// ranks leave it to the library after all, since one lacks the memory. Throws Error if the ranks
  /// make different calls.
  [[nodiscard]] bool run(std::uint16_t choice, const ProgramCall& call, bool in_place,
                         const CallBuffers& buffers);
  /// The call that was begun last, or left, is over on this rank.
  void finish() noexcept { timer_.end(); }
  /// Compares this rank's call with the others'; to be called now and then by who waits for long.
  void compare_calls() const { log_.compare(); }
  /// For each entry of the choices.
  [[nodiscard]] const std::vector<Tally>& tallies() const { return tallies_; }
  /// Calls left to the library, by collective.
  [[nodiscard]] const std::array<CallSamples, enum_names(Collective{}).size()>& left() const {
    return left_;
  }
  /// Why entries do not run after all; for a person.
  [[nodiscard]] const std::vector<std::string>& failures() const { return failures_; }

 private:
  struct Prepared {
    std::unique_ptr<Operation> operation;
    ProgramCall latest;  ///< of this operation
    bool was_in_place = false;
    bool has_failed = false;
  };
  /// What `begin` found for a call: programs repeat theirs.
  struct Found {
    ProgramCall call;
    CallLog::Entry entry;
    std::uint16_t choice = Choices::library;
    std::chrono::nanoseconds saving{};
  };
  [[nodiscard]] Found find(const ProgramCall& call) const noexcept;
  [[nodiscard]] bool prepare(std::uint16_t choice);

  std::unique_ptr<Communicator> communicator_;
  const Implementations& catalogue_;
  Choices choices_;
  std::vector<const Choices::Row*> rows_;  ///< by kind_of(); null: all left to the library
  CallLog log_;
  Found found_;  ///< for the call that was begun last
  Call call_;    ///< the latest that was no repetition
  std::vector<Prepared> prepared_;
  std::vector<Tally> tallies_;
  std::array<CallSamples, enum_names(Collective{}).size()> left_{};
  CallTimer timer_;
  std::vector<std::string> failures_;
};

}  // namespace colltune
