// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The public collectives, over MPI.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include "checked_calls.h"
#include "collectives_in_c.h"
#include "colltune/collectives/mpi.h"
#include "colltune/collectives_mpi.h"
#include "planted_table.h"

// A tool that intercepts what programs call.
namespace {
int seen_by_tools = 0;
}
extern "C" {
int MPI_Barrier(MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Barrier(comm);
}
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Allreduce(send, receive, count, type, op, comm);
}
int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Reduce_scatter_block(send, receive, count, type, op, comm);
}
int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Reduce(send, receive, count, type, op, root, comm);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Allgather(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Allgather(send, count, type, receive, receive_count, receive_type, comm);
}
int MPI_Allgatherv(const void* send, int count, MPI_Datatype type, void* receive, const int* counts,
                   const int* displacements, MPI_Datatype receive_type, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Allgatherv(send, count, type, receive, counts, displacements, receive_type, comm);
}
int MPI_Reduce_scatter(const void* send, void* receive, const int* counts, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Reduce_scatter(send, receive, counts, type, op, comm);
}
int MPI_Alltoall(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                 MPI_Datatype receive_type, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Alltoall(send, count, type, receive, receive_count, receive_type, comm);
}
int MPI_Gather(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
               MPI_Datatype receive_type, int root, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Gather(send, count, type, receive, receive_count, receive_type, root, comm);
}
int MPI_Scatter(const void* send, int count, MPI_Datatype type, void* receive, int receive_count,
                MPI_Datatype receive_type, int root, MPI_Comm comm) {
  ++seen_by_tools;
  return PMPI_Scatter(send, count, type, receive, receive_count, receive_type, root, comm);
}
}

