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
#ifdef __CUDACC__  // a file of kernels/cuda is compiled by nvcc where there is one
#include "cuda_kernels.cuh"
#else
#include "no_kernels.h"
#endif

namespace colltune {
namespace device {

/// Bytes that a copy engine moves.
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
/// which all threads of a rank's launch call. All ranks launch as many blocks of as many threads.
struct DeviceAlgorithm {
  std::string name;
  std::string description;
  Collective collective = Collective::all_reduce;
  /// Data that each rank's scratch memory needs for a call, behind the signals.
  std::uint64_t (*scratch_bytes)(const device::DeviceCall& call) = nullptr;
  /// By its published analysis.
  Cost (*cost)(const device::DeviceCall& call) = nullptr;
  /// What the data of the scratch memory is filled with before the first call.
  unsigned char scratch_fill = 0;
  /// Rank order means that every result is combined at once.
  NumericClass numeric_class = NumericClass::rank_order;
  /// Whether `DeviceCall::chunk` and `slots` matter.
  bool has_chunks = false;
  /// Whether a rank does the message share by share, one for each rank: threads find no more to do
  /// at once than that.
  bool does_shares = false;
  /// Whether a rank writes results into the peers' receive buffers where they are registered, or
  /// reads their inputs there.
  bool uses_registered = true;
  bool works_in_place = true;
  /// Whether puts and posts alone go to peers, whose memory it does not read: it could run where
  /// that is not mapped (Team::put).
  bool reaches_by_puts = false;
  /// Whether it moves a message by packets, so that `DeviceCall::packets` matters.
  bool moves_packets = true;
  /// Whether it takes `DeviceCall::multicast`.
  bool needs_multicast = false;
  /// Whether it takes 128 bytes that threads write together to be seen whole or not at all.
  bool needs_whole_lines = false;
  /// Where it is set: between registered buffers alone; the body is run, then the device's copy
  /// engines make the copies that a rank's call is listed, then the body is run again.
  void (*list_copies)(const device::DeviceCall& call, device::DeviceCopies& copies) = nullptr;
  // The entries of its body; set by make_device.
  /// One thread of it on the host.
  void (*run_on_host)(device::HostContext& context, const device::DeviceCall& call) = nullptr;
  device::Kernels kernels{};
};
using DeviceAlgorithms = std::vector<DeviceAlgorithm>;

/// Those of all files in kernels/cuda, from each of which CMake expects `make_<name>()` in
/// namespace colltune::cuda.
[[nodiscard]] DeviceAlgorithms make_device_algorithms();

/// Those of all `calls` that move something.
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

/// `algorithm` with the entries of its body.
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

/// What the costs of algorithms are made of: the other ranks, and the message (or each rank's
/// block).
[[nodiscard]] inline double peers_of(const DeviceCall& call) { return call.ranks - 1; }
[[nodiscard]] inline double size_of_message(const DeviceCall& call) {
  return static_cast<double>(call.bytes);
}

}  // namespace device
}  // namespace colltune
