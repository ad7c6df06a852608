// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "bridge.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "colltune/collectives/meanwhile.h"
#include "colltune/collectives/program_settings.h"
#include "colltune/collectives/report.h"
#include "colltune/collectives/running_mpi.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/execution/call_blocks.h"
#include "launch_setting.h"
#include "program_types.h"
#include "set_up.h"

using namespace colltune;

static_assert(COLLTUNE_COLLECTIVES == enum_names(Collective{}).size());

namespace {

/// The calls of one communicator on this rank.
struct ProgramCalls : colltune_executor {
  explicit ProgramCalls(void (*progress)())
      : colltune_executor{}, meanwhile(progress), abort_flag(meanwhile) {}

  Meanwhile meanwhile;
  AbortFlag abort_flag;
  std::unique_ptr<Executor> executor;
  ProgramCall call;  ///< the one that was begun last
  CallBlocks blocks;
  // Of the last reduction: programs rarely change them.
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::optional<DataType> data_type{};
  MPI_Op op = MPI_OP_NULL;
  std::optional<ReduceOp> reduce_op{};
  std::array<std::unique_ptr<std::byte[]>, 2> memory;
  std::array<std::size_t, 2> memory_bytes{};
};

/// What this process keeps from MPI_Init to MPI_Finalize: a component has nowhere else to keep it.
struct Process {
  Process(ProgramSettings of, std::chrono::nanoseconds when)
      : settings(std::move(of)), fingerprint(fingerprint_of(settings)), begun(when) {}

  /// Made by the first set-up: most programs are short, and have none.
  const Implementations& known_kernels() {
    std::call_once(is_catalogue_made, [this] { catalogue = make_host_catalogue(); });
    return catalogue;
  }