namespace colltune {
namespace {

using test::all_calls;
using test::WantedCall;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int rank_in_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Rank 0's table file; it alone can read it.
class TableOnDisk {
 public:
  /// `mpi_library`: that it says to be measured with; empty: none.
  explicit TableOnDisk(const std::string& mpi_library = {}) {
    if (rank_in_world() != 0) return;
    path_ = std::filesystem::temp_directory_path() /
            ("colltune_over_mpi_" + std::to_string(::getpid()) + ".ctt");
    // Launchers bind ranks to cores: this one's say nothing of the others'.
    static std::map<std::string, std::string> contents;
    std::string& content = contents[mpi_library];
    if (content.empty())
      content = test::planted_table(
          1,
          std::array{test::PlantedWorld{
              .nodes = 1, .ranks_per_node = world_size(), .in_both_placements = true}},
          test::PlantedCalls{.all_types = false, .persistent = true, .mpi_library = mpi_library});
    std::ofstream(path_, std::ios::binary) << content;
  }
  TableOnDisk(const TableOnDisk&) = delete;
  TableOnDisk& operator=(const TableOnDisk&) = delete;
  ~TableOnDisk() {
    if (!path_.empty()) std::filesystem::remove(path_);
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_ = "/nowhere";
};

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
}

void sum_once(Collectives& collectives) {
  const std::array<float, 6> own{2, 2, 2, 2, 2, 2};
  std::array<float, 6> all{};
  collectives.all_reduce(own.data(), all.data(), own.size(), DataType::f32, ReduceOp::sum);
  EXPECT_THAT(all, Each(2.0F * static_cast<float>(collectives.size())));
}

TEST(OverMpi, TheLibraryGivesTheReferencesResults) {
  Collectives collectives = make_collectives(MPI_COMM_WORLD);
  EXPECT_EQ(collectives.rank(), rank_in_world());
  EXPECT_EQ(collectives.size(), world_size());
  const std::vector<WantedCall> asked = all_calls(world_size());
  expect_all(collectives, asked);
  if (world_size() > 1) {
    EXPECT_THAT(collectives.report(), HasSubstr("0 calls on 1"));
  }
  std::vector<WantedCall> some;
  for (const WantedCall& one : asked)
    if (one.call.count == 600 || (one.call.count == 37 && (one.call.data_type == DataType::bf16 ||
                                                           one.call.data_type == DataType::i32)))
      some.push_back(one);
  EXPECT_EQ(expect_all_persistent(collectives, some), 0);
  EXPECT_EQ(expect_all_persistent(collectives, test::of_unequal_counts(asked)), 0);
}

TEST(OverMpi, WinnersGiveTheReferencesResults) {
  const TableOnDisk table;
  Collectives collectives =
      make_collectives(MPI_COMM_WORLD, {.table = table.path(), .numerics = ProgramNumerics::any});
  const std::vector<WantedCall> asked = all_calls(world_size());
  expect_all(collectives, asked);
  if (world_size() > 1) {
    EXPECT_THAT(collectives.report(), HasSubstr(" less  cpu."));
  }
  std::vector<WantedCall> floats;
  for (const WantedCall& one : asked)
    if (one.call.data_type == DataType::f32) floats.push_back(one);
  const int ours = expect_all_persistent(collectives, floats);
  EXPECT_EQ(ours > static_cast<int>(floats.size()) / 4, world_size() > 1);
  std::vector<SymmetricBuffer> memory;
  const int registered =
      expect_all_persistent(collectives, std::span(floats).first(12), [&](std::size_t bytes) {
        if (bytes == 0) return std::span<std::byte>();
        memory.push_back(collectives.allocate({bytes}));
        return memory.back().bytes();
      });
  EXPECT_EQ(registered > 0, world_size() > 1);
}

TEST(OverMpi, MapsSymmetricMemoryOfAllRanks) {
  Collectives collectives = make_collectives(MPI_COMM_WORLD);
  const SymmetricBuffer memory = collectives.allocate({sizeof(int)});
  *reinterpret_cast<int*>(memory.bytes().data()) = rank_in_world() + 1;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int rank = 0; rank < world_size(); ++rank)
    EXPECT_EQ(*reinterpret_cast<int*>(memory.part(rank).data()), rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(OverMpi, ReducesOverAMesh) {
  if (world_size() != 4) return;
  const TableOnDisk table;
  Collectives collectives = make_collectives(MPI_COMM_WORLD, {.table = table.path()});
  int ours = 0;
  for (const char* const steps : {"0:sum,1:sum", "1:sum,0:sum"})
    for (const std::uint64_t bytes : test::planted_mesh_sizes)
      for (const bool in_place : {false, true}) {
        std::vector<float> own(bytes / sizeof(float));
        std::vector<float> other(own.size());
        std::vector<float>& sum = in_place ? own : other;
        PersistentCall call =
            collectives.prepare(MeshReductionCall{.mesh = parse_mesh("2x2", steps),
                                                  .data_type = DataType::f32,
                                                  .count = own.size(),
                                                  .send = own.data(),
                                                  .receive = sum.data()});
        ours += call.variant().empty() ? 0 : 1;
        for (int turn = 1; turn <= 3; ++turn) {
          std::ranges::fill(own, static_cast<float>(turn * (rank_in_world() + 1)));
          call.start();
          call.wait();
          EXPECT_THAT(sum, Each(static_cast<float>(turn * 10)));
        }
      }
  EXPECT_EQ(ours, 8) << "of the order of steps that the table has";
}

/// The parts of the table's forms that are the library's run by its profiling names.
TEST(OverMpi, ReducesOverAMeshByTheLibrarysParts) {
  if (world_size() != 4) return;
  const TableOnDisk table;
  for (const ProgramNumerics numerics : {ProgramNumerics::same_bits, ProgramNumerics::any}) {
    Collectives collectives =
        make_collectives(MPI_COMM_WORLD, {.table = table.path(), .numerics = numerics});
    MeshReductionCall call{.mesh = parse_mesh("2x2", "0:sum,1:sum")};
    seen_by_tools = 0;
    for (int turn = 1; turn <= 4; ++turn)
      for (const std::uint64_t bytes : test::planted_mixed_sizes) {
        const bool in_place = turn % 2 == 0;
        std::vector<float> own(bytes / sizeof(float),
                               static_cast<float>(turn * (rank_in_world() + 1)));
        std::vector<float> other(in_place ? 0 : own.size());
        std::vector<float>& sum = in_place ? own : other;
        call.count = own.size();
        call.send = own.data();
        call.receive = sum.data();
        collectives.mesh_reduce(call);
        EXPECT_EQ(std::ranges::count(sum, static_cast<float>(turn * 10)), std::ssize(sum));
        if (in_place) std::ranges::fill(sum, static_cast<float>(rank_in_world() + 1));
        PersistentCall persistent = collectives.prepare(call);
        EXPECT_EQ(!persistent.variant().empty(),
                  numerics == ProgramNumerics::any || bytes == test::planted_mixed_sizes[0])
            << persistent.variant();
        if (!in_place) std::ranges::fill(own, static_cast<float>(rank_in_world() + 1));
        persistent.start();
        persistent.wait();
        EXPECT_EQ(std::ranges::count(sum, 10.0F), std::ssize(sum));
      }
    EXPECT_EQ(seen_by_tools, 0);
    // With three ranks or more the library promises no order of adding.
    EXPECT_EQ(collectives.report().find("it does not guarantee same_bits") != std::string::npos,
              numerics == ProgramNumerics::same_bits);
  }
}

TEST(OverMpi, MakesSingleMeshReductions) {
  if (world_size() == 1) return;
  const TableOnDisk table;
  Collectives collectives = make_collectives(MPI_COMM_WORLD, {.table = table.path()});
  const std::string shape = world_size() == 4 ? "2x2" : "1x" + std::to_string(world_size());
  for (const char* const steps : {"0:sum,1:sum", "1:sum,0:sum"}) {
    MeshReductionCall call{.mesh = parse_mesh(shape, steps)};
    for (int turn = 1; turn <= 12; ++turn) {
      const std::uint64_t bytes = test::planted_mesh_sizes[static_cast<std::size_t>(turn) % 4];
      const bool in_place = turn % 3 == 0;
      std::vector<float> own(bytes / sizeof(float),
                             static_cast<float>(turn * (rank_in_world() + 1)));
      std::vector<float> other(in_place ? 0 : own.size());
      std::vector<float>& sum = in_place ? own : other;
      call.count = own.size();
      call.send = own.data();
      call.receive = sum.data();
      collectives.mesh_reduce(call);
      EXPECT_THAT(sum, Each(static_cast<float>(turn * world_size() * (world_size() + 1) / 2)));
    }
  }
  EXPECT_EQ(collectives.report().find("hierarchical.mesh_reduce{") != std::string::npos,
            world_size() == 4);
  // Ranks that ask for other meshes are all told.
  std::array<float, 4> own{};
  std::array<float, 4> all{};
  EXPECT_THAT(failure_of([&] {
                collectives.mesh_reduce({parse_mesh(std::to_string(world_size()),
                                                    rank_in_world() == 0 ? "0:max" : "0:min"),
                                         DataType::f32, 4, own.data(), all.data()});
              }),
              StartsWith("3: the ranks ask for different mesh reductions"));
  sum_once(collectives);
}

TEST(OverMpi, RunsInC) {
  const TableOnDisk table;
  const std::string path = table.path();
  colltune_collectives_options options{};
  options.struct_size = sizeof options;
  options.table = path.c_str();
  colltune_error error{};
  error.struct_size = sizeof error;
  colltune_collectives* collectives = nullptr;
  ASSERT_EQ(colltune_collectives_of_mpi(MPI_COMM_WORLD, &options, &collectives, &error), 0)
      << error.message;
  EXPECT_STREQ(misuse_collectives_in_c(collectives), nullptr);
  EXPECT_STREQ(use_collectives_in_c(collectives), nullptr);
  colltune_collectives_free(collectives);
  // One rank's mistake is an error of all.
  options.numerics = rank_in_world() == 0 ? "mine" : "any";
  EXPECT_EQ(colltune_collectives_of_mpi(MPI_COMM_WORLD, &options, &collectives, &error), 3);
  EXPECT_THAT(error.message, AllOf(StartsWith("rank 0: "), HasSubstr("rank_order")));
  options.numerics = nullptr;
  colltune_collectives** const place = rank_in_world() == 0 ? nullptr : &collectives;
  EXPECT_EQ(colltune_collectives_of_mpi(MPI_COMM_WORLD, &options, place, &error), 3);
  EXPECT_THAT(error.message, HasSubstr("rank 0: there is no place for the collectives"));
}

/// Keeps the program's communicator as it was: of an error MPI still calls its handler.
int errors_handled = 0;
void handle(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++errors_handled; }

TEST(OverMpi, LeavesTheProgramsCommunicatorAlone) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler of_world = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &of_world);
  EXPECT_EQ(of_world, MPI_ERRORS_ARE_FATAL);
  {
    Collectives collectives = make_collectives(comm);
    sum_once(collectives);
    MPI_Bcast(nullptr, 1, MPI_INT, -1, comm);
    EXPECT_EQ(errors_handled, 1);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &of_world);
    EXPECT_EQ(of_world, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
    sum_once(collectives);  // with a communicator of its own
  }
  MPI_Errhandler_free(&handler);
}

TEST(OverMpi, IsSeenByNoToolThatInterceptsMpi) {
  seen_by_tools = 0;
  Collectives collectives = make_collectives(MPI_COMM_WORLD);
  expect_all(collectives, all_calls(world_size(), false));
  const SymmetricBuffer memory = collectives.allocate({8});
  EXPECT_EQ(seen_by_tools, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(seen_by_tools, 1);
}

TEST(OverMpi, WorksOnPartsOfTheWorldAtATime) {
  const TableOnDisk table;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_in_world() % 2, -rank_in_world(), &half);
  {
    Collectives all = make_collectives(MPI_COMM_WORLD, {.table = table.path()});
    Collectives part = make_collectives(half);
    for (int turn = 0; turn < 3; ++turn) {
      sum_once(all);
      sum_once(part);
    }
    PersistentCall in_all =
        all.prepare({.collective = Collective::broadcast, .count = 1, .receive = &errors_handled});
    sum_once(part);
    in_all.start();
    sum_once(part);
    in_all.wait();
  }
  MPI_Comm_free(&half);
}

TEST(OverMpi, RefusesCommunicatorsThatItCannotUse) {
  EXPECT_EQ(failure_of([] { (void)make_collectives(MPI_COMM_NULL); }),
            "3: the communicator is MPI_COMM_NULL");
  if (world_size() < 2) return;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  const bool is_first = rank_in_world() == 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_first ? 0 : 1, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_first ? 1 : 0, 7, &between);
  EXPECT_THAT(failure_of([&] { (void)make_collectives(between); }),
              AllOf(StartsWith("3: "), HasSubstr("intercommunicator")));
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

TEST(OverMpi, FailsOnAllRanksIfTheTableCannotBeUsed) {
  EXPECT_THAT(failure_of([] { (void)make_collectives(MPI_COMM_WORLD, {.table = "/nowhere.ctt"}); }),
              AllOf(StartsWith("9: "), HasSubstr("/nowhere.ctt")));
  const TableOnDisk table;
  EXPECT_THAT(failure_of([&] {
                (void)make_collectives(MPI_COMM_WORLD,
                                       {.table = table.path(), .table_digest = "00ff"});
              }),
              AllOf(StartsWith("9: "), HasSubstr("00ff")));
}

TEST(OverMpi, RefusesATableOfAnotherMpiLibrary) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> running{};
  int length = 0;
  MPI_Get_library_version(running.data(), &length);
  const bool is_mpich = std::string_view(running.data()).starts_with("MPICH");
  const std::string own_name = is_mpich ? "MPICH" : "Open MPI";
  const std::string other_name = is_mpich ? "Open MPI" : "MPICH";
  {
    const TableOnDisk foreign(is_mpich ? "Open MPI v4.1.4" : "MPICH Version: 4.0.2");
    EXPECT_THAT(
        failure_of([&] { (void)make_collectives(MPI_COMM_WORLD, {.table = foreign.path()}); }),
        AllOf(StartsWith("9: "), HasSubstr("was measured with " + other_name),
              HasSubstr("this program runs " + own_name)));
  }
  const TableOnDisk own(is_mpich ? "MPICH Version: 3.4" : "Open MPI v4.0.1");
  Collectives collectives = make_collectives(MPI_COMM_WORLD, {.table = own.path()});
  sum_once(collectives);
}

