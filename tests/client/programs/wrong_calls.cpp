// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An MPI program that makes wrong calls, on all ranks alike, and prints on rank 0 the class of the
// error that each returned.
//
//   mpirun -n 2 wrong_calls [without-counts] [with-aliases]
//
// Without negative counts, and types that are not committed, where MPI does not look at them. With
// one buffer for both sides of all collectives where MPI looks for that: of these it prints all
// ranks' errors, since each has another block.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

int rank = 0;

void say(const char* what, int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error_class, text, &length);
  if (rank == 0) std::printf("%s: %d %s\n", what, error_class, text);
  std::fflush(stdout);
}

/// By messages alone.
void say_of_all(const char* what, int code) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank != 0) MPI_Send(&code, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  for (int other = 0; rank == 0 && other < ranks; ++other) {
    int got = code;
    if (other != 0) MPI_Recv(&got, 1, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(got, &error_class);
    std::printf("%s on rank %d: %d\n", what, other, error_class);
  }
  std::fflush(stdout);
}

/// Each rank's block of `all` has one element more than the one before, and lies behind a gap.
void send_from_own_blocks(float* all, int ranks) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::vector<int> counts;
  std::vector<int> displacements;
  for (int other = 0; other < ranks; ++other) {
    counts.push_back(3 + other);
    displacements.push_back(2 + 20 * other);
  }
  const auto own = static_cast<std::size_t>(rank);
  say_of_all("allgatherv alias",
             MPI_Allgatherv(all + displacements[own], counts[own], MPI_FLOAT, all, counts.data(),
                            displacements.data(), MPI_FLOAT, comm));
  say_of_all("allgather alias",
             MPI_Allgather(all + 4 * rank, 4, MPI_FLOAT, all, 4, MPI_FLOAT, comm));
  say_of_all("alltoall alias", MPI_Alltoall(all, 4, MPI_FLOAT, all, 4, MPI_FLOAT, comm));
  say_of_all("reduce_scatter_block alias",
             MPI_Reduce_scatter_block(all, all, 4, MPI_FLOAT, MPI_SUM, comm));
  counts.back() = 0;
  say_of_all("reduce_scatter alias",
             MPI_Reduce_scatter(all, all, counts.data(), MPI_FLOAT, MPI_SUM, comm));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto is_given = [&](const char* what) {
    return std::any_of(argv + 1, argv + argc,
                       [&](const char* word) { return std::string(word) == what; });
  };
  const bool counts = !is_given("without-counts");
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::vector<float> from(1024, 1.0F);
  std::vector<float> to(1024 * static_cast<std::size_t>(ranks));
  for (int i = 0; i < 10; ++i) MPI_Allreduce(from.data(), to.data(), 64, MPI_FLOAT, MPI_SUM, comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  float* const a = from.data();
  float* const b = to.data();

  if (counts) say("allreduce count", MPI_Allreduce(a, b, -1, MPI_FLOAT, MPI_SUM, comm));
  say("allreduce type", MPI_Allreduce(a, b, 4, MPI_DATATYPE_NULL, MPI_SUM, comm));
  say("allreduce op", MPI_Allreduce(a, b, 4, MPI_FLOAT, MPI_OP_NULL, comm));
  say("allreduce comm", MPI_Allreduce(a, b, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_NULL));
  say("allreduce op of floats", MPI_Allreduce(a, b, 4, MPI_FLOAT, MPI_BAND, comm));
  say("allreduce in place of receive", MPI_Allreduce(a, MPI_IN_PLACE, 4, MPI_FLOAT, MPI_SUM, comm));
  say("reduce root", MPI_Reduce(a, b, 4, MPI_FLOAT, MPI_SUM, -1, comm));
  say("reduce root", MPI_Reduce(a, b, 4, MPI_FLOAT, MPI_SUM, ranks, comm));
  if (counts)
    say("reduce_scatter_block count", MPI_Reduce_scatter_block(a, b, -1, MPI_FLOAT, MPI_SUM, comm));
  if (counts) say("bcast count", MPI_Bcast(a, -1, MPI_FLOAT, 0, comm));
  say("bcast root", MPI_Bcast(a, 4, MPI_FLOAT, ranks, comm));
  say("bcast type", MPI_Bcast(a, 4, MPI_DATATYPE_NULL, 0, comm));
  if (counts) say("allgather count", MPI_Allgather(a, 4, MPI_FLOAT, b, -1, MPI_FLOAT, comm));
  say("allgather type", MPI_Allgather(a, 4, MPI_FLOAT, b, 4, MPI_DATATYPE_NULL, comm));
  if (counts) say("alltoall count", MPI_Alltoall(a, -1, MPI_FLOAT, b, 4, MPI_FLOAT, comm));
  say("gather root", MPI_Gather(a, 4, MPI_FLOAT, b, 4, MPI_FLOAT, ranks, comm));
  if (counts) say("gather count", MPI_Gather(a, -4, MPI_FLOAT, b, -4, MPI_FLOAT, 0, comm));
  say("scatter root", MPI_Scatter(b, 4, MPI_FLOAT, a, 4, MPI_FLOAT, -2, comm));
  if (counts) say("scatter count", MPI_Scatter(b, -4, MPI_FLOAT, a, -4, MPI_FLOAT, 0, comm));
  MPI_Datatype strided = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 2, MPI_FLOAT, &strided);
  if (counts) say("bcast uncommitted", MPI_Bcast(a, 4, strided, 0, comm));
  MPI_Type_free(&strided);

  // Of as many elements as the calls above, which kernels may run.
  say_of_all("allreduce alias", MPI_Allreduce(b, b, 64, MPI_FLOAT, MPI_SUM, comm));
  if (is_given("with-aliases")) send_from_own_blocks(b, ranks);

  // What follows is right again.
  const int code = MPI_Allreduce(MPI_IN_PLACE, a, 64, MPI_FLOAT, MPI_SUM, comm);
  if (rank == 0) std::printf("sum %s\n", code == MPI_SUCCESS && a[63] == ranks ? "right" : "wrong");
  MPI_Finalize();
  return 0;
}
