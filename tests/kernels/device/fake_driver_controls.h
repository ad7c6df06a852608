// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>

#include "colltune/vocabulary/error.h"

namespace colltune::test {

/// What a test tells the library that stands for the CUDA driver, and asks it. At its end
/// everything must have been given back.
class FakeDriver {
 public:
  explicit FakeDriver(const char* library) : library_(::dlopen(library, RTLD_NOW)) {
    if (library_ == nullptr) throw Error(StatusCode::not_found, ::dlerror());
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() {
    EXPECT_EQ(live(), 0) << "handles, addresses or mappings were not given back";
    ::dlclose(library_);
  }
  /// From now on the `nth` call of `function`, and all behind it, fail.
  void fail(const char* function, int nth, int result = 401) const {
    find<void(const char*, int, int)>("fake_driver_fail")(function, nth, result);
  }
  void fail_nothing() const { fail("", 0); }
  void set(int attribute, int value) const {
    find<void(int, int)>("fake_driver_set")(attribute, value);
  }
  /// Handles, addresses and mappings that are not given back.
  [[nodiscard]] int live() const { return find<int()>("fake_driver_live")(); }

 private:
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }
  void* library_;
};

}  // namespace colltune::test
