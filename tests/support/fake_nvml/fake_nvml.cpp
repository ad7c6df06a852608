// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A library with NVML's functions, in the place of the one that comes with NVIDIA's driver: one
// GPU, whose state the test's environment says.

#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_found = 6;

int initialized = 0;
char gpu = 0;

unsigned long long number(const char* variable, unsigned long long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  if (number("FAKE_NVML_BROKEN", 0) != 0) return not_found;
  ++initialized;
  return success;
}
int nvmlShutdown() {
  --initialized;
  return success;
}
/// Of the fake alone: how often it was initialized and not shut down.
int fake_nvml_initialized() { return initialized; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (std::strcmp(bus_id, "0000:3b:00.0") != 0) return not_found;
  *device = &gpu;
  return success;
}
int nvmlDeviceGetClockInfo(void* device, int which, unsigned* mhz) {
  if (device != &gpu || which != 1) return invalid_argument;
  *mhz = static_cast<unsigned>(number("FAKE_NVML_MHZ", 1980));
  return success;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  *bits = number("FAKE_NVML_REASONS", 0);
  return success;
}
int nvmlDeviceGetPerformanceState(void*, int* state) {
  *state = static_cast<int>(number("FAKE_NVML_STATE", 0));
  return success;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* is_active) {
  if (link >= 18) return invalid_argument;
  *is_active = link < number("FAKE_NVML_LINKS", 0) ? 1 : 0;
  return success;
}
}
