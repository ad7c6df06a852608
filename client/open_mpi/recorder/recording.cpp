// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "recording.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bridge/launch_setting.h"
#include "bridge/program_types.h"
#include "call_table.h"
#include "colltune/collectives/build_id.h"
#include "colltune/collectives/running_mpi.h"
#include "colltune/json/output_file.h"
#include "colltune/trace/trace.h"
#include "colltune/vocabulary/error.h"
#include "merge.h"

using namespace colltune;

struct colltune_recording {
  std::uint32_t layout = 0;               ///< of its members
  bool is_first = false;                  ///< this rank is its first one
  MPI_Datatype type = MPI_DATATYPE_NULL;  ///< of the last reduction: programs rarely change it
  std::optional<DataType> data_type{};
  colltune_seen latest{};  ///< a call, which programs often repeat
  /// Empty if nothing was called, or if a persistent request was started last.
  std::optional<colltune_form> latest_form{};
  CallTable calls;
};

/// A persistent request and the call that it starts.
struct FollowedRequest : colltune_followed {
  colltune_recording* recording = nullptr;  ///< null once its communicator is freed
  TracedCall call;
};

namespace {

/// What this process keeps from MPI_Init to MPI_Finalize: a component has nowhere else to keep it.
struct Recorder {
  explicit Recorder(std::string path)
      : file(std::move(path)), fingerprint(fmt::format("{} {}", own_build_id(), file)) {}

