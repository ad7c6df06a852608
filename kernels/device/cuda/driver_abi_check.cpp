// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compares the declarations in driver_abi.h with the cuda.h of the build. Compiled, never called.

#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "device/driver_abi.h"

namespace colltune::driver {
namespace {

static_assert(sizeof(Result) == sizeof(CUresult) && sizeof(Number) == sizeof(CUdevice));
static_assert(sizeof(Address) == sizeof(CUdeviceptr));
static_assert(std::is_same_v<Handle, CUmemGenericAllocationHandle>);
static_assert(success == CUDA_SUCCESS && out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(has_virtual_memory == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
static_assert(has_file_descriptors ==
              CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
static_assert(as_file_descriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(pinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(on_device == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(read_and_write == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(least_granularity == CU_MEM_ALLOC_GRANULARITY_MINIMUM);

static_assert(sizeof(Location) == sizeof(CUmemLocation));
static_assert(offsetof(Location, number) == offsetof(CUmemLocation, id));
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, of_windows) ==
              offsetof(CUmemAllocationProp, win32HandleMetaData));
static_assert(offsetof(AllocationProperties, compression) ==
              offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(MappingRights) == sizeof(CUmemAccessDesc));
static_assert(offsetof(MappingRights, flags) == offsetof(CUmemAccessDesc, flags));

// These need CUDA 12.1, and drivers from 530 on.
#if CUDA_VERSION >= 12010
static_assert(has_multicast == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
static_assert(sizeof(MulticastProperties) == sizeof(CUmulticastObjectProp));
static_assert(offsetof(MulticastProperties, bytes) == offsetof(CUmulticastObjectProp, size));
static_assert(offsetof(MulticastProperties, handle_types) ==
              offsetof(CUmulticastObjectProp, handleTypes));
static_assert(least_granularity == CU_MULTICAST_GRANULARITY_MINIMUM);
#endif
#if CUDA_VERSION >= 12040
static_assert(has_fabric_handles == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
#endif

}  // namespace
}  // namespace colltune::driver