TEST(OverMpi, NamesRanksWithOtherOptions) {
  const int last = world_size() - 1;
  const auto make = [&] {
    (void)make_collectives(MPI_COMM_WORLD,
                           {.memory = parse_bytes(rank_in_world() == last ? "1MiB" : "2MiB")});
  };
  if (last == 0)
    EXPECT_EQ(failure_of(make), "");
  else
    EXPECT_THAT(failure_of(make),
                AllOf(StartsWith("9: build, memory and numerics of rank " + std::to_string(last)),
                      HasSubstr(" 1048576 "), HasSubstr(" 2097152 ")));
  // A rank whose environment has no such value does not leave the others waiting.
  if (rank_in_world() == last) ::setenv("COLLTUNE_NUMERICS", "mine", 1);
  EXPECT_THAT(failure_of([] { (void)make_collectives(MPI_COMM_WORLD); }),
              AllOf(StartsWith("3: rank " + std::to_string(last) + ": COLLTUNE_NUMERICS=mine")));
  ::unsetenv("COLLTUNE_NUMERICS");
}

TEST(OverMpi, KeepsToTheLimitOfMemoryAndGoesOn) {
  if (world_size() != 2) return;  // the winner that the table has for two ranks
  const TableOnDisk table;
  Collectives collectives =
      make_collectives(MPI_COMM_WORLD, {.table = table.path(), .memory = Bytes{16384}});
  for (std::size_t block = 12; block <= 786432; block *= 4) {
    const std::vector<std::byte> send(block, std::byte(rank_in_world() + 1));
    std::vector<std::byte> receive(2 * block);
    collectives.all_gather(send.data(), receive.data(), block, DataType::u8);
    EXPECT_EQ(receive.front(), std::byte{1});
    EXPECT_EQ(receive.back(), std::byte{2});
  }
  EXPECT_THAT(collectives.report(), AllOf(HasSubstr("not run on 1 communicator(s): cpu.all_gather"),
                                          HasSubstr("the limit of 16KiB")));
  EXPECT_THAT(failure_of([&] { (void)collectives.allocate({1 << 20}); }),
              AllOf(StartsWith("8: "), HasSubstr("the limit of 16KiB")));
  sum_once(collectives);
}

