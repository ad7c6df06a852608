// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/execution/program_call.h"

namespace colltune {

/// What the ranks of a node write down about the calls that they make, so that a rank that waits
/// for long can see whether the others make another call.
class CallLog {
 public:
  /// Collective.
  CallLog(Communicator& communicator, Deadline deadline);
  /// One that no other rank reads: writing takes as long.
  CallLog();
  /// What is written of a call.
  struct Entry {
    std::uint64_t bytes = 0;
    /// Collective, type, operator, from the lowest byte; the root's 32 bits above; counts above
    /// that.
    std::uint64_t kind = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  [[nodiscard]] static Entry entry_of(const ProgramCall& call) noexcept;
  /// This rank makes its next call. Inline, since it is on the path of every call.
  void write(const Entry& entry) noexcept {
    Line& own = own_[++calls_ % lines];
    put(own.number, 0);
    put(own.bytes, entry.bytes);
    put(own.kind, entry.kind);
    put(own.number, calls_);
  }
  void write(const ProgramCall& call) noexcept { write(entry_of(call)); }
  /// This rank makes no further call, since one failed: the one that was written last (`in_call`)
  /// or one that was not.
  void end(bool in_call) noexcept;
  /// Throws Error(failed_precondition) that names both ranks and calls if a rank of this node makes
  /// another call than this rank as its latest, or Error(aborted) if it has ended its calls.
  void compare() const;

 private:
  // A rank may be some calls ahead of another: a broadcast's root waits for nobody.
  static constexpr std::uint64_t lines = 16;
  /// One call of one rank. Its owner alone writes it.
  struct Line {
    std::uint64_t number;  ///< of the call, from 1 on; 0 while it is written
    std::uint64_t bytes;   ///< and `kind`: its Entry
    std::uint64_t kind;
    std::uint64_t unused;
  };
  // Each store is seen after the ones before it, each load made before the ones after it.
  static void put(std::uint64_t& word, std::uint64_t value) noexcept {
    std::atomic_ref(word).store(value, std::memory_order_release);
  }
  static std::uint64_t get(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }

  std::unique_ptr<SymmetricMemory> memory_;  ///< null if no other rank reads it
  std::unique_ptr<Line[]> alone_;            ///< the own lines then
  std::vector<Line*> lines_;  ///< by rank: the first of its lines; null on other nodes
  std::vector<int> others_;   ///< the other ranks of this node
  int rank_ = 0;
  Line* own_ = nullptr;  ///< the first of this rank's lines
  std::uint64_t calls_ = 0;
};

}  // namespace colltune
