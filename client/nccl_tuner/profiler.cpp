// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The functions that NCCL calls if NCCL_PROFILER_PLUGIN names this library, and the control
// interface (colltune/nccl/profiler_control.h). NCCL continues without a profiler whose init fails;
// nothing here fails.

#include "colltune/c_guard.h"
#include "colltune/nccl/profiler_abi.h"
#include "colltune/nccl/profiler_control.h"
#include "colltune/vocabulary/error.h"
#include "watches.h"

namespace colltune::nccl {
namespace {

constexpr const char* profiler_name = "colltune";

Result init(void** context, int* mask) noexcept {
  if (context != nullptr) *context = mask == nullptr ? nullptr : watches().add(mask);
  return result_success;
}
Result init_v4(void** context, int* mask, const char*, std::uint64_t, int, int, int,
               Logger) noexcept {
  return init(context, mask);
}
Result init_v5(void** context, std::uint64_t, int* mask, const char*, int, int, int,
               Logger) noexcept {
  return init(context, mask);
}

template <class Event>
Result start_event(void*, void** handle, Event* event) noexcept {
  if (handle != nullptr) *handle = nullptr;
  if (event == nullptr) return result_success;
  if (event->type == profile_collective) watches().tell(event->collective);
  if (event->type == profile_transfer) watches().tell(event->transfer);
  return result_success;
}
/// As in NCCL 2.27, which reports nothing about a group without a handle.
Result start_event_v4(void* context, void** handle, ProfilerEventV4* event) noexcept {
  static constinit char group = 0;  // nobody reads or writes it
  const Result result = start_event(context, handle, event);
  if (handle != nullptr && event != nullptr && event->type == profile_group) *handle = &group;
  return result;
}
Result stop_event(void*) noexcept { return result_success; }
Result record_event_state(void*, int, void*) noexcept { return result_success; }

Result finalize_profiler(void* context) noexcept {
  if (context != nullptr) watches().remove(static_cast<ProfiledLibrary*>(context));
  return result_success;
}

constexpr ProfilerV5 profiler_v5{
    profiler_name,      init_v5,          start_event<ProfilerEventV5>, stop_event,
    record_event_state, finalize_profiler};

}  // namespace
}  // namespace colltune::nccl

using namespace colltune;        // NOLINT: what follows is C
using namespace colltune::nccl;  // NOLINT

extern "C" {

// Not const, because NCCL declares them as writable.
[[gnu::visibility("default")]] ProfilerV4 ncclProfiler_v4{
    profiler_name, init_v4, start_event_v4, stop_event, record_event_state, finalize_profiler};
[[gnu::visibility("default")]] ProfilerV5 ncclProfiler_v5 = profiler_v5;
// Collectives and transfers are reported as in version 5.
[[gnu::visibility("default")]] ProfilerV5 ncclProfiler_v6 = profiler_v5;

int colltune_nccl_profiler_interface() { return COLLTUNE_NCCL_PROFILER_INTERFACE; }

int colltune_nccl_profiler_watch(const void* send, const void* receive, uint64_t* watch) {
  if (watch == nullptr) return code_for_c(StatusCode::invalid_argument);
  switch (watches().begin(send, receive, *watch)) {
    case Watches::Begun::watched:
      return 0;
    case Watches::Begun::no_profiler:
      return code_for_c(StatusCode::failed_precondition);
    case Watches::Begun::too_many:
      break;
  }
  return code_for_c(StatusCode::resource_exhausted);
}

int colltune_nccl_profiler_end_watch(uint64_t watch, colltune_nccl_run* into) {
  colltune_nccl_run ran{};
  switch (watches().end(watch, ran)) {
    case Watches::Ended::told:
      if (into != nullptr) *into = ran;
      return 0;
    case Watches::Ended::untold:
      return code_for_c(StatusCode::failed_precondition);
    case Watches::Ended::unknown:
      break;
  }
  return code_for_c(StatusCode::not_found);
}

}  // extern "C"
