// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <chrono>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/host_capability.h"
#include "colltune/machine/hardware_topology.h"
#include "device/device_implementation.h"

namespace colltune {

Capability detect_capability(const Implementations& catalogue, Communicator& communicator) {
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Capability capability = detect_host_capability(communicator, deadline);
  const HardwareTopology hardware;
  for (auto& [name, value] : hardware.features()) capability.features[name] = value;
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  capability.features["memory.bytes"] = std::to_string(pages * page);
  detect_device(communicator, capability);
  for (const auto& implementation : catalogue) implementation->detect(communicator, capability);
  return capability;
}

}  // namespace colltune
