// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "driver.h"

#include <dlfcn.h>

#include <cstdio>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::shared_ptr<const Driver> Driver::open(const char* library, std::string& why_not) {
  const std::shared_ptr<Driver> driver(new Driver);
  driver->library_ = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (driver->library_ == nullptr) {
    why_not = std::string("there is no CUDA driver: ") + ::dlerror();
    return nullptr;
  }
  if (!driver->find_functions()) {
    why_not = std::string(library) +
              " lacks functions for virtual memory: the CUDA driver is older than 11.3's";
    return nullptr;
  }
  if (const driver::Result result = driver->initialize_(0); result != driver::success) {
    why_not = "cuInit: " + driver->name_of(result);
    return nullptr;
  }
  return driver;
}

Driver::~Driver() {
  if (library_ != nullptr) static_cast<void>(::dlclose(library_));
}

bool Driver::find_functions() {
  const bool is_whole =
      find(library_, "cuInit", initialize_) && find(library_, "cuDeviceGet", get_device) &&
      find(library_, "cuDeviceGetAttribute", get_attribute_) &&
      find(library_, "cuGetErrorString", get_error_string_) &&
      find(library_, "cuMemGetAllocationGranularity", get_granularity) &&
      find(library_, "cuMemCreate", create) && find(library_, "cuMemRelease", release) &&
      find(library_, "cuMemExportToShareableHandle", export_handle) &&
      find(library_, "cuMemImportFromShareableHandle", import_handle) &&
      find(library_, "cuMemRetainAllocationHandle", retain) &&
      find(library_, "cuMemGetAllocationPropertiesFromHandle", get_properties) &&
      find(library_, "cuMemGetAddressRange_v2", get_range) &&
      find(library_, "cuMemAddressReserve", reserve) &&
      find(library_, "cuMemAddressFree", free_address) && find(library_, "cuMemMap", map) &&
      find(library_, "cuMemUnmap", unmap) && find(library_, "cuMemSetAccess", set_access);
  const bool has_multicast = find(library_, "cuMulticastAddDevice", multicast_add) &&
                             find(library_, "cuMulticastBindMem", multicast_bind) &&
                             find(library_, "cuMulticastUnbind", multicast_unbind) &&
                             find(library_, "cuMulticastGetGranularity", multicast_granularity) &&
                             find(library_, "cuMulticastCreate", multicast_create);
  if (!has_multicast) multicast_create = nullptr;
  return is_whole;
}

std::string Driver::name_of(driver::Result result) const {
  const char* text = nullptr;
  if (get_error_string_(result, &text) != driver::success || text == nullptr)
    return "error " + std::to_string(result);
  return std::string(text) + " (" + std::to_string(result) + ")";
}

void Driver::check(driver::Result result, const char* what) const {
  if (result == driver::success) return;
  throw Error(result == driver::out_of_memory ? StatusCode::resource_exhausted
                                              : StatusCode::failed_precondition,
              std::string(what) + ": " + name_of(result));
}

void Driver::report(driver::Result result, const char* what) const noexcept {
  if (result != driver::success)
    std::fprintf(stderr, "colltune: %s: error %d of the CUDA driver\n", what, result);
}

int Driver::attribute(driver::Number device, int which) const {
  int value = 0;
  return get_attribute_(&value, which, device) == driver::success ? value : 0;
}

}  // namespace colltune