  ProgramSettings settings;
  std::string fingerprint;
  ChoiceCache choices;
  Implementations catalogue;  // by known_kernels() alone
  std::once_flag is_catalogue_made;
  Report report;
  std::mutex mutex;
  std::set<std::string> said;  // guarded by mutex, as `report` and the next are
  bool has_said_failure = false;
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  const std::chrono::nanoseconds begun;
  std::atomic<std::int64_t> latest_set_up = 0;  // how long it took, ns
  std::atomic<std::int64_t> all_set_ups = 0;
};
std::unique_ptr<Process> process;

void print_line(std::string_view text) {
  const std::string line = fmt::format("colltune: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// One line for each reason.
void say_once(const std::string& text) {
  const std::lock_guard lock(process->mutex);
  if (process->said.insert(text).second) print_line(text);
}

/// The first winner that cannot run; a small limit of memory may concern many.
void say_first_failure(const std::string& failure) {
  {
    const std::lock_guard lock(process->mutex);
    if (std::exchange(process->has_said_failure, true)) return;
  }
  say_once(failure +
           "; the library's own collective runs instead (COLLTUNE_REPORT=1 lists all such cases)");
}

/// Runs `body`; prints its Error and returns `otherwise` if it throws one.
template <class Result, class Body>
Result guarded(Result otherwise, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    print_line(error.what());
    return otherwise;
  }
}

/// Nothing if no table is named.
std::optional<ProgramSettings> read_settings() {
  try {
    if (const char* const table = colltune_launch_setting("COLLTUNE_TABLE");
        table == nullptr || *table == '\0')
      return {};
    return read_program_settings(colltune_launch_setting);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + "; the library's own collectives run");
  }
}

ProgramCalls& calls_of(colltune_executor* executor) {
  return static_cast<ProgramCalls&>(*executor);
}

bool has_row(const colltune_executor* executor, colltune_collective collective,
             bool of_equal_counts) {
  const auto& calls = static_cast<const ProgramCalls&>(*executor);
  return std::ranges::any_of(calls.executor->choices().rows, [&](const Choices::Row& row) {
    return row.collective == static_cast<Collective>(collective) &&
           (row.counts == Counts::equal) == of_equal_counts;
  });
}

unsigned begin_call(ProgramCalls& calls, const ProgramCall& call) {
  calls.call = call;
  return calls.executor->begin(calls.call);
}

/// Keeps the call that was begun last, if it is left to the library for good, for who makes it
/// again. `amount`, `type` and `op`: as the program says them.
unsigned keep_left(ProgramCalls& calls, std::size_t amount, MPI_Datatype type, MPI_Op op) {
  const CallLog::Entry* const entry = calls.executor->left_for_good();
  if (entry != nullptr && !calls.is_counted)
    calls.left[static_cast<std::size_t>(calls.call.collective)] = {
        .amount = amount, .root = calls.call.root, .type = type, .op = op, .entry = *entry};
  return Choices::library;
}

/// Sets the operator and the type of the call that begins; false if there are no such kernels.
bool knows(ProgramCalls& calls, MPI_Datatype type, MPI_Op op) {
  if (calls.type != type) {
    calls.type = type;
    calls.data_type = data_type_of(type);
  }
  if (calls.op != op) {
    calls.op = op;
    calls.reduce_op = reduce_op_of(op);
  }
  return calls.data_type && calls.reduce_op;
}

unsigned begin_move(colltune_executor* executor, colltune_collective collective, int root,
                    std::size_t message) {
  ProgramCalls& calls = calls_of(executor);
  calls.call = {.collective = static_cast<Collective>(collective),
                .data_type = DataType::u8,
                .reduce_op = ReduceOp::none,
                .root = root,
                .message_size = {message}};
  // What is packed is counted by an int.
  if (message > std::numeric_limits<int>::max()) {
    calls.executor->leave(calls.call.collective);
    return Choices::library;
  }
  const unsigned choice = calls.executor->begin(calls.call);
  if (choice != Choices::library) return choice;
  return keep_left(calls, message, MPI_DATATYPE_NULL, MPI_OP_NULL);
}

unsigned begin_reduction(colltune_executor* executor, colltune_collective collective, int root,
                         std::size_t count, MPI_Datatype type, MPI_Op op) {
  ProgramCalls& calls = calls_of(executor);
  if (!knows(calls, type, op)) {
    calls.executor->leave(static_cast<Collective>(collective));
    return Choices::library;
  }
  const unsigned choice = begin_call(calls, {.collective = static_cast<Collective>(collective),
                                             .data_type = *calls.data_type,
                                             .reduce_op = *calls.reduce_op,
                                             .root = root,
                                             .message_size = {count * size_of(*calls.data_type)}});
  return choice != Choices::library ? choice : keep_left(calls, count, type, op);
}

unsigned begin_moves(colltune_executor* executor, colltune_collective collective, const int* counts,
                     int ranks, std::size_t unit) {
  return guarded<unsigned>(Choices::library, [&]() -> unsigned {
    ProgramCalls& calls = calls_of(executor);
    const std::size_t message = calls.blocks.set({counts, static_cast<std::size_t>(ranks)}, unit);
    // What is packed is counted by an int.
    if (message > std::numeric_limits<int>::max()) {
      calls.executor->leave(static_cast<Collective>(collective));
      return Choices::library;
    }
    return begin_call(calls, {.collective = static_cast<Collective>(collective),
                              .data_type = DataType::u8,
                              .reduce_op = ReduceOp::none,
                              .message_size = {message},
                              .counts = counts_class(calls.blocks.sizes())});
  });
}

unsigned begin_reductions(colltune_executor* executor, colltune_collective collective,
                          const int* counts, int ranks, MPI_Datatype type, MPI_Op op) {
  return guarded<unsigned>(Choices::library, [&]() -> unsigned {
    ProgramCalls& calls = calls_of(executor);
    if (!knows(calls, type, op)) {
      calls.executor->leave(static_cast<Collective>(collective));
      return Choices::library;
    }
    const std::size_t message =
        calls.blocks.set({counts, static_cast<std::size_t>(ranks)}, size_of(*calls.data_type));
    return begin_call(calls, {.collective = static_cast<Collective>(collective),
                              .data_type = *calls.data_type,
                              .reduce_op = *calls.reduce_op,
                              .message_size = {message},
                              .counts = counts_class(calls.blocks.sizes())});
  });
}

const std::size_t* block_starts(const colltune_executor* executor) {
  return static_cast<const ProgramCalls*>(executor)->blocks.starts().data();
}

colltune_outcome run(colltune_executor* executor, unsigned choice,
                     const colltune_buffers* buffers) {
  return guarded(COLLTUNE_FAILED, [&] {
    ProgramCalls& calls = calls_of(executor);
    calls.meanwhile.begin();
    const CallBuffers own{
        .send = {static_cast<const std::byte*>(buffers->send), buffers->send_bytes},
        .receive = {static_cast<std::byte*>(buffers->receive), buffers->receive_bytes}};
    const bool is_equal = calls.call.counts == Counts::equal;
    const std::span<const std::size_t> blocks =
        is_equal ? std::span<const std::size_t>()
                 : std::span<const std::size_t>(calls.blocks.sizes());
    if (calls.executor->run(static_cast<std::uint16_t>(choice), calls.call, buffers->in_place, own,
                            blocks)) {
      if (!buffers->is_copied_back) calls.executor->finish();
      return COLLTUNE_DONE;
    }
    if (calls.executor->rank() == 0) say_first_failure(calls.executor->failures().back());
    return COLLTUNE_LEFT;
  });
}

void finish(colltune_executor* executor) { calls_of(executor).executor->finish(); }

void* memory(colltune_executor* executor, int which, std::size_t bytes) {
  return guarded<void*>(nullptr, [&] {
    ProgramCalls& calls = calls_of(executor);
    auto& memory = calls.memory[static_cast<std::size_t>(which)];
    auto& size = calls.memory_bytes[static_cast<std::size_t>(which)];
    if (size < bytes) {
      memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size = bytes;
    }
    return static_cast<void*>(memory.get());
  });
}

constexpr colltune_call_functions call_functions{.begin_move = begin_move,
                                                 .begin_reduction = begin_reduction,
                                                 .begin_moves = begin_moves,
                                                 .begin_reductions = begin_reductions,
                                                 .block_starts = block_starts,
                                                 .run = run,
                                                 .finish = finish,
                                                 .memory = memory,
                                                 .say = colltune_say};

}  // namespace

