// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace colltune {

/// Keeps `owned`, and what it owns, as long as the process: a library that was asked to let go of
/// it has not, and may still touch it. No leak to those who look for leaks.
template <class T>
void keep_for_good(std::unique_ptr<T> owned) noexcept {
  [[maybe_unused]] const T* const kept = owned.release();
#ifdef __SANITIZE_ADDRESS__
  if (kept != nullptr) __lsan_ignore_object(kept);
#endif
}

}  // namespace colltune
