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
#include "colltune/kernels/operation.h"
#include "colltune/machine/abort_flag.h"
#include "device_code/device_call.h"
#include "host_scratch.h"
#include "virtual_memory.h"

namespace colltune {

/// The ranks of this process on one device, whose kernels start together. If they started one by
/// one, a kernel that waits for another could keep that one from starting. The last rank to arrive
/// launches for all. Shared by those ranks; thread-safe.
class JointLaunch {
 public:
  /// What a rank contributes. It lives as long as the kernel launch, since a peer's kernel may
  /// still access it after the rank has given up.
  struct Participant {
    int rank = 0;
    DeviceMemory scratch{};
    std::shared_ptr<const HostScratch> host_scratch{};  ///< instead of `scratch`
    std::vector<std::byte*> opened{};                   ///< memory of other processes
    MappedMemory own{};                                 ///< instead of `scratch`, if shared by
                                                        ///< descriptors
    std::vector<MappedMemory> mapped{};                 ///< the same on other devices
    std::optional<VirtualMemory::MulticastPart> multicast{};  ///< instead of `own`
  };

  /// `control`: holds a device::Control, which `launch` reads. `first`: what `launch` was made for.
  JointLaunch(Device& device, std::vector<Participant> members, DeviceMemory control,
              std::unique_ptr<DeviceLaunch> launch, const device::DeviceCall& first);
  JointLaunch(const JointLaunch&) = delete;
  JointLaunch& operator=(const JointLaunch&) = delete;
  ~JointLaunch();

  /// Member `place` uses these buffers from its next call on (DeviceLaunch::bind).
  void bind(std::size_t place, const CallBuffers& buffers) {
    launch_->bind(place, buffers.send.data(), buffers.receive.data());
  }
  /// From its next call on member `place` makes `call` (DeviceLaunch::rebind). If the members'
  /// calls are unlike, none is launched, and all get Error(invalid_argument).
  void rebind(std::size_t place, const device::DeviceCall& call);
  /// Member `place` begins its next call. Never waits.
  void arrive(std::size_t place);
  /// Returns when the call that member `place` began has ended. Throws RankMissing if a member has
  /// not begun it by `deadline`, or if a kernel waited for a rank in vain. Once a member has given
  /// up, nothing is launched any more, since its buffers may be gone; members that arrive later get
  /// Error(aborted).
  void wait(std::size_t place, Deadline deadline, const AbortFlag& abort_flag, bool yields_at_once);
  /// Puts a call of the only member on `queue`. Throws Error if there are several members: their
  /// kernels start together, which no single member's queue can express.
  void submit(void* queue);
  /// Makes all waits of the kernels end, now and later.
  void end_submitted();
  /// Throws RankMissing if a kernel has waited for a rank in vain.
  void check(bool was_aborted) const;
  /// Duration of the last call, by the device's clock; valid after `wait`.
  [[nodiscard]] std::chrono::nanoseconds duration() const { return launch_->duration(); }

 private:
  [[nodiscard]] device::Control& control() const;
  /// Launches the call. Returns why it could not; empty on success.
  [[nodiscard]] std::optional<Error> launch();
  /// The first member that has not begun call `number`.
  [[nodiscard]] int who_is_late(std::uint64_t number) const;
  /// Makes the kernel's waits end; returns whether the kernel ended too.
  bool end_kernel() noexcept;

  Device& device_;
  std::vector<Participant> members_;
  DeviceMemory control_;
  std::unique_ptr<DeviceLaunch> launch_;
  std::vector<device::DeviceCall> calls_;         ///< the members' next, each written by its member
  std::deque<std::atomic<std::uint64_t>> begun_;  ///< number of calls that each member has begun
  std::atomic<std::uint64_t> arrivals_{0};        ///< of all members, over all calls
  std::mutex mutex_;                              ///< makes launching and giving up exclusive
  int who_gave_up_ = -1;                          ///< a rank; guarded by mutex_
  std::atomic<std::uint64_t> launched_{0};        ///< number of launched calls; publishes failure_
  std::optional<Error> failure_;
};

}  // namespace colltune
