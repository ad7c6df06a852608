// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The part of the CUDA driver's binary interface that we use, since builds without CUDA have no
/// cuda.h. From the driver API's reference ("Virtual Memory Management", "Multicast Object
/// Management"). Builds with CUDA compare it with cuda.h (cuda/driver_abi_check.cpp).
namespace colltune::driver {

using Result = int;  ///< CUresult
using Number = int;  ///< CUdevice
using Address = unsigned long long;
using Handle = unsigned long long;  ///< CUmemGenericAllocationHandle

constexpr Result success = 0;
constexpr Result out_of_memory = 2;

// CUdevice_attribute.
constexpr int has_virtual_memory = 102;
constexpr int has_file_descriptors = 103;
constexpr int has_fabric_handles = 128;
constexpr int has_multicast = 132;

constexpr int as_file_descriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int pinned = 1;              // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int on_device = 1;           // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int read_and_write = 3;      // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
constexpr int least_granularity = 0;   // CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MULTICAST_…

/// CUmemLocation.
struct Location {
  int type = on_device;
  int number = 0;
};

/// CUmemAllocationProp.
struct AllocationProperties {
  int type = pinned;
  int handle_types = as_file_descriptor;
  Location location{};
  void* of_windows = nullptr;
  unsigned char compression = 0;
  unsigned char is_rdma_capable = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};

/// CUmulticastObjectProp.
struct MulticastProperties {
  unsigned devices = 0;
  std::size_t bytes = 0;
  unsigned long long handle_types = as_file_descriptor;
  unsigned long long flags = 0;
};

/// CUmemAccessDesc.
struct MappingRights {
  Location location{};
  int flags = read_and_write;
};

}  // namespace colltune::driver
