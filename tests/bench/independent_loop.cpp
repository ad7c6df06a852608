// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "independent_loop.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace independent {

std::vector<std::string> collectives() {
  return {"MPI_Allreduce", "MPI_Allgather", "MPI_Reduce_scatter_block", "MPI_Bcast",
          "MPI_Alltoall"};
}

Shape shape_of(const std::string& collective, std::size_t bytes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const std::size_t whole = bytes / sizeof(float);
  const std::size_t block = whole / n;
  if (collective == "MPI_Allgather") return {block, block * n};
  if (collective == "MPI_Reduce_scatter_block") return {block * n, block};
  if (collective == "MPI_Alltoall") return {block * n, block * n};
  return {whole, whole};
}

double run(MPI_Comm comm, const std::string& collective, Shape shape, float* send, float* receive,
           const float* image) {
  const auto send_count = static_cast<int>(shape.send);
  const auto receive_count = static_cast<int>(shape.receive);
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  std::memcpy(send, image, shape.send * sizeof(float));
  // Every branch reads the clock itself, so that choosing the collective is not timed.
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin;
  Clock::time_point end;
  int code = MPI_SUCCESS;
  if (collective == "MPI_Allreduce") {
    MPI_Barrier(comm);
    begin = Clock::now();
    code = MPI_Allreduce(send, receive, send_count, MPI_FLOAT, MPI_SUM, comm);
    end = Clock::now();
  } else if (collective == "MPI_Allgather") {
    MPI_Barrier(comm);
    begin = Clock::now();
    code = MPI_Allgather(send, send_count, MPI_FLOAT, receive, send_count, MPI_FLOAT, comm);
    end = Clock::now();
  } else if (collective == "MPI_Reduce_scatter_block") {
    MPI_Barrier(comm);
    begin = Clock::now();
    code = MPI_Reduce_scatter_block(send, receive, receive_count, MPI_FLOAT, MPI_SUM, comm);
    end = Clock::now();
  } else if (collective == "MPI_Bcast") {
    MPI_Barrier(comm);
    begin = Clock::now();
    code = MPI_Bcast(send, send_count, MPI_FLOAT, 0, comm);
    end = Clock::now();
  } else {
    const int send_block = send_count / ranks;
    const int receive_block = receive_count / ranks;
    MPI_Barrier(comm);
    begin = Clock::now();
    code = MPI_Alltoall(send, send_block, MPI_FLOAT, receive, receive_block, MPI_FLOAT, comm);
    end = Clock::now();
  }
  if (code != MPI_SUCCESS) std::abort();
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

}  // namespace independent
