// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/error.h"

namespace colltune {

int exit_code_of(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::invalid_argument:
    case StatusCode::out_of_range:
    case StatusCode::failed_precondition:
    case StatusCode::already_exists:
    case StatusCode::permission_denied:
      return 2;
    case StatusCode::not_found:
      return 3;
    case StatusCode::unavailable:
    case StatusCode::deadline_exceeded:
    case StatusCode::resource_exhausted:
      return 4;
    case StatusCode::data_loss:
      return 5;
    case StatusCode::aborted:
    case StatusCode::unimplemented:
    case StatusCode::internal:
      return 1;
  }
  return 1;
}

}  // namespace colltune
