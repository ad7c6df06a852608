// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace colltune {
namespace {

struct Closer {
  void operator()(void* library) const noexcept { static_cast<void>(::dlclose(library)); }
};
using Library = std::unique_ptr<void, Closer>;

// From NVML's reference manual ("Device Queries", "Clocks Event Reasons", "NvLink Methods"). All
// functions return 0 on success; handles are pointers.
constexpr int success = 0;
constexpr int of_processors = 1;  // NVML_CLOCK_SM
constexpr int most_power_state = 15;
constexpr unsigned most_links = 18;  // NVML_NVLINK_MAX_LINKS

struct Reason {
  unsigned long long bit;
  DeviceThrottle throttle;
};
constexpr std::array<Reason, 5> reasons{{{0x04, DeviceThrottle::power_cap},
                                         {0x08, DeviceThrottle::slowdown},
                                         {0x20, DeviceThrottle::thermal},  // by the driver
                                         {0x40, DeviceThrottle::thermal},  // by the hardware
                                         {0x80, DeviceThrottle::power_brake}}};

constexpr std::array<std::pair<DeviceThrottle, std::string_view>, 4> throttle_names{
    {{DeviceThrottle::power_cap, "power_cap"},
     {DeviceThrottle::slowdown, "slowdown"},
     {DeviceThrottle::thermal, "thermal"},
     {DeviceThrottle::power_brake, "power_brake"}}};

template <class Function>
bool find(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library.get(), name));
  return function != nullptr;
}

}  // namespace

static_assert(throttle_names.size() == throttle_bits);

DeviceState worst_of(const DeviceState& one, const DeviceState& other) {
  const bool is_told = one.clock_khz != 0 && other.clock_khz != 0;
  return {.clock_khz = is_told ? std::min(one.clock_khz, other.clock_khz)
                               : std::max(one.clock_khz, other.clock_khz),
          .throttles = one.throttles | other.throttles,
          .power_state = std::max(one.power_state, other.power_state)};
}

std::string names_of_throttles(std::uint32_t throttles) {
  std::string names;
  for (const auto& [throttle, name] : throttle_names) {
    if ((throttles & static_cast<std::uint32_t>(throttle)) == 0) continue;
    if (!names.empty()) names += ',';
    names += name;
  }
  return names;
}

struct NvmlDevice::Functions {
  Library library;
  int (*initialize)() = nullptr;
  int (*shut_down)() = nullptr;
  int (*find_device)(const char* bus_id, void** device) = nullptr;
  int (*clock)(void* device, int which, unsigned* mhz) = nullptr;
  int (*throttles)(void* device, unsigned long long* bits) = nullptr;
  int (*power_state)(void* device, int* state) = nullptr;
  int (*link_state)(void* device, unsigned link, int* is_active) = nullptr;
};

std::unique_ptr<NvmlDevice> NvmlDevice::open(const std::string& bus_id, const char* library) {
  auto all = std::make_unique<Functions>();
  all->library.reset(::dlopen(library, RTLD_NOW | RTLD_LOCAL));
  // The older name of the clock event reasons, which newer libraries keep.
  const bool is_whole =
      all->library && find(all->library, "nvmlInit_v2", all->initialize) &&
      find(all->library, "nvmlShutdown", all->shut_down) &&
      find(all->library, "nvmlDeviceGetHandleByPciBusId_v2", all->find_device) &&
      find(all->library, "nvmlDeviceGetClockInfo", all->clock) &&
      find(all->library, "nvmlDeviceGetCurrentClocksThrottleReasons", all->throttles) &&
      find(all->library, "nvmlDeviceGetPerformanceState", all->power_state) &&
      find(all->library, "nvmlDeviceGetNvLinkState", all->link_state);
  if (!is_whole || all->initialize() != success) return nullptr;
  void* device = nullptr;
  if (all->find_device(bus_id.c_str(), &device) != success) {
    static_cast<void>(all->shut_down());
    return nullptr;
  }
  return std::unique_ptr<NvmlDevice>(new NvmlDevice(std::move(all), device));
}

NvmlDevice::NvmlDevice(std::unique_ptr<const Functions> functions, void* device)
    : functions_(std::move(functions)), device_(device) {}

// NVML counts its initializations, so each needs a shutdown.
NvmlDevice::~NvmlDevice() { static_cast<void>(functions_->shut_down()); }

DeviceState NvmlDevice::state() const {
  DeviceState state;
  unsigned mhz = 0;
  if (functions_->clock(device_, of_processors, &mhz) == success)
    state.clock_khz = std::uint64_t{mhz} * 1000;
  unsigned long long bits = 0;
  if (functions_->throttles(device_, &bits) == success)
    for (const Reason& reason : reasons)
      if ((bits & reason.bit) != 0) state.throttles |= static_cast<std::uint32_t>(reason.throttle);
  int power_state = 0;
  if (functions_->power_state(device_, &power_state) == success && power_state >= 0 &&
      power_state <= most_power_state)
    state.power_state = power_state;
  return state;
}

int NvmlDevice::count_links() const {
  int links = 0;
  for (unsigned link = 0; link < most_links; ++link) {
    int is_active = 0;
    // Not every GPU has that many links; the library returns an error for the others.
    if (functions_->link_state(device_, link, &is_active) == success && is_active != 0) ++links;
  }
  return links;
}

}  // namespace colltune
