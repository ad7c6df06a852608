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

/// Length of the known pattern before and after each buffer; a variant that writes there is wrong.
inline constexpr std::size_t guard_bytes = 1024;

/// Memory for the buffers of all cells of a world: two regions that grow to the largest size
/// requested; this rank touches them first. Each has room for guard bytes on both sides.
class BufferArena {
 public:
  struct Regions {
    std::span<std::byte> first;
    std::span<std::byte> second;
    Device* device = nullptr;         ///< that they lie on; null: host memory
    std::span<std::byte> eviction{};  ///< larger than the device's caches; empty: not requested
  };

  /// Two private regions of `bytes` each, aligned to pages. The guard_bytes before and after any
  /// part that starts with the region also belong to this rank.
  [[nodiscard]] Regions plain(Bytes bytes);
  /// The same in symmetric memory. Collective over `communicator`; either all ranks throw or none.
  [[nodiscard]] Regions registered(Communicator& communicator, Bytes bytes, Deadline deadline);
  /// The same on a device, whose memory serves for both; in memory of `source` if it is set. With
  /// `evicts`, also memory that displaces everything else in the device's caches when it is filled.
  /// Throws Error(failed_precondition) if the size of the caches is unknown.
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

/// One rank's buffers for a cell, and the data that its calls are verified with.
class CellData {
 public:
  CellData(const Problem& problem, const Communicator& world, const BufferArena::Regions& regions);

  [[nodiscard]] Call call() const;
  /// The input of the timed runs; empty if it stays as the last run left it.
  [[nodiscard]] RunInput run_input(InputMode mode) const;

  struct Check {
    DataPattern pattern = DataPattern::exact;
    int seed = 0;  ///< 0 or 1; each gives other data
    Rounding rounding = Rounding::exact;
  };
  /// Poisons the receive buffer. The returned input must be written before the start of a call
  /// whose result is checked. `mode` is that of the runs among which this call's time counts.
  [[nodiscard]] RunInput arm(const Check& check, InputMode mode);
  /// Checks the result of such a call: every element, the guard bytes and, if the call must not
  /// change it, the input.
  [[nodiscard]] std::optional<Fault> inspect(const Check& check);
  /// Whether anything was written before or after the buffers. Restores the guard bytes.
  [[nodiscard]] std::optional<Fault> inspect_guards();

 private:
  /// A result that the oracle has accepted: later results are compared with it as memory instead of
  /// computing it again.
  struct KnownResult {
    std::vector<std::byte> bytes;
    Rounding rounding = Rounding::exact;
    bool is_strict = false;  ///< right for every rounding that a variant may declare
  };
  struct Guard {
    std::span<std::byte> bytes;
    std::string place;
  };
  // Writes to the buffers, which are on the device if there is one.
  void write(std::span<std::byte> to, std::span<const std::byte> from);
  /// `bytes` where the host can read them; valid until the next call.
  [[nodiscard]] std::span<const std::byte> look_at(std::span<const std::byte> bytes);

  void place_guards(const std::string& name, std::span<std::byte> buffer);
  [[nodiscard]] bool keeps_input() const;
  /// `input`, evicted from the caches if the mode is rotating.
  [[nodiscard]] RunInput evicted(RunInput input, InputMode mode) const;
  [[nodiscard]] std::optional<Fault> compare(const Check& check);
  [[nodiscard]] VerifiedCall verified_call(const Check& check) const;
  /// What this rank sends in a verified call; computed once.
  [[nodiscard]] std::span<const std::byte> input_of(const Check& check);

  Problem problem_;
  Device* device_;
  std::span<std::byte> eviction_;
  std::vector<std::byte> from_device_;  ///< what look_at last read from the device
  int rank_;
  int ranks_;
  std::span<std::byte> send_;
  std::span<std::byte> receive_;
  std::array<std::array<std::optional<std::vector<std::byte>>, 2>, 2> inputs_;  ///< pattern, seed
  std::array<std::array<KnownResult, 2>, 2> results_;                           ///< pattern, seed
  std::vector<Guard> guards_;
  std::span<const std::byte> run_image_;
};

}  // namespace colltune
