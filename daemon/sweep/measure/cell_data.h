// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/device.h"
#include "colltune/kernels/implementation.h"
#include "colltune/kernels/operation.h"
#include "colltune/kernels/verification/oracle.h"
#include "colltune/sweep/clock/run_timer.h"
#include "trial.h"

namespace colltune {

/// Bytes with a known pattern before and behind each buffer: who writes there is wrong.
inline constexpr std::size_t guard_bytes = 1024;

/// Memory for the buffers of all cells of a world: two regions, grown to the largest that was asked
/// for, first touched by this rank. Around each lies room for guard bytes.
class BufferArena {
 public:
  struct Regions {
    std::span<std::byte> first;
    std::span<std::byte> second;
    Device* device = nullptr;         ///< on which they lie; null: in the host's memory
    std::span<std::byte> eviction{};  ///< more than the device's caches hold; empty: not asked for
  };

  /// Two private regions of `bytes` each, aligned to pages; guard_bytes before and behind any part
  /// that begins with the region are this rank's as well.
  [[nodiscard]] Regions plain(Bytes bytes);
  /// The same in symmetric memory. Collective over `communicator`; all ranks throw, or none.
  [[nodiscard]] Regions registered(Communicator& communicator, Bytes bytes, Deadline deadline);
  /// The same on a device, whose memory serves for both; in memory of `source`, where there is one.
  /// `evicts`: with memory that, when it is filled, takes the place of all else in its caches.
  /// Throws Error(failed_precondition) where nobody tells how large these are.
  [[nodiscard]] Regions on(Device& device, BufferSource* source, Bytes bytes, bool evicts);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> plain_memory_;
  std::size_t plain_bytes_ = 0;
  std::unique_ptr<SymmetricMemory> registered_memory_;
  std::size_t registered_bytes_ = 0;
  DeviceMemory device_memory_;
  DeviceMemory eviction_;
  std::map<BufferSource*, std::unique_ptr<BufferMemory>> library_memory_;
};

/// One rank's buffers for a cell and the data that its calls are verified with.
class CellData {
 public:
  CellData(const Problem& problem, const Communicator& world, const BufferArena::Regions& regions);

  [[nodiscard]] Call call() const;
  /// The input of the timed runs; empty where it stays as the last run left it.
  [[nodiscard]] RunInput run_input(InputMode mode) const;

  struct Check {
    DataPattern pattern = DataPattern::exact;
    int seed = 0;  ///< 0 or 1: another one gives other data
    Rounding rounding = Rounding::exact;
  };
  /// Poisons the receive buffer; what is returned is to be written before the start of a call
  /// whose result is checked. `mode`: of the runs among which its time counts.
  [[nodiscard]] RunInput arm(const Check& check, InputMode mode);
  /// After such a call: compares every element of the result, the guard bytes and, where the call
  /// leaves it alone, the input.
  [[nodiscard]] std::optional<Fault> inspect(const Check& check);
  /// Whether somebody wrote before or behind the buffers. Restores the guard bytes.
  [[nodiscard]] std::optional<Fault> inspect_guards();

 private:
  /// A result that the oracle found right: one comparison of memory instead of computing it again.
  struct KnownResult {
    std::vector<std::byte> bytes;
    Rounding rounding = Rounding::exact;
    bool is_strict = false;  ///< right for every rounding that a variant may declare
  };
  struct Guard {
    std::span<std::byte> bytes;
    std::string place;
  };
  // The buffers lie on the device, where there is one.
  void write(std::span<std::byte> to, std::span<const std::byte> from);
  /// `bytes`, where the host can read them; until the next call.
  [[nodiscard]] std::span<const std::byte> look_at(std::span<const std::byte> bytes);

  void place_guards(const std::string& name, std::span<std::byte> buffer);
  [[nodiscard]] bool keeps_input() const;
  /// `input`, out of the caches where the mode is rotating.
  [[nodiscard]] RunInput evicted(RunInput input, InputMode mode) const;
  [[nodiscard]] std::optional<Fault> compare(const Check& check);
  [[nodiscard]] VerifiedCall verified_call(const Check& check) const;
  /// What this rank sends in a verified call; made once.
  [[nodiscard]] std::span<const std::byte> input_of(const Check& check);

  Problem problem_;
  Device* device_;
  std::span<std::byte> eviction_;
  std::vector<std::byte> from_device_;  ///< what look_at last read there
  int rank_;
  int ranks_;
  std::span<std::byte> send_;
  std::span<std::byte> receive_;
  std::array<std::array<std::optional<std::vector<std::byte>>, 2>, 2> inputs_;  ///< pattern, seed
  std::array<std::array<KnownResult, 2>, 2> results_;                           ///< the same
  std::vector<Guard> guards_;
  std::span<const std::byte> run_image_;
};

}  // namespace colltune
