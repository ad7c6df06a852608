// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace google::protobuf {
class Message;
}

namespace colltune {

/// Writes `value` into the empty `message`, field by field by its name: a message of the type that
/// carries a T, be it of the generated code (convert.h) or of a MessageSet. For the vocabulary's
/// types that convert.h lists, and the requests of calls.h.
template <class T>
void write_fields(const T& value, google::protobuf::Message& message);

/// Reads and validates `message`. Throws Error(invalid_argument) that begins with the path of the
/// field, from `where` on ("query.problem.data_type: …"): unknown or missing enum values, missing
/// sub-messages, negative or too large numbers, over-long strings, too many members, and what the
/// vocabulary itself refuses (colltune/vocabulary/field_limits.h lists the limits). For the
/// vocabulary's types that convert.h lists, and the responses of calls.h.
template <class T>
[[nodiscard]] T read_fields(const google::protobuf::Message& message, std::string_view where);

}  // namespace colltune
