// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An MPI program that knows nothing of colltune, at the edges of what a program may do (and one
// step beyond).
//
//   mpirun -n 2 edge_program WHAT [NUMBER]
//   mpirun -n 2 edge_program spawn COMMAND..., which runs `edge_program spawned`

#include <dirent.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int ranks = 1;

[[noreturn]] void fail(const char* what) {
  std::printf("rank %d: %s\n", rank, what);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// A sum over all ranks, of `count` floats.
void sum(MPI_Comm comm, int count, int salt = 0) {
  int size = 1;
  int own = 0;
  MPI_Comm_size(comm, &size);
  MPI_Comm_rank(comm, &own);
  std::vector<float> send(static_cast<std::size_t>(count), static_cast<float>(own + salt));
  std::vector<float> receive(send.size());
  MPI_Allreduce(send.data(), receive.data(), count, MPI_FLOAT, MPI_SUM, comm);
  const auto expected = static_cast<float>(size * (size - 1) / 2 + size * salt);
  if (receive.front() != expected || receive.back() != expected) fail("a sum is wrong");
}

/// Whether this process has mapped a file of that name.
bool has_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

/// Until what runs kernels is loaded on rank 0, and some more; for so long at most.
void sums_until_loaded(int milliseconds) {
  const double end = MPI_Wtime() + milliseconds / 1e3;
  int left = 100;
  double next_look = MPI_Wtime();
  for (int goes_on = 1; goes_on != 0;) {
    sum(MPI_COMM_WORLD, 256);
    if (left == 100 && MPI_Wtime() > next_look) {
      next_look = MPI_Wtime() + 0.02;
      if (has_mapped("/libcolltune_bridge.so")) --left;
    } else if (left < 100) {
      --left;
    }
    goes_on = left > 0 && MPI_Wtime() < end ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

void sums(MPI_Comm comm, int times) {
  for (int i = 0; i < times; ++i) sum(comm, 16 << (i % 8), i);
}

/// The others can come only when this rank's message has gone on its way.
void progress() {
  std::vector<int> message(4 << 20, 7);
  for (int i = 0; i < 10; ++i) {
    if (rank == 0) {
      MPI_Request request;
      MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_INT, 1, 1, MPI_COMM_WORLD,
                &request);
      sum(MPI_COMM_WORLD, 64);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      if (rank == 1)
        MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_INT, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      sum(MPI_COMM_WORLD, 64);
    }
  }
}

/// The last rank stops for `seconds` in the middle of others' calls.
void stopped(int seconds) {
  if (rank == ranks - 1) {
    const pid_t own = ::getpid();
    if (const pid_t child = ::fork(); child == 0) {
      ::sleep(static_cast<unsigned>(seconds));
      ::kill(own, SIGCONT);
      ::_exit(0);
    }
    ::raise(SIGSTOP);
  }
  sums(MPI_COMM_WORLD, 20);
}

/// The last rank comes late to calls of which all are timed. The first rank says how long it was in
/// those to which it came late, and in all that can be timed.
void late() {
  double late_calls = 0;
  double all_calls = 0;
  for (int i = 0; i < 8; ++i) {
    int told = 0;
    if (i > 2 && rank == 0) MPI_Send(&told, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD);
    if (i > 2 && rank == ranks - 1) {
      MPI_Recv(&told, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ::usleep(50'000);
    }
    const double begun = MPI_Wtime();
    sum(MPI_COMM_WORLD, 16);
    const double took = MPI_Wtime() - begun;
    if (i > 2) late_calls += took;
    if (i > 1) all_calls += took;
  }
  if (rank == 0) std::printf("late %.3f all %.3f\n", late_calls * 1e3, all_calls * 1e3);
}

/// A sum of 64 unsigned numbers, of which planted tables have none: it is left to the library.
void left_sum() {
  std::vector<std::uint64_t> send(64, static_cast<std::uint64_t>(rank));
  std::vector<std::uint64_t> receive(send.size());
  MPI_Allreduce(send.data(), receive.data(), 64, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const auto expected = static_cast<std::uint64_t>(ranks * (ranks - 1) / 2);
  if (receive.front() != expected || receive.back() != expected) fail("a sum is wrong");
}

/// Calls that are left to the library and repeated, others among them; then one rank makes another
/// call than the others, which MPI forbids.
void mismatch_of_left() {
  for (int i = 0; i < 1000; ++i) {
    left_sum();
    if (i % 3 == 0) sum(MPI_COMM_WORLD, 1024, i);
    if (i % 5 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0)
    sum(MPI_COMM_WORLD, 1024);
  else
    left_sum();
}

/// The ranks make unlike calls, which MPI forbids.
void mismatch() {
  std::vector<float> send(1024);
  std::vector<float> receive(send.size() * static_cast<std::size_t>(ranks));
  const auto gather = [&] {
    MPI_Allgather(send.data(), 1024, MPI_FLOAT, receive.data(), 1024, MPI_FLOAT, MPI_COMM_WORLD);
  };
  gather();
  sum(MPI_COMM_WORLD, 1024);
  if (rank == 0)
    gather();
  else
    sum(MPI_COMM_WORLD, 1024);
}

long pages() {
  std::ifstream file("/proc/self/statm");
  long all = 0;
  long resident = 0;
  file >> all >> resident;
  return resident;
}
int descriptors() {
  int count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

/// Many communicators, made and freed: most with too few calls to be set up, some used.
void communicators(int number) {
  long pages_before = 0;
  int descriptors_before = 0;
  for (int i = 0; i < number; ++i) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    sums(made, i % 10 == 0 ? 6 : 1);
    MPI_Comm_free(&made);
    if (i == number / 4) {
      pages_before = pages();
      descriptors_before = descriptors();
    }
  }
  if (descriptors() > descriptors_before + 4) fail("descriptors were left open");
  if (const long more = pages() - pages_before; more > 8192) {
    std::printf("%ld pages more after %d communicators\n", more, number - number / 4);
    fail("memory grew");
  }
}

/// A child process that touches nothing, and one that runs another program.
void children() {
  sums(MPI_COMM_WORLD, 10);
  for (const bool runs : {false, true}) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (runs) ::execl("/bin/true", "true", static_cast<char*>(nullptr));
      ::_exit(0);
    }
    sums(MPI_COMM_WORLD, 10);
    int status = -1;
    if (::waitpid(child, &status, 0) != child || status != 0)
      fail("a child process did not end well");
  }
}

/// Two threads with a communicator each.
void threads() {
  MPI_Comm comms[2];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  {
    std::jthread other([&] { sums(comms[1], 3000); });
    sums(comms[0], 3000);
  }
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

/// The library's errors are still its own: this one is returned, not fatal.
void errors() {
  sums(MPI_COMM_WORLD, 10);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  float value = 0;
  if (MPI_Allreduce(&value, &value, -1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS ||
      MPI_Bcast(&value, 1, MPI_FLOAT, ranks, MPI_COMM_WORLD) == MPI_SUCCESS)
    fail("a wrong argument was taken");
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  if (handler != MPI_ERRORS_RETURN) fail("the error handler is another one");
  sums(MPI_COMM_WORLD, 10);
}

/// With the processes at the other side of an intercommunicator.
void sums_across(MPI_Comm other, bool is_child) {
  int theirs = 0;
  MPI_Comm_remote_size(other, &theirs);
  for (int i = 0; i < 20; ++i) {
    const float own = 1;
    float sum_of_theirs = 0;
    MPI_Allreduce(&own, &sum_of_theirs, 1, MPI_FLOAT, MPI_SUM, other);
    if (sum_of_theirs != static_cast<float>(theirs)) fail("a sum of the other side is wrong");
  }
  MPI_Comm all;
  MPI_Intercomm_merge(other, is_child ? 1 : 0, &all);
  sums(all, 40);
  MPI_Comm_free(&all);
  sums(MPI_COMM_WORLD, 10);
  MPI_Comm_disconnect(&other);
}

/// Starts two processes of `command`, which is to run this program as `spawned`.
void spawn(char** command) {
  MPI_Comm children;
  MPI_Comm_spawn(command[0], command + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  sums_across(children, false);
}

void spawned() {
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) fail("nobody has spawned this process");
  sums_across(parent, true);
}

/// Makes Open MPI look at all of its components. (Behind MPI_Finalize 4.1.4 frees twice at its
/// end.)
void tool_session() {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
      MPI_T_finalize() != MPI_SUCCESS)
    fail("a session of MPI's tools failed");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  int provided = 0;
  if (what == "tool") tool_session();
  MPI_Init_thread(&argc, &argv, what == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (what == "late") late();  // of its first calls all are timed
  sums(MPI_COMM_WORLD, what == "late" ? 0 : 10);
  if (what == "until_loaded") sums_until_loaded(number);
  if (what == "progress") progress();
  if (what == "stopped") stopped(number);
  if (what == "killed") {
    if (rank == ranks - 1) ::raise(SIGKILL);
    sums(MPI_COMM_WORLD, 20);
  }
  if (what == "mismatch") mismatch();
  if (what == "mismatch_of_left") mismatch_of_left();
  if (what == "communicators") communicators(number);
  if (what == "children") children();
  if (what == "threads" && provided == MPI_THREAD_MULTIPLE) threads();
  if (what == "errors") errors();
  if (what == "spawn") spawn(argv + 2);
  if (what == "spawned") spawned();
  if (rank == 0) std::printf("%s: right\n", what.c_str());
  MPI_Finalize();
  return 0;
}
