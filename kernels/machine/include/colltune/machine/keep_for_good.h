// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace colltune {

/// Leaks `owned`, and what it owns, on purpose: a library was asked to release it, did not, and may
/// still touch it. Leak checkers do not report it.
template <class T>
void keep_for_good(std::unique_ptr<T> owned) noexcept {
  [[maybe_unused]] const T* const kept = owned.release();
#ifdef __SANITIZE_ADDRESS__
  if (kept != nullptr) __lsan_ignore_object(kept);
#endif
}

}  // namespace colltune
