// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An ordinary MPI program that times collectives: MPI and nothing of colltune. One JSON object for
// each collective and size, with the median over runs of the MAX over ranks (baseline.py compares
// it with the agent's baseline).
//
//   mpirun -n 2 ordinary_program grown|fresh each|persistent SECONDS COLLECTIVE:BYTES:CALLS...
//
// CALLS follow each other back to back between two clock reads.
// each: every call comes with the next of several buffers, at least three and at least a megabyte
// in all. persistent: all calls come with the same buffers.
// grown: has freed something large before MPI_Init, as most programs have. fresh: has not.
// The first second of calls does not count: in it a machine that was idle is slower (baseline.md).
//
// "hand_over_ns" is how long a cache line takes from rank 0 to rank 1, before and after the calls
// of a cell: a hypervisor moves virtual cores between near and far ones, and short calls take two
// or three times as long there. null where ranks share cores, or are on several hosts.

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "independent_loop.h"

namespace {

constexpr int fewest_runs = 30;
constexpr int warm_up = 5;
constexpr double lead_in = 1;  // seconds, of a process
// After so many times the seconds that were asked for, and so many more, too few runs are an error.
constexpr double longest_factor = 20;
constexpr double longest_more = 30;
constexpr std::chrono::nanoseconds longest_lead = std::chrono::microseconds(200);

void grow_allocator() {
  constexpr std::size_t large = std::size_t{32} << 20;
  auto* volatile block = static_cast<char*>(std::malloc(large - 65536));
  std::memset(block, 1, large - 65536);
  std::free(block);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Cell {
  std::string collective;
  std::size_t bytes = 0;
  int calls = 0;
};

/// How runs begin: by the clock where each rank has a core. Where ranks share cores, hardly ever
/// all of them run at one point of the clock. (On one machine. MPI is not asked: what it allocated
/// for that would change the allocator.)
independent::Start choose_start() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return sysconf(_SC_NPROCESSORS_ONLN) < ranks ? independent::Start::barrier
                                               : independent::Start::clock;
}

/// Half a round trip of a cache line between ranks 0 and 1, in memory that neither MPI nor malloc
/// gave. All ranks make one together.
class HandOver {
 public:
  HandOver() {
    int ranks = 1;
    int opener = static_cast<int>(getpid());
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const bool is_defined = ranks > 1 && sysconf(_SC_NPROCESSORS_ONLN) >= ranks;
    MPI_Bcast(&opener, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const std::string name = "/ordinary_program." + std::to_string(opener);
    if (is_defined && rank_ == 0) map(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_defined && rank_ == 1) map(shm_open(name.c_str(), O_RDWR, 0600));
    int all = is_defined && (rank_ > 1 || word_ != nullptr) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank_ == 0) shm_unlink(name.c_str());
    if (all == 0) word_ = nullptr;
  }

  /// ns, the median of some batches. Empty where it is not defined, or a rank lost its core for
  /// longer than `longest`.
  std::optional<double> measure() {
    constexpr int batches = 9;
    constexpr int trips = 32;
    if (word_ == nullptr) return {};
    std::vector<double> found;
    for (int batch = 0; batch < batches; ++batch) {
      const auto begin = std::chrono::steady_clock::now();
      for (int trip = 0; trip < trips; ++trip)
        if (!(rank_ == 0 ? signal() && await() : await() && signal())) return {};
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      found.push_back(took.count() / (2 * trips));
    }
    return median(found);
  }

 private:
  static constexpr std::chrono::seconds longest{5};

  void map(int file) {
    if (file < 0) return;
    constexpr std::size_t line = 4096;
    void* const memory = ftruncate(file, line) != 0
                             ? MAP_FAILED
                             : mmap(nullptr, line, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) word_ = static_cast<std::atomic<unsigned>*>(memory);
  }
  bool signal() {
    word_->store(++value_, std::memory_order_release);
    return true;
  }
  bool await() {
    const auto begin = std::chrono::steady_clock::now();
    ++value_;
    for (unsigned look = 1; word_->load(std::memory_order_acquire) != value_; ++look)
      if (look % 65536 == 0 && std::chrono::steady_clock::now() - begin > longest) return false;
    return true;
  }

