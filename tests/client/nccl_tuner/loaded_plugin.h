// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <stdexcept>

namespace colltune::test {

/// A library that NCCL opens, opened with the flags of its plugin_open.cc.
class LoadedPlugin {
 public:
  explicit LoadedPlugin(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;
  ~LoadedPlugin() { dlclose(library_); }

  /// Null where there is none.
  template <class Interface>
  [[nodiscard]] Interface* find(const char* symbol) const {
    return static_cast<Interface*>(dlsym(library_, symbol));
  }
  /// One of the functions of the control interface: `control<decltype(colltune_…)>("colltune_…")`.
  template <class Function>
  [[nodiscard]] Function* control(const char* symbol) const {
    void* const found = dlsym(library_, symbol);
    if (found == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function*>(found);  // NOLINT
  }

 private:
  void* library_;
};

}  // namespace colltune::test