bool colltune_open(const char* built_for, std::int64_t begun) {
  return guarded(false, [&] {
    auto settings = read_settings();
    if (!settings) return false;  // no table is named
    settings->mpi_library = running_mpi();
    if (const std::string& running = settings->mpi_library; running != built_for)
      throw Error(StatusCode::failed_precondition,
                  fmt::format("this colltune was built for {}, and {} runs: the library's own "
                              "collectives run",
                              built_for, running));
    process = std::make_unique<Process>(*settings, std::chrono::nanoseconds(begun));
    return true;
  });
}

void colltune_close(bool is_first_rank) {
  guarded(0, [&] {
    if (process != nullptr && process->settings.reports && is_first_rank)
      print_line(process->report.text());
    process.reset();
    return 0;
  });
}

colltune_look colltune_own_look(std::int64_t spent, int ranks_here) {
  const auto run = CallTimer::steady_now() - process->begun;
  return colltune_look_of(spent, run.count(),
                          {.patience = process->settings.patience.count(),
                           .share_cores = ranks_here > process->cores,
                           .latest_set_up = process->latest_set_up.load(std::memory_order_relaxed),
                           .all_set_ups = process->all_set_ups.load(std::memory_order_relaxed)});
}

const char* colltune_fingerprint() { return process->fingerprint.c_str(); }

void colltune_say(const char* why) {
  guarded(0, [&] {
    say_once(fmt::format("{}: the library's own collectives run there", why));
    return 0;
  });
}

colltune_executor* colltune_set_up(MPI_Comm comm, void (*progress)()) {
  return guarded<colltune_executor*>(nullptr, [&] {
    auto made = std::make_unique<ProgramCalls>(progress);
    const auto begun = CallTimer::steady_now();
    SetUp done;
    try {
      // Here, since a rank that lacks memory in a call would leave it alone.
      int ranks = 0;
      PMPI_Comm_size(comm, &ranks);
      made->blocks.reserve(static_cast<std::size_t>(ranks));
      done = set_up(comm, made->abort_flag, process->settings, process->known_kernels(),
                    process->choices);
    } catch (const Error& error) {  // on all ranks
      int rank = 0;
      PMPI_Comm_rank(comm, &rank);
      if (rank == 0)
        say_once(fmt::format("{}; the library's own collectives run there", error.what()));
      return static_cast<colltune_executor*>(nullptr);
    } catch (const std::exception& error) {
      // On this rank alone, for which the others would wait for ever.
      print_line(fmt::format("a rank cannot set up a communicator: {}", error.what()));
      PMPI_Abort(comm, 1);
    }
    const auto took = CallTimer::steady_now() - begun;
    process->latest_set_up.store(took.count(), std::memory_order_relaxed);
    process->all_set_ups.fetch_add(took.count(), std::memory_order_relaxed);
    if (done.rank == 0)
      for (const std::string& line : done.lines) say_once(line);
    made->executor = std::move(done.executor);
    if (made->executor == nullptr) return static_cast<colltune_executor*>(nullptr);
    made->meanwhile.watch(made->executor.get());
    made->functions = &call_functions;
    made->lines = &made->executor->lines();
    made->is_counted = process->settings.reports;
    {
      const std::lock_guard lock(process->mutex);
      process->report.add_set_up(took);
    }
    return static_cast<colltune_executor*>(made.release());
  });
}

void colltune_tear_down(colltune_executor* executor) {
  guarded(0, [&] {
    const std::unique_ptr<ProgramCalls> owned(&calls_of(executor));
    const std::lock_guard lock(process->mutex);
    process->report.add(*owned->executor);
    return 0;
  });
}

bool colltune_is_used(const colltune_executor* executor, colltune_collective collective) {
  return has_row(executor, collective, true);
}

bool colltune_is_used_unequal(const colltune_executor* executor, colltune_collective collective) {
  return has_row(executor, collective, false);
}