TEST(OverMpi, TellsRanksThatWaitThatOneHasFailed) {
  if (world_size() < 2) return;
  const TableOnDisk table;
  Collectives collectives =
      make_collectives(MPI_COMM_WORLD, {.table = table.path(), .numerics = ProgramNumerics::any});
  sum_once(collectives);
  std::array<float, 6> own{};
  std::array<float, 6> all{};
  float* const to = rank_in_world() == world_size() - 1 ? nullptr : all.data();
  const std::string failure = failure_of(
      [&] { collectives.all_reduce(own.data(), to, own.size(), DataType::f32, ReduceOp::sum); });
  if (to == nullptr)
    EXPECT_THAT(failure, AllOf(StartsWith("3: "), HasSubstr("needs a buffer to receive 24 bytes")));
  else
    EXPECT_THAT(failure, AllOf(StartsWith("10: rank "), HasSubstr("makes no further calls")));
  EXPECT_THAT(failure_of([&] { sum_once(collectives); }), StartsWith("9: "));
}

TEST(OverMpi, RefusesBlocksBeyondTheLibrarysCounts) {
  if (world_size() == 1) return;  // copies
  Collectives collectives = make_collectives(MPI_COMM_WORLD);
  std::byte* const never_read = reinterpret_cast<std::byte*>(1UL << 20U);
  const auto too_many = static_cast<std::size_t>(std::numeric_limits<int>::max()) + 1;
  EXPECT_THAT(failure_of([&] { collectives.broadcast(never_read, too_many, DataType::u8, 0); }),
              AllOf(StartsWith("3: "), HasSubstr("takes at most 2147483647")));
  // Where counts are unequal MPI counts from the start of the message.
  std::vector<std::size_t> counts(static_cast<std::size_t>(world_size()), 1);
  counts.back() = too_many - 1;
  EXPECT_THAT(failure_of([&] {
                (void)collectives.prepare({.collective = Collective::all_gather,
                                           .send = never_read,
                                           .receive = never_read + (std::size_t{1} << 33U),
                                           .counts = counts});
              }),
              AllOf(StartsWith("3: "), HasSubstr("blocks together of "),
                    HasSubstr("takes at most 2147483647")));
  counts.pop_back();
  EXPECT_THAT(failure_of([&] {
                collectives.all_gather(never_read, never_read + (std::size_t{1} << 33U), counts,
                                       DataType::u8);
              }),
              AllOf(StartsWith("3: "), HasSubstr("it needs one for each of the")));
  sum_once(collectives);
}

TEST(OverMpi, LetsTheLibraryGoOnWhileARankWaits) {
  if (world_size() < 2) return;
  const TableOnDisk table;
  Collectives collectives =
      make_collectives(MPI_COMM_WORLD, {.table = table.path(), .numerics = ProgramNumerics::any});
  sum_once(collectives);
  // Too large to go without its sender's help; rank 1 comes to the sum after it has it.
  std::vector<char> message(std::size_t{8} << 20U);
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank_in_world() == 0)
    MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_CHAR, 1, 0, MPI_COMM_WORLD,
              &request);
  if (rank_in_world() == 1)
    MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  sum_once(collectives);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace
}  // namespace colltune
