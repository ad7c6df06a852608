// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "colltune/kernels/device.h"
#include "colltune/vocabulary/error.h"
#include "descriptor_mailbox.h"
#include "host_scratch.h"
#include "joint_launch.h"
#include "process_identity.h"

// What the ranks of a device operation show each other while it is prepared.

namespace colltune {

/// Limit for a registered buffer in virtual memory that another allocator made: each piece is a
/// descriptor sent to every other device, and costs a system call or two.
inline constexpr std::size_t most_pieces = 64;

/// Bytes of a rank: their address in its own process, and how others open them.
struct SharedDeviceBytes {
  std::byte* here = nullptr;
  DeviceHandle handle{};
  // Used instead of `handle` for virtual memory (SharedPieces).
  std::size_t pieces = 0;
  std::size_t offset = 0;
  std::array<std::size_t, most_pieces> sizes{};
};

struct DeviceFailure {
  bool happened = false;
  bool is_unavailable = false;  ///< UnavailableHere: not an error
  StatusCode code{};
  char what[480] = {};
};

/// What a rank shows to the others, through host memory.
struct DeviceBoard {
  ProcessIdentity process{};
  Device* device = nullptr;  ///< its address in its own process
  bool has_virtual_memory = false;
  bool has_multicast = false;
  DescriptorMailbox::Address mailbox{};  ///< if the device has virtual memory
  SharedDeviceBytes scratch{};
  std::byte* counters = nullptr;
  SharedDeviceBytes send{};
  SharedDeviceBytes receive{};
  JointLaunch::Participant* member = nullptr;  ///< moved from by the first rank of its group
  std::shared_ptr<const HostScratch>* host_scratch = nullptr;  ///< set by a process's first rank
  std::shared_ptr<JointLaunch>* joint = nullptr;               ///< set by the first rank of a group
  DeviceFailure failures[14]{};                                      ///< one for each step
};

}  // namespace colltune
