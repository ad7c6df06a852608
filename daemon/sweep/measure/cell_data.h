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

/// A cell's buffers: pairs of a send and a receive buffer, one after another in each region. Calls
/// take the pairs in turns, as a program's calls come with now these buffers, now those; persistent
/// calls have a single pair.
struct PairLayout {
  std::size_t count = 1;
  std::size_t stride = 0;  ///< bytes from one pair to the next in a region

  /// The pairs for calls of `message`: at least `fewest_buffer_pairs`, and for ordinary calls so
  /// many that the regions have `least_footprint` together.
  static PairLayout of(Bytes message, Calling calling);
  static constexpr std::size_t least_footprint = std::size_t{1} << 20;
  /// The bytes of both regions.
  [[nodiscard]] Bytes footprint() const { return {2 * count * stride}; }
  /// Where buffers begin in a cache line.
  struct Shift {
    std::size_t send = 0;
    std::size_t receive = 0;
  };
  /// That of pair `i` where the program's allocator gave them. It knows multiples of 16 bytes, so
  /// they lie in lines this way or that, and two of them differ. A copy or a reduction that is fast
  /// between aligned buffers may take half as long again between these.
  static constexpr Shift shift_by_allocator(std::size_t i) {
    return {.send = unit * ((i + 1) % units), .receive = unit * ((2 * i + 1) % units)};
  }
  static constexpr std::size_t unit = 16;
  static constexpr std::size_t units = 4;  ///< in a line
};
/// The bytes of a region in which the buffers of all cells up to `largest` have room.
[[nodiscard]] Bytes region_size(Bytes largest, Calling calling);

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
  CellData(const Problem& problem, Calling calling, const Communicator& world,
           const BufferArena::Regions& regions);

  /// The call for which operations are prepared.
  [[nodiscard]] Call call() const;
  /// The buffers and input of the next timed run of `calls` calls. Ordinary calls go on to the next
  /// pairs.
  [[nodiscard]] RunInput run_input(InputMode mode, int calls);

  struct Check {
    DataPattern pattern = DataPattern::exact;
    int seed = 0;  ///< 0 or 1; each gives other data
    Rounding rounding = Rounding::exact;
  };
  /// The same for a run whose results are checked; poisons the receive buffers. `mode` is that of
  /// the runs among which this run's time counts.
  [[nodiscard]] RunInput arm(const Check& check, InputMode mode, int calls);
  /// Checks the results of such a run: every element, the guard bytes and, if the call must not
  /// change it, the input.
  [[nodiscard]] std::optional<Fault> inspect(const Check& check);
  /// Whether anything was written before or after the buffers of the runs since this was last
  /// called. Restores the guard bytes.
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
    std::string_view where;
  };
  /// One pair of buffers, and what lies around them.
  struct Pair {
    std::span<std::byte> send;
    std::span<std::byte> receive;
    std::vector<Guard> guards{};
  };
  // Writes to the buffers, which are on the device if there is one.
  void write(std::span<std::byte> to, std::span<const std::byte> from);
  /// `bytes` where the host can read them; valid until the next call.
  [[nodiscard]] std::span<const std::byte> look_at(std::span<const std::byte> bytes);

  void place_guards(Pair& pair, std::string_view before, std::string_view behind,
                    std::span<std::byte> buffer);
  [[nodiscard]] bool keeps_input() const;
  /// The next run of `calls` calls, without anything to write; the pairs that it uses are from
  /// `run_begin_` on.
  [[nodiscard]] RunInput take_pairs(int calls);
  /// Whether all inputs that the run will find are to be written, and what is evicted after that.
  void add_writes(RunInput& input, std::span<const std::byte> image, InputMode mode) const;
  /// The pair of the run's call number `i`.
  [[nodiscard]] Pair& run_pair(std::size_t i) { return pairs_[(run_begin_ + i) % pairs_.size()]; }
  [[nodiscard]] std::optional<Fault> compare(const Pair& pair, const Check& check);
  /// Whether the input of `pair` is still what `check` sent.
  [[nodiscard]] std::optional<Fault> compare_input(const Pair& pair, const Check& check);
  [[nodiscard]] VerifiedCall verified_call(const Check& check) const;
  /// What this rank sends in a verified call; computed once.
  [[nodiscard]] std::span<const std::byte> input_of(const Check& check);

  Problem problem_;
  std::vector<std::size_t> blocks_;  ///< bytes of each rank's; empty if counts are equal
  Device* device_;
  std::array<std::span<std::byte>, 1> eviction_;
  std::vector<std::byte> from_device_;  ///< what look_at last read from the device
  int rank_;
  int ranks_;
  Calling calling_;
  std::vector<Pair> pairs_;
  // What runs take, by pair. After the last pair the first ones follow again, so that each run's
  // are in a row.
  std::vector<CallBuffers> bindings_;
  std::vector<std::span<std::byte>> sends_;
  std::vector<std::span<std::byte>> sends_and_receives_;  ///< by twos
  std::size_t next_ = 0;                                  ///< the pair of the next call
  std::size_t run_begin_ = 0;                             ///< the first pair of the last run
  std::size_t run_pairs_ = 0;                             ///< and how many
  std::size_t unchecked_ = 0;  ///< pairs up to `next_` whose guards were not looked at
  std::array<std::array<std::optional<std::vector<std::byte>>, 2>, 2> inputs_;  ///< pattern, seed
  std::array<std::array<KnownResult, 2>, 2> results_;                           ///< pattern, seed
  std::span<const std::byte> run_image_;
};

}  // namespace colltune
