// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "driver_abi.h"

namespace colltune {

/// Where the CUDA driver's library is looked for: a name for the dynamic linker, or a path.
inline constexpr const char* cuda_driver_library = "libcuda.so.1";

/// The functions of the CUDA driver for virtual memory. The library is opened at run time, so that
/// programs start on machines without it. Thread-safe.
class Driver {
 public:
  /// Null if `library` is missing, lacks a function, or finds no device; `why_not` says which.
  [[nodiscard]] static std::shared_ptr<const Driver> open(const char* library,
                                                          std::string& why_not);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  /// Throws Error unless `result` is success, with the driver's message: resource_exhausted for
  /// memory, otherwise failed_precondition.
  void check(driver::Result result, const char* what) const;
  /// The same for destructors: prints to stderr instead.
  void report(driver::Result result, const char* what) const noexcept;
  [[nodiscard]] std::string name_of(driver::Result result) const;
  /// 0 if the driver is older than the attribute.
  [[nodiscard]] int attribute(driver::Number device, int which) const;
  /// Whether it has the functions for multicast objects (driver 530 and later).
  [[nodiscard]] bool knows_multicast() const { return multicast_create != nullptr; }

  driver::Result (*get_device)(driver::Number* device, int ordinal) = nullptr;
  driver::Result (*get_granularity)(std::size_t* bytes, const driver::AllocationProperties*,
                                    int which) = nullptr;
  driver::Result (*create)(driver::Handle* memory, std::size_t bytes,
                           const driver::AllocationProperties*, unsigned long long flags) = nullptr;
  driver::Result (*release)(driver::Handle) = nullptr;
  driver::Result (*export_handle)(void* descriptor, driver::Handle, int type,
                                  unsigned long long flags) = nullptr;
  driver::Result (*import_handle)(driver::Handle*, void* descriptor, int type) = nullptr;
  /// The handle that `address` is mapped to, to be released by the caller; fails if `address` is
  /// not virtual memory.
  driver::Result (*retain)(driver::Handle*, void* address) = nullptr;
  driver::Result (*get_properties)(driver::AllocationProperties*, driver::Handle) = nullptr;
  /// The range that `address` lies in: for virtual memory, the range of one mapping.
  driver::Result (*get_range)(driver::Address* begin, std::size_t* bytes,
                              driver::Address address) = nullptr;
  driver::Result (*reserve)(driver::Address*, std::size_t bytes, std::size_t alignment,
                            driver::Address wanted, unsigned long long flags) = nullptr;
  driver::Result (*free_address)(driver::Address, std::size_t bytes) = nullptr;
  driver::Result (*map)(driver::Address, std::size_t bytes, std::size_t offset, driver::Handle,
                        unsigned long long flags) = nullptr;
  driver::Result (*unmap)(driver::Address, std::size_t bytes) = nullptr;
  driver::Result (*set_access)(driver::Address, std::size_t bytes, const driver::MappingRights*,
                               std::size_t count) = nullptr;
  // All of these are set, or none.
  driver::Result (*multicast_create)(driver::Handle*, const driver::MulticastProperties*) = nullptr;
  driver::Result (*multicast_add)(driver::Handle, driver::Number device) = nullptr;
  driver::Result (*multicast_bind)(driver::Handle, std::size_t offset, driver::Handle memory,
                                   std::size_t memory_offset, std::size_t bytes,
                                   unsigned long long flags) = nullptr;
  driver::Result (*multicast_unbind)(driver::Handle, driver::Number device, std::size_t offset,
                                     std::size_t bytes) = nullptr;
  driver::Result (*multicast_granularity)(std::size_t* bytes, const driver::MulticastProperties*,
                                          int which) = nullptr;

 private:
  Driver() = default;
  [[nodiscard]] bool find_functions();

  void* library_ = nullptr;
  driver::Result (*initialize_)(unsigned flags) = nullptr;
  driver::Result (*get_attribute_)(int* value, int which, driver::Number) = nullptr;
  driver::Result (*get_error_string_)(driver::Result, const char** text) = nullptr;
};

}  // namespace colltune
