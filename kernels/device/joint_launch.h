// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "colltune/kernels/device.h"
#include "colltune/machine/abort_flag.h"
#include "device_code/device_call.h"
#include "host_scratch.h"
#include "virtual_memory.h"

namespace colltune {

/// The ranks of this process on one device, whose kernels start together: started apart, one that
/// waits for another could keep it from starting. Whoever arrives last launches for all. Shared by
/// those ranks; thread-safe.
class JointLaunch {
 public:
  /// What a rank brings: it goes with the launch, since a peer's kernel may still look at it when
  /// the rank has given up.
  struct Participant {
    int rank = 0;
    DeviceMemory scratch{};
    std::shared_ptr<const HostScratch> host_scratch{};  ///< in place of it
    std::vector<std::byte*> opened{};                   ///< of other processes
    MappedMemory own{};                                 ///< in place of `scratch`, for descriptors
    std::vector<MappedMemory> mapped{};                 ///< the same of other devices
    std::optional<VirtualMemory::MulticastPart> multicast{};  ///< in place of `own`
  };

  /// `control`: a device::Control, which `launch` looks at.
  JointLaunch(Device& device, std::vector<Participant> members, DeviceMemory control,
              std::unique_ptr<DeviceLaunch> launch);
  JointLaunch(const JointLaunch&) = delete;
  JointLaunch& operator=(const JointLaunch&) = delete;
  ~JointLaunch();

  /// Participant `place` begins its next call. Never waits.
  void arrive(std::size_t place);
  /// Returns when the call that member `place` began has ended. Throws RankMissing where a member
  /// has not begun it until `deadline`, or where a kernel waited for a rank in vain. Once a member
  /// has given up nothing is launched any more: its buffers may be gone, and whoever comes late
  /// gets Error(aborted).
  void wait(std::size_t place, Deadline deadline, const AbortFlag& abort_flag, bool yields_at_once);
  /// Puts a call of the only member on `queue` instead. Throws Error where there are others: their
  /// kernels start together, and no queue of one of them can hold that.
  void submit(void* queue);
  /// Has all waits of the kernels end, now and later.
  void end_submitted();
  /// Throws RankMissing where a kernel has waited for a rank in vain.
  void check(bool was_aborted) const;
  /// Of the last call, by the device's clock; after `wait`.
  [[nodiscard]] std::chrono::nanoseconds duration() const { return launch_->duration(); }

 private:
  [[nodiscard]] device::Control& control() const;
  /// What keeps a call from being launched; empty: nothing did.
  [[nodiscard]] std::optional<Error> launch();
  /// The first member that has not begun call `number`.
  [[nodiscard]] int who_is_late(std::uint64_t number) const;
  /// Has the kernel's waits end; whether the kernel ended with them.
  bool end_kernel() noexcept;

  Device& device_;
  std::vector<Participant> members_;
  DeviceMemory control_;
  std::unique_ptr<DeviceLaunch> launch_;
  std::deque<std::atomic<std::uint64_t>> begun_;  ///< calls of each member
  std::atomic<std::uint64_t> arrivals_{0};        ///< of all members, in all calls
  std::mutex mutex_;                              ///< between launching and giving up
  int who_gave_up_ = -1;                          ///< a rank; guarded by mutex_
  std::atomic<std::uint64_t> launched_{0};        ///< calls; guards failure_
  std::optional<Error> failure_;
};

}  // namespace colltune
