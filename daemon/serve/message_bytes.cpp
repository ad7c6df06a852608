// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "message_bytes.h"

#include <memory>
#include <string>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "request_scan.h"

namespace colltune {

void parse_request(const grpc::ByteBuffer& bytes, google::protobuf::Message& message) {
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok())
    throw Error(StatusCode::invalid_argument, "request: the bytes cannot be decompressed");
  std::string joined;
  std::string_view text;
  if (slices.size() == 1) {
    text = {reinterpret_cast<const char*>(slices[0].begin()), slices[0].size()};
  } else {
    joined.reserve(bytes.Length());
    for (const grpc::Slice& slice : slices)
      joined.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    text = joined;
  }
  scan_request(text, *message.GetDescriptor());
  if (!message.ParseFromArray(text.data(), static_cast<int>(text.size())))
    throw Error(StatusCode::invalid_argument,
                "request: the bytes are no serialized " + message.GetDescriptor()->name());
}

grpc::ByteBuffer serialize(const google::protobuf::Message& message) {
  auto text = std::make_unique<std::string>(message.SerializeAsString());
  std::string* const owned = text.get();
  const grpc::Slice slice(
      owned->data(), owned->size(), [](void* held) { delete static_cast<std::string*>(held); },
      text.release());
  return {&slice, 1};
}

}  // namespace colltune
