// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/execution/call_lines.h"
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
  struct Entry : colltune_call_entry {
    friend bool operator==(const Entry& one, const Entry& other) noexcept {
      return one.bytes == other.bytes && one.kind == other.kind;
    }
  };
  [[nodiscard]] static Entry entry_of(const ProgramCall& call) noexcept;
  /// This rank makes its next call. Inline, since it is on the path of every call.
  void write(const Entry& entry) noexcept { colltune_write_call(&own_, entry); }
  void write(const ProgramCall& call) noexcept { write(entry_of(call)); }
  /// For who writes some of the calls without this: the next line is the next call's.
  [[nodiscard]] colltune_call_lines& own_lines() noexcept { return own_; }
  /// This rank makes no further call, since one failed: the one that was written last (`in_call`)
  /// or one that was not.
  void end(bool in_call) noexcept;
  /// Throws Error(failed_precondition) that names both ranks and calls if a rank of this node makes
  /// another call than this rank as its latest, or Error(aborted) if it has ended its calls.
  void compare() const;

 private:
  using Line = colltune_call_line;
  static constexpr std::uint64_t lines = COLLTUNE_CALL_LINES;
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
  colltune_call_lines own_{};
};

}  // namespace colltune
