// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/device.h"

namespace colltune {

/// How calls are timed.
struct BenchSettings {
  int ranks = 4;
  int calls = 20;                 ///< of each variant
  DataType type = DataType::f32;  ///< of what is summed
  bool is_captured = false;       ///< into a graph, by the caller
  std::size_t most_variants = 0;  ///< of each row, spread over its search space; 0: all
  /// Before each call twice what the device's largest cache holds is written: as where each call
  /// has other buffers.
  bool evicts_inputs = true;
};

/// One piece of hardware, opened as often as times are taken in different ways.
struct BenchDevices {
  Device& calls;     ///< as programs use it: what the host sees of a call
  Device& alone;     ///< the device's time without the host's (CudaDeviceOptions)
  Device& repeated;  ///< the same of several calls of one graph, divided by their number
};

/// What a variant of an implementation takes for one problem, and whether it is right.
struct BenchRow {
  const Implementation* implementation = nullptr;
  Problem problem;
  std::vector<Variant> variants;  ///< to be timed: those of the most blocks first
  std::size_t tried = 0;          ///< how many of them were
  std::size_t timed = 0;          ///< the same without those for which memory was lacking
  std::vector<std::pair<Variant, double>> times;  ///< of each that has one, us, as `device_us`
  std::optional<Variant> best;
  /// The median of the best by the device's clock, without the host's part.
  double device_us = std::numeric_limits<double>::infinity();
  double host_us = 0;  ///< of the same, from the first rank's start to the last one's end
  std::vector<std::string> faults;  ///< variants that were wrong or failed, with what they did
  std::string why_untimed;          ///< where memory was lacking, or none runs here
};
/// "cuda.all_reduce_ring 256MiB: 3 of 12 variants were timed"; empty where all were.
[[nodiscard]] std::string describe_untimed(const BenchRow& row);

/// Calls by ranks that are threads and share a device. One call of its functions at a time.
class VirtualRanksBench {
 public:
  /// Takes memory of the devices, which outlive it. Throws Error.
  VirtualRanksBench(const BenchDevices& devices, const BenchSettings& settings);

  [[nodiscard]] const BenchSettings& settings() const { return settings_; }
  /// Whether inputs are out of the caches: not where nobody tells how large these are.
  [[nodiscard]] bool evicts() const;
  [[nodiscard]] Capability capability(const Implementations& catalogue);
  /// What a plain copy of `bytes` in the device's memory takes, without what starting it does.
  /// Throws Error where there is not four times as much memory.
  [[nodiscard]] std::chrono::nanoseconds copy_time(Bytes bytes);

  /// Sums of the type, or bytes of it, between registered buffers. Without variants where none runs
  /// here; `why_untimed` is the reason then.
  [[nodiscard]] BenchRow make_row(const Implementation& implementation,
                                  const Capability& capability, Bytes size) const;
  /// Times the next variant of `row`, which has one. Results of up to 16 MiB are verified first; a
  /// variant that is wrong is not timed, and one that is far slower than the best so far has few
  /// calls.
  void time_next(BenchRow& row);
  /// Verifies the best of `row`, whatever the size: what was wrong, or empty.
  [[nodiscard]] std::string verify_best(const BenchRow& row);
  /// The median of the best of `row` with the input's other state: where `evicts()`, in the caches,
  /// else out of them. Nothing where nobody tells how large those are.
  [[nodiscard]] std::optional<double> time_of_best_otherwise(const BenchRow& row);

 private:
  /// One variant's calls.
  struct Trial {
    const Implementation& implementation;
    const Problem& problem;
    const Variant& variant;
    Device& device;  ///< on which the ranks work
    bool is_verified = false;
    bool evicts = false;
    int calls = 0;  ///< timed ones
    double best_us = std::numeric_limits<double>::infinity();
  };
  /// The times of its calls, us each.
  struct Times {
    std::vector<double> device;
    std::vector<double> host;
    std::string fault;
    bool lacks_memory = false;  ///< says the fault
  };
  /// What verified calls of one problem send, and what came back where it was right.
  struct Reference {
    Problem problem;
    std::vector<std::vector<std::byte>> inputs;
    std::vector<std::vector<std::byte>> results;
  };
  /// A rank's.
  struct Buffers {
    DeviceMemory send;
    DeviceMemory receive;
  };

  [[nodiscard]] Topology topology(const Capability& capability) const;
  void run(Device& device, const std::function<void(Communicator&)>& body) const;
  [[nodiscard]] Times run_trial(const Trial& trial);
  [[nodiscard]] Times run_rank(Communicator& communicator, const Trial& trial);
  [[nodiscard]] std::string verify(Communicator& communicator, const Trial& trial,
                                   Operation& operation, const Buffers& buffers);

  /// What times calls whose inputs are pushed out of the caches, or are not.
  [[nodiscard]] Device& timer(bool evicts) const;

  BenchDevices devices_;
  BenchSettings settings_;
  DeviceMemory eviction_;
  Reference reference_;  ///< each rank's thread has places of its own in it
  std::mutex mutex_;
};

}  // namespace colltune