  std::string file;
  std::string fingerprint;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  /// Open MPI tells spawned processes so where to find those that spawned them.
  bool was_spawned = std::getenv("OMPI_PARENT_PORT") != nullptr;
  std::mutex mutex;
  // All below is guarded by mutex.
  std::set<colltune_recording*> recordings;  ///< of communicators that live
  Layouts layouts;
  CallCounts counts;  ///< by layout, of communicators that are freed
  /// Requests that the program has not freed. An address in it holds while it is there.
  std::unordered_map<MPI_Request, FollowedRequest> followed;
  bool is_finished = false;
};
std::unique_ptr<Recorder> recorder;

void print_line(std::string_view text) {
  const std::string line = fmt::format("colltune: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Runs `body`; prints its Error and returns `otherwise` if it throws one.
template <class Result, class Body>
Result guarded(Result otherwise, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    print_line(fmt::format("nothing is recorded: {}", error.what()));
    return otherwise;
  }
}

/// Adds what a communicator's table holds. Under the recorder's mutex.
void keep(const colltune_recording& recording) {
  for (const CallTable::Entry& entry : recording.calls.entries())
    recorder->counts.add(recording.layout, entry.call, entry.by_ranks);
  recorder->counts.add_not_kept(recording.calls.not_kept());
}

/// What was called, but for its form.
TracedCall call_of(colltune_recording& recording, const colltune_seen& seen) {
  TracedCall call{.operation = static_cast<TracedOperation>(seen.operation),
                  .message_size = {seen.bytes},
                  .counts = static_cast<CountShape>(seen.counts)};
  if (seen.op == nullptr) return call;
  if (recording.type != seen.type) {
    recording.type = seen.type;
    recording.data_type = data_type_of(seen.type);
  }
  call.data_type = recording.data_type;
  call.reduce_op = reduce_op_of(seen.op);
  return call;
}

void add(colltune_recording& recording, const TracedCall& call, std::chrono::nanoseconds time) {
  try {
    recording.calls.add(call, time);
  } catch (const std::bad_alloc&) {
    recording.calls.add_not_kept(time);  // the program goes on
  }
}

int world_rank() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

bool colltune_recorder_open(int major, int minor) {
  return guarded(false, [&] {
    const char* const file = colltune_launch_setting("COLLTUNE_TRACE");
    if (file == nullptr || *file == '\0') return false;
    const std::string built_for = fmt::format("Open MPI {}.{}", major, minor);
    if (const std::string running = running_mpi(); running != built_for)
      throw Error(StatusCode::failed_precondition,
                  fmt::format("this recorder was built for {}, and {} runs", built_for, running));
    recorder = std::make_unique<Recorder>(file);
    return true;
  });
}

void colltune_recorder_close() { recorder.reset(); }

const char* colltune_recorder_fingerprint() { return recorder->fingerprint.c_str(); }

void colltune_recorder_give_up(const char* why) {
  guarded(0, [&] {
    if (world_rank() == 0)
      throw Error(StatusCode::failed_precondition, fmt::format("{}: {}", recorder->file, why));
    return 0;
  });
}

colltune_recording* colltune_recording_begin(MPI_Comm comm) {
  return guarded<colltune_recording*>(nullptr, [&] {
    auto made = std::make_unique<colltune_recording>();
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    made->is_first = rank == 0;
    std::vector<int> members = members_in_world(comm);
    const std::lock_guard lock(recorder->mutex);
    made->layout = recorder->layouts.number_of(std::move(members), made->is_first);
    recorder->recordings.insert(made.get());
    return made.release();
  });
}

void colltune_recording_end(colltune_recording* recording) {
  guarded(0, [&] {
    const std::unique_ptr<colltune_recording> owned(recording);
    const std::lock_guard lock(recorder->mutex);
    recorder->recordings.erase(recording);
    for (auto& [request, one] : recorder->followed)
      if (one.recording == recording) one.recording = nullptr;
    if (!recorder->is_finished) keep(*recording);
    return 0;
  });
}

void colltune_record(colltune_recording* recording, const colltune_seen* seen, colltune_form form,
                     std::uint64_t nanoseconds) {
  const std::chrono::nanoseconds time(nanoseconds);
  const colltune_seen& latest = recording->latest;
  if (seen->operation == latest.operation && seen->bytes == latest.bytes &&
      seen->type == latest.type && seen->op == latest.op && seen->counts == latest.counts &&
      form == recording->latest_form && recording->calls.add_as_before(time))
    return;
  recording->latest = *seen;
  recording->latest_form = form;
  TracedCall call = call_of(*recording, *seen);
  call.is_nonblocking = form != COLLTUNE_BLOCKING;
  if (form == COLLTUNE_MAKES_PERSISTENT) call.persistent = PersistentStep::making;
  add(*recording, call, time);
}

bool colltune_follow(colltune_recording* recording, const colltune_seen* seen, MPI_Request request,
                     colltune_followed functions) {
  return guarded(false, [&] {
    TracedCall call = call_of(*recording, *seen);
    call.is_nonblocking = true;
    call.persistent = PersistentStep::start;
    const std::lock_guard lock(recorder->mutex);
    recorder->followed.insert_or_assign(request, FollowedRequest{functions, recording, call});
    return true;
  });
}

const colltune_followed* colltune_followed_of(MPI_Request request) {
  const std::lock_guard lock(recorder->mutex);
  return &recorder->followed.at(request);
}

void colltune_record_start(const colltune_followed* followed, std::uint64_t nanoseconds) {
  const auto& request = static_cast<const FollowedRequest&>(*followed);
  if (request.recording == nullptr) return;
  request.recording->latest_form.reset();
  add(*request.recording, request.call, std::chrono::nanoseconds(nanoseconds));
}

void colltune_unfollow(MPI_Request request) {
  const std::lock_guard lock(recorder->mutex);
  recorder->followed.erase(request);
}

void colltune_recorder_finish() {
  guarded(0, [&] {
    CallCounts counts;
    Layouts layouts;
    {
      const std::lock_guard lock(recorder->mutex);
      if (std::exchange(recorder->is_finished, true)) return 0;
      for (const colltune_recording* one : recorder->recordings) keep(*one);
      counts = std::move(recorder->counts);
      layouts = std::move(recorder->layouts);
    }
    if (recorder->was_spawned) {
      colltune_recorder_give_up("these processes were spawned; those that spawned them write it");
      return 0;
    }
    Trace own{.program = program_invocation_name,
              .mpi_library = running_mpi(),
              .rank_time = std::chrono::steady_clock::now() - recorder->begin};
    const Trace all = merge_ranks(std::move(own), counts, layouts);
    if (world_rank() != 0) return 0;
    std::ostringstream nothing;
    write_output(recorder->file, to_text(all), nothing);
    print_line(fmt::format("{} kinds of collective calls of {} ranks are recorded in {}",
                           all.calls.size(), all.ranks, recorder->file));
    return 0;
  });
}
