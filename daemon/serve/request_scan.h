// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <string_view>

namespace colltune {

/// The most texts, messages and unknown fields that a request holds. It bounds what parsing one
/// allocates: an empty message takes 2 bytes on the wire and a hundred in memory.
inline constexpr std::size_t most_request_entries = std::size_t{1} << 17U;

/// Looks over a serialized message of the type `descriptor` before anything is allocated for it.
/// Throws Error(invalid_argument) where it cannot be parsed, where a text is no UTF-8 (the message
/// names it by its path: "query.family: …"), and where it holds more than most_request_entries.
void scan_request(std::string_view bytes, const google::protobuf::Descriptor& descriptor);

}  // namespace colltune
