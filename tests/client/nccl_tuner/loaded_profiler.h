// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "colltune/nccl/profiler_abi.h"
#include "loaded_plugin.h"

namespace colltune::test {

/// A profiler library, opened and entered in the way of an NCCL whose newest interface is `newest`:
/// 6, 5 (2.28) or 4 (2.27). Older ones find none in ours.
class LoadedProfiler : public LoadedPlugin {
 public:
  LoadedProfiler(const char* path, int newest) : LoadedPlugin(path) {
    if (newest >= 6) v5_ = find<nccl::ProfilerV5>("ncclProfiler_v6");
    if (v5_ == nullptr && newest >= 5) v5_ = find<nccl::ProfilerV5>("ncclProfiler_v5");
    if (v5_ == nullptr && newest >= 4) v4_ = find<nccl::ProfilerV4>("ncclProfiler_v4");
    if (v5_ == nullptr && v4_ == nullptr)
      throw std::runtime_error(std::string("no profiler in ") + path);
  }

  [[nodiscard]] std::string name() const { return v5_ != nullptr ? v5_->name : v4_->name; }
  nccl::Result init(void** context, std::uint64_t identity, int* mask, int ranks, int rank) const {
    if (v5_ != nullptr) return v5_->init(context, identity, mask, nullptr, 1, ranks, rank, nullptr);
    return v4_->init(context, mask, nullptr, identity, 1, ranks, rank, nullptr);
  }
  /// Tells of an event that has nothing but its type. Types that version 4 does not have are not
  /// told by it.
  void tell(void* context, int type, int rank) const { stop(start(context, type, rank, {})); }
  /// Tells of what is launched, in a group of its own.
  void tell(void* context, int rank, const nccl::ProfiledCollective& collective) const {
    tell_in_group(context, nccl::profile_collective, rank, collective);
  }
  void tell(void* context, int rank, const nccl::ProfiledTransfer& transfer) const {
    tell_in_group(context, nccl::profile_transfer, rank, transfer);
  }
  nccl::Result finalize(void* context) const {
    return (v5_ != nullptr ? v5_->finalize : v4_->finalize)(context);
  }

 private:
  /// What an event says besides its type.
  union Details {
    Details() : collective{} {}
    Details(const nccl::ProfiledCollective& one) : collective(one) {}  // NOLINT
    Details(const nccl::ProfiledTransfer& one) : transfer(one) {}      // NOLINT
    nccl::ProfiledCollective collective;
    nccl::ProfiledTransfer transfer;
  };

  /// As NCCL's profiler.cc: version 4 tells nothing in a group to which it was given no handle.
  void tell_in_group(void* context, int type, int rank, const Details& details) const {
    void* const group = start(context, nccl::profile_group, rank, {});
    if (v5_ != nullptr || group != nullptr) stop(start(context, type, rank, details));
    stop(group);
  }
  /// The handle that the profiler gives the event.
  void* start(void* context, int type, int rank, const Details& details) const {
    int nothing = 0;
    void* handle = &nothing;  // the profiler has to write it
    if (v5_ != nullptr) {
      auto event = event_of<nccl::ProfilerEventV5>(type, rank, details);
      v5_->start_event(context, &handle, &event);
    } else if (type < nccl::profile_group_call) {
      auto event = event_of<nccl::ProfilerEventV4>(type, rank, details);
      v4_->start_event(context, &handle, &event);
    } else {
      handle = nullptr;
    }
    return handle;
  }
  void stop(void* handle) const {
    if (handle != nullptr) (v5_ != nullptr ? v5_->stop_event : v4_->stop_event)(handle);
  }
  template <class Event>
  static Event event_of(int type, int rank, const Details& details) {
    Event event{.type = static_cast<decltype(Event::type)>(type),
                .parent = nullptr,
                .rank = rank,
                .collective = {}};
    if (type == nccl::profile_collective) event.collective = details.collective;
    if (type == nccl::profile_transfer) event.transfer = details.transfer;
    return event;
  }

  nccl::ProfilerV5* v5_ = nullptr;  ///< or 6, which is the same
  nccl::ProfilerV4* v4_ = nullptr;
};

}  // namespace colltune::test
