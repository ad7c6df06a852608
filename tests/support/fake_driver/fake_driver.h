// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "device/driver_abi.h"

/// A library with the CUDA driver's functions for virtual memory over host memory: allocations are
/// files in memory, which other processes map by their descriptors as they map a GPU's; addresses
/// are pages that nobody may touch until something is mapped there and access is given. What the
/// driver leaves undefined, or would wait for, is an error here.
namespace colltune::fake_driver {

constexpr int most_devices = 16;
constexpr std::size_t granule = std::size_t{2} << 20;
constexpr std::size_t multicast_granule = std::size_t{4} << 20;

// CUresult.
constexpr driver::Result invalid_value = 1;
constexpr driver::Result illegal_state = 401;

/// Behind a handle.
struct Object {
  int descriptor = -1;
  std::size_t bytes = 0;
  bool is_multicast = false;
  int bindings = 0;  ///< by this process
  int handle_types = driver::as_file_descriptor;
};

struct Mapping {
  std::size_t bytes = 0;
  bool is_accessible = false;
  int descriptor = -1;  ///< negative: of a multicast object, whose pages are nobody's
  int handle_types = driver::as_file_descriptor;
};

/// Of a process.
struct State {
  std::mutex mutex;
  driver::Handle next = 100;
  std::map<driver::Handle, Object> objects;          ///< guarded by mutex, as all below
  std::map<driver::Address, std::size_t> addresses;  ///< reserved
  std::map<driver::Address, Mapping> mappings;
  std::map<std::string, int, std::less<>> calls;  ///< of each function
  std::string failing;                            ///< a function
  int failing_call = 0;                           ///< the first of its calls that fails
  driver::Result failure = 0;
  std::map<int, int> attributes{{driver::has_virtual_memory, 1},
                                {driver::has_file_descriptors, 1},
                                {driver::has_fabric_handles, 0},
                                {driver::has_multicast, 1}};
};
State& state();

/// Counts a call of `function`; not success: it is to fail with that. Under the state's mutex.
driver::Result note_call(const char* function);
/// A new handle for `object`.
driver::Handle add(const Object& object);

}  // namespace colltune::fake_driver

extern "C" {
/// Of the fake alone. From now on the `nth` call (from 1 on) of `function`, and all behind it, fail
/// with `result`; an empty name: none does.
void fake_driver_fail(const char* function, int nth, int result);
/// What the attribute of all devices is.
void fake_driver_set(int attribute, int value);
/// Handles, addresses and mappings that this process has not given back.
int fake_driver_live();
}
