// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "colltune/kernels/device_state.h"

namespace colltune {

/// Where NVML is looked for; a dynamic linker's name or a path.
inline constexpr const char* nvml_library = "libnvidia-ml.so.1";

/// A GPU as NVML, NVIDIA's management library, sees it. The library comes with the driver and is
/// opened at run time; what it does not tell stays untold, and is no error. Thread-safe.
class NvmlDevice {
 public:
  /// The GPU at `bus_id` ("0000:3b:00.0"); null where `library` is not there, or lacks a function,
  /// or knows no such GPU.
  [[nodiscard]] static std::unique_ptr<NvmlDevice> open(const std::string& bus_id,
                                                        const char* library = nvml_library);
  NvmlDevice(const NvmlDevice&) = delete;
  NvmlDevice& operator=(const NvmlDevice&) = delete;
  ~NvmlDevice();

  [[nodiscard]] DeviceState state() const;
  /// NVLink lanes that are up.
  [[nodiscard]] int count_links() const;

 private:
  struct Functions;
  NvmlDevice(std::unique_ptr<const Functions> functions, void* device);

  std::unique_ptr<const Functions> functions_;
  void* device_;
};

}  // namespace colltune
