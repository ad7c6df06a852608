// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/wire/status.h"

#include <new>
#include <string>
#include <string_view>

namespace colltune {
namespace {

// A status travels in the trailers. Clients accept 8 KiB of headers by default, and every byte
// outside ASCII is sent as three.
constexpr std::size_t longest_message = 2400;

std::string cut(std::string_view message) {
  if (message.size() <= longest_message) return std::string(message);
  std::size_t end = longest_message;
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
  return std::string(message.substr(0, end)) + " ...";
}

StatusCode code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::OUT_OF_RANGE:
    case grpc::StatusCode::UNIMPLEMENTED:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
      return static_cast<StatusCode>(code);  // the same numbers on both sides
    case grpc::StatusCode::CANCELLED:
      return StatusCode::aborted;
    case grpc::StatusCode::UNAUTHENTICATED:
      return StatusCode::permission_denied;
    case grpc::StatusCode::OK:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DO_NOT_USE:
      return StatusCode::internal;
  }
  return StatusCode::internal;
}

}  // namespace

grpc::Status status_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "out of memory; ask for less at once"};
  const auto* known = dynamic_cast<const Error*>(&error);
  const auto code =
      known ? static_cast<grpc::StatusCode>(known->code()) : grpc::StatusCode::INTERNAL;
  return {code, cut(error.what())};
}

Error error_of(const grpc::Status& status) {
  return {code_of(status.error_code()), status.error_message()};
}

}  // namespace colltune