  int rank_ = 0;
  unsigned value_ = 0;
  std::atomic<unsigned>* word_ = nullptr;
};

std::string text_of(std::optional<double> nanoseconds) {
  if (!nanoseconds) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", *nanoseconds);
  return text;
}

void time_cell(const Cell& cell, independent::Start start, bool is_each, double seconds,
               double uncounted, HandOver& hand_over) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto shape = independent::shape_of(cell.collective, cell.bytes, ranks);
  // Kept to the end of the program: what it frees would change the allocator.
  const auto allocate = [](std::size_t count, float value) {
    auto* const made = static_cast<float*>(std::malloc(count * sizeof(float)));
    std::fill_n(made, count, value);
    return made;
  };
  const float* const image = allocate(shape.send, 1.0F);
  // Between the buffers of short messages lies what a program has there.
  constexpr std::size_t others = 2048;
  const std::size_t pairs =
      is_each ? std::max<std::size_t>(3, (std::size_t{1} << 20) / (2 * (cell.bytes + others))) : 1;
  std::vector<independent::Buffers> buffers;
  for (std::size_t i = 0; i < pairs; ++i) {
    buffers.push_back({allocate(shape.send, 1.0F), nullptr});
    if (is_each) (void)allocate(others / sizeof(float), 0);
    buffers.back().receive = allocate(shape.receive, 0);
    if (is_each) (void)allocate(others / sizeof(float), 0);
  }
  // The first ones again behind the last: what a run takes is in a row.
  for (int i = 0; i < cell.calls; ++i) buffers.push_back(buffers[static_cast<std::size_t>(i)]);
  std::size_t next = 0;

  std::vector<double> times;
  std::chrono::nanoseconds lead = independent::shortest_lead;
  const auto run = [&] {
    const auto taken =
        std::span(buffers).subspan(next, std::min(pairs, static_cast<std::size_t>(cell.calls)));
    next = (next + static_cast<std::size_t>(cell.calls)) % pairs;
    return independent::run(MPI_COMM_WORLD, cell.collective, shape, taken, image, start, cell.calls,
                            lead);
  };
  const auto before = hand_over.measure();
  for (int i = 0; i < warm_up; ++i) (void)run();
  const auto begin =
      std::chrono::steady_clock::now() + std::chrono::microseconds(std::llround(uncounted * 1e6));
  for (int goes_on = 1; goes_on != 0;) {
    const bool counts = std::chrono::steady_clock::now() >= begin;
    double own[2] = {run(), 0};
    own[1] = own[0] < 0 ? 1 : 0;
    double all[2];
    MPI_Allreduce(own, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (all[1] == 0 && counts) times.push_back(all[0]);
    // Where ranks come too late, they get more time; slowly less where they do not.
    lead = all[1] != 0 ? std::min(2 * lead, longest_lead)
                       : std::max(lead - lead / 16, independent::shortest_lead);
    const double spent =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    goes_on = spent < seconds || times.size() < fewest_runs ? 1 : 0;
    if (rank == 0 && times.size() < fewest_runs &&
        spent > longest_factor * seconds + longest_more) {
      std::fprintf(stderr, "ordinary_program: %s of %zu bytes: %zu of %d runs in %.0f s\n",
                   cell.collective.c_str(), cell.bytes, times.size(), fewest_runs, spent);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  const auto after = hand_over.measure();
  if (rank == 0)
    std::printf(
        "{\"collective\": \"%s\", \"bytes\": %zu, \"runs\": %zu, \"median_ns\": %.1f, "
        "\"hand_over_ns\": [%s, %s]}\n",
        cell.collective.c_str(), cell.bytes, times.size(), median(times), text_of(before).c_str(),
        text_of(after).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view allocator = argc > 4 ? argv[1] : "";
  const std::string_view calling = argc > 4 ? argv[2] : "";
  if ((allocator != "grown" && allocator != "fresh") ||
      (calling != "each" && calling != "persistent")) {
    std::fprintf(stderr,
                 "usage: ordinary_program grown|fresh each|persistent SECONDS "
                 "COLLECTIVE:BYTES:CALLS...\n");
    return 2;
  }
  const auto known = independent::collectives();
  std::vector<Cell> cells;
  for (int i = 4; i < argc; ++i) {
    const std::string text = argv[i];
    const auto colon = text.find(':');
    Cell cell{.collective = text.substr(0, colon)};
    if (colon != std::string::npos) {
      char* rest = nullptr;
      cell.bytes = std::strtoull(text.c_str() + colon + 1, &rest, 10);
      if (*rest == ':') cell.calls = std::atoi(rest + 1);
    }
    if (std::find(known.begin(), known.end(), cell.collective) == known.end() || cell.bytes == 0 ||
        cell.calls < 1) {
      std::fprintf(stderr, "ordinary_program: '%s' is no COLLECTIVE:BYTES:CALLS\n", argv[i]);
      return 2;
    }
    cells.push_back(std::move(cell));
  }
  if (allocator == "grown") grow_allocator();
  MPI_Init(&argc, &argv);
  const independent::Start start = choose_start();
  HandOver hand_over;
  for (const Cell& cell : cells)
    time_cell(cell, start, calling == "each", std::atof(argv[3]),
              &cell == cells.data() ? lead_in : 0, hand_over);
  MPI_Finalize();
  return 0;
}
