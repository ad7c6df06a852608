// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "independent_loop.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace independent {
namespace {

using Clock = std::chrono::steady_clock;

struct Begin {
  Start start;
  std::chrono::nanoseconds lead;
};

/// Returns when the run begins; a time that has passed where this rank came too late.
Clock::time_point await_start(MPI_Comm comm, const Begin& how) {
  if (how.start == Start::barrier) {
    MPI_Barrier(comm);
    return Clock::now();
  }
  MPI_Barrier(comm);
  std::int64_t at = (Clock::now() + how.lead).time_since_epoch() / std::chrono::nanoseconds(1);
  MPI_Bcast(&at, 1, MPI_INT64_T, 0, comm);
  const Clock::time_point begin{std::chrono::nanoseconds(at)};
  if (Clock::now() >= begin) return Clock::time_point::min();
  while (Clock::now() < begin) continue;
  return begin;
}

/// Inlined into each branch, so that choosing the collective is not timed.
template <class Call>
double timed(MPI_Comm comm, const Begin& how, int calls, std::span<const Buffers> buffers,
             const Call& call) {
  const Buffers* next = buffers.data();
  const Buffers* const end_of_buffers = next + buffers.size();
  const Clock::time_point begin = await_start(comm, how);
  int code = MPI_SUCCESS;
  for (int i = 0; i < calls && code == MPI_SUCCESS; ++i) {
    code = call(next->send, next->receive);
    if (++next == end_of_buffers) next = buffers.data();
  }
  const Clock::time_point end = Clock::now();
  if (code != MPI_SUCCESS) std::abort();
  if (begin == Clock::time_point::min()) return -1;
  return std::chrono::duration<double, std::nano>(end - begin).count() / calls;
}

}  // namespace

std::vector<std::string> collectives() {
  return {"MPI_Allreduce", "MPI_Allgather", "MPI_Reduce_scatter_block",
          "MPI_Bcast",     "MPI_Reduce",    "MPI_Alltoall",
          "MPI_Gather",    "MPI_Scatter"};
}

Shape shape_of(const std::string& collective, std::size_t bytes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t whole = bytes / sizeof(float);
  const std::size_t block = whole / n;
  if (collective == "MPI_Allgather" || collective == "MPI_Gather") return {block, block * n};
  if (collective == "MPI_Reduce_scatter_block" || collective == "MPI_Scatter")
    return {block * n, block};
  if (collective == "MPI_Alltoall") return {block * n, block * n};
  return {whole, whole};
}

double run(MPI_Comm comm, const std::string& collective, Shape shape,
           std::span<const Buffers> buffers, const float* image, Start start, int calls,
           std::chrono::nanoseconds lead) {
  const auto sent = static_cast<int>(shape.send);
  const auto received = static_cast<int>(shape.receive);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const bool has_input = rank == 0 || (collective != "MPI_Bcast" && collective != "MPI_Scatter");
  const std::size_t used = std::min(buffers.size(), static_cast<std::size_t>(calls));
  for (std::size_t i = 0; has_input && i < used; ++i)
    std::memcpy(buffers[i].send, image, shape.send * sizeof(float));
  const MPI_Datatype type = MPI_FLOAT;
  const Begin how{start, lead};
  if (collective == "MPI_Allreduce")
    return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
      return MPI_Allreduce(send, receive, sent, type, MPI_SUM, comm);
    });
  if (collective == "MPI_Allgather")
    return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
      return MPI_Allgather(send, sent, type, receive, sent, type, comm);
    });
  if (collective == "MPI_Reduce_scatter_block")
    return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
      return MPI_Reduce_scatter_block(send, receive, received, type, MPI_SUM, comm);
    });
  if (collective == "MPI_Bcast")
    return timed(comm, how, calls, buffers,
                 [&](float* send, float*) { return MPI_Bcast(send, sent, type, 0, comm); });
  if (collective == "MPI_Reduce")
    return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
      return MPI_Reduce(send, receive, sent, type, MPI_SUM, 0, comm);
    });
  if (collective == "MPI_Gather")
    return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
      return MPI_Gather(send, sent, type, receive, sent, type, 0, comm);
    });
  if (collective == "MPI_Scatter")
    return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
      return MPI_Scatter(send, received, type, receive, received, type, 0, comm);
    });
  const int block = sent / ranks;
  return timed(comm, how, calls, buffers, [&](float* send, float* receive) {
    return MPI_Alltoall(send, block, type, receive, block, type, comm);
  });
}

}  // namespace independent
