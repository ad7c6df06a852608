// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <exception>

#include "colltune/vocabulary/error.h"

namespace colltune {

/// The status that a handler finishes with after `error`: an Error's own code,
/// RESOURCE_EXHAUSTED where memory ran out, INTERNAL for any other exception. The message is cut to
/// what fits into a peer's header limit.
[[nodiscard]] grpc::Status status_of(const std::exception& error);

/// The error that a client throws for a status that is not OK. Codes that the vocabulary lacks
/// become the nearest one: CANCELLED aborted, UNAUTHENTICATED permission_denied, UNKNOWN internal.
[[nodiscard]] Error error_of(const grpc::Status& status);

}  // namespace colltune
