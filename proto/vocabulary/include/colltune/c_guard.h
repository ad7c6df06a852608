// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

#include "colltune/error.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

/// What a function of a C interface returns for it.
constexpr int code_for_c(StatusCode code) { return static_cast<int>(code); }

/// Writes code and text to `error`, if it is not null and says its size. Returns the code.
inline int report_to_c(colltune_error* error, StatusCode code, const char* message) noexcept {
  if (error != nullptr && error->struct_size >= sizeof(colltune_error)) {
    error->code = code_for_c(code);
    const std::size_t length = std::min(std::strlen(message), sizeof error->message - 1);
    std::memcpy(error->message, message, length);
    error->message[length] = 0;
  }
  return code_for_c(code);
}

/// For a function of a C interface: runs `body`; returns 0, or the code of what it threw.
template <class Body>
int guard_for_c(colltune_error* error, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& thrown) {
    return report_to_c(error, thrown.code(), thrown.what());
  } catch (const std::bad_alloc&) {
    return report_to_c(error, StatusCode::resource_exhausted, "out of memory");
  } catch (const std::exception& thrown) {
    return report_to_c(error, StatusCode::internal, thrown.what());
  } catch (...) {
    return report_to_c(error, StatusCode::internal, "unknown exception");
  }
}

}  // namespace colltune
