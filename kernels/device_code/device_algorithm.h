// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/cost.h"
#include "colltune/vocabulary/problem.h"
#include "device_call.h"
#include "host_context.h"
#include "reducer.h"
#ifdef __CUDACC__  // nvcc, if there is one, compiles the files of kernels/cuda
#include "cuda_kernels.cuh"
#else
#include "no_kernels.h"
#endif

namespace colltune {
namespace device {

/// A copy for a copy engine.
struct DeviceCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
};
using DeviceCopies = std::vector<DeviceCopy>;

}  // namespace device

/// An algorithm whose body runs on GPUs, and as host threads: what a file in kernels/cuda says
/// about it. The body is a class with
///
///     static constexpr bool reduces      whether it combines elements
///     template <class Context, class Reducer>
///     static void run(Context&, const device::DeviceCall&, const Reducer&)
///
/// which all threads of a rank's kernel call. All ranks launch the same number of blocks and
/// threads.
struct DeviceAlgorithm {
  std::string name;
  std::string description;
  Collective collective = Collective::all_reduce;
  /// Bytes of data that a call needs in each rank's scratch memory, after the signals.
  std::uint64_t (*scratch_bytes)(const device::DeviceCall& call) = nullptr;
  /// From its published analysis.
  Cost (*cost)(const device::DeviceCall& call) = nullptr;
  /// The byte that fills the data of the scratch memory before the first call.
  unsigned char scratch_fill = 0;
  /// Rank order means that each result is combined in one go.
  NumericClass numeric_class = NumericClass::rank_order;
  /// Whether `DeviceCall::chunk` and `slots` matter.
  bool has_chunks = false;
  /// Whether a rank works on the message one rank's share at a time, so threads never find more to
  /// do at once than one share.
  bool does_shares = false;
  /// Whether a rank writes results into the peers' receive buffers, or reads their inputs in place,
  /// if the buffers are registered.
  bool uses_registered = true;
  bool works_in_place = true;
  /// Whether it reaches peers by puts and posts alone and never reads their memory: it could run
  /// where that memory is not mapped (Team::put).
  bool reaches_by_puts = false;
  /// Whether it moves a message by packets, so that `DeviceCall::packets` matters.
  bool moves_packets = true;
  /// Whether a call clears what the call before left in the scratch memory, as far as it reaches
  /// itself: then all calls are of one size.
  bool clears_words = false;
  /// Whether it needs `DeviceCall::multicast`.
  bool needs_multicast = false;
  /// Whether it relies on 128 bytes that threads write together being seen whole or not at all.
  bool needs_whole_lines = false;
  /// If set, the algorithm works between registered buffers only: the body runs, the device's copy
  /// engines make the copies that this lists for a rank's call, then the body runs again.
  void (*list_copies)(const device::DeviceCall& call, device::DeviceCopies& copies) = nullptr;
  // The entry points of its body; set by make_device.
  /// Runs one of its threads on the host.
  void (*run_on_host)(device::HostContext& context, const device::DeviceCall& call) = nullptr;
  device::Kernels kernels{};
};
using DeviceAlgorithms = std::vector<DeviceAlgorithm>;

/// The algorithms of all files in kernels/cuda. CMake expects `make_<name>()` in namespace
/// colltune::cuda from each of them.
[[nodiscard]] DeviceAlgorithms make_device_algorithms();

/// The copies of all `calls` that move something.
[[nodiscard]] inline device::DeviceCopies copies_of(const DeviceAlgorithm& algorithm,
                                                    std::span<const device::DeviceCall> calls) {
  device::DeviceCopies copies;
  if (algorithm.list_copies == nullptr) return copies;
  for (const device::DeviceCall& call : calls) algorithm.list_copies(call, copies);
  std::erase_if(copies, [](const device::DeviceCopy& copy) {
    return copy.bytes == 0 || copy.to == copy.from;
  });
  return copies;
}

/// `algorithm` with the entry points of its body.
template <class Body>
[[nodiscard]] DeviceAlgorithm make_device(DeviceAlgorithm algorithm) {
  algorithm.run_on_host = [](device::HostContext& context, const device::DeviceCall& call) {
    const device::AnyReducer reducer(call);
    if (!device::moves_whole_packets(call)) return Body::run(context, call, reducer);
    device::WholeHostContext whole(std::move(context));
    Body::run(whole, call, reducer);
    context = std::move(whole);
  };
  algorithm.kernels = device::kernels_of<Body>();
  return algorithm;
}

namespace device {

/// The terms of the algorithms' costs: the number of other ranks, and the size of the message (or
/// of each rank's block).
[[nodiscard]] inline double peers_of(const DeviceCall& call) { return call.ranks - 1; }
[[nodiscard]] inline double size_of_message(const DeviceCall& call) {
  return static_cast<double>(call.bytes);
}

}  // namespace device
}  // namespace colltune
