// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "colltune/kernels/device_state.h"

namespace colltune {

/// Where NVML is looked for: a name for the dynamic linker, or a path.
inline constexpr const char* nvml_library = "libnvidia-ml.so.1";

/// A GPU as NVML, NVIDIA's management library, sees it. The library comes with the driver and is
/// opened at run time. What it does not report is left out, without an error. Thread-safe.
class NvmlDevice {
 public:
  /// The GPU at `bus_id` ("0000:3b:00.0"). Null if `library` is missing, lacks a function, or does
  /// not know the GPU.
  [[nodiscard]] static std::unique_ptr<NvmlDevice> open(const std::string& bus_id,
                                                        const char* library = nvml_library);
  NvmlDevice(const NvmlDevice&) = delete;
  NvmlDevice& operator=(const NvmlDevice&) = delete;
  ~NvmlDevice();

  [[nodiscard]] DeviceState state() const;
  /// Number of NVLink lanes that are up.
  [[nodiscard]] int count_links() const;

 private:
  struct Functions;
  NvmlDevice(std::unique_ptr<const Functions> functions, void* device);

  std::unique_ptr<const Functions> functions_;
  void* device_;
};

}  // namespace colltune
