// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

namespace colltune {

/// Reads `bytes`, which a peer sent, into the empty `message`. Throws what scan_request throws, and
/// std::bad_alloc where memory runs out: unlike gRPC's own, these never end the process.
void parse_request(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);

[[nodiscard]] grpc::ByteBuffer serialize(const google::protobuf::Message& message);

}  // namespace colltune
