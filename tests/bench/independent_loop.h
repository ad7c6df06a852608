// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

// The loop that an expert would write to check our numbers: MPI and nothing of colltune. float,
// MPI_SUM, root 0.

namespace independent {

/// The collectives that `run` knows, by MPI's names.
[[nodiscard]] std::vector<std::string> collectives();

/// Elements (floats) of the send and the receive buffer for a message of `bytes` on `ranks` ranks,
/// where `bytes` is the larger of the two.
struct Shape {
  std::size_t send = 0;
  std::size_t receive = 0;
};
[[nodiscard]] Shape shape_of(const std::string& collective, std::size_t bytes, int ranks);

/// What one call sends from and receives into.
struct Buffers {
  float* send = nullptr;
  float* receive = nullptr;
};

/// How a run begins on all ranks.
enum class Start {
  barrier,  ///< MPI_Barrier; the run is timed from when this rank left it
  clock,    ///< a point of the clock that all ranks of one machine read; timed from there
};

/// From when rank 0 names a start by the clock until then. A rank that spins for longer begins its
/// first call slower: Open MPI's all_reduce of 64 B took 0.42 us behind 2 us, 1.1 behind 20.
inline constexpr std::chrono::nanoseconds shortest_lead = std::chrono::microseconds(2);

/// One run on this rank, in nanoseconds per call: copy `image` into what the calls send (as an
/// application would have just written its data, where it has some), start, the collective `calls`
/// times back to back, each with the next of `buffers`, clock. Negative where the rank was too late
/// for the start.
[[nodiscard]] double run(MPI_Comm comm, const std::string& collective, Shape shape,
                         std::span<const Buffers> buffers, const float* image,
                         Start start = Start::barrier, int calls = 1,
                         std::chrono::nanoseconds lead = shortest_lead);

}  // namespace independent
