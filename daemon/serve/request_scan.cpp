// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "request_scan.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/field_limits.h"

namespace colltune {
namespace {

namespace pb = google::protobuf;
using Wire = pb::internal::WireFormatLite;

/// No message of ours nests deeper; protobuf's own limit is 100.
constexpr int deepest_nesting = 32;

class Scan {
 public:
  explicit Scan(std::string_view bytes)
      : bytes_(bytes),
        in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {}

  void message(const pb::Descriptor& descriptor, const FieldPath& path, int depth) {
    if (depth > deepest_nesting) fail(path, "is nested too deep");
    while (const std::uint32_t tag = in_.ReadTagNoLastTag()) {
      const int number = Wire::GetTagFieldNumber(tag);
      const auto type = Wire::GetTagWireType(tag);
      const pb::FieldDescriptor* field = descriptor.FindFieldByNumber(number);
      if (number == 0) fail_damaged(descriptor, path);
      if (field == nullptr) count(path);
      if (type == Wire::WIRETYPE_LENGTH_DELIMITED)
        delimited(field, descriptor, path, depth);
      else
        skip_number(type, descriptor, path);
    }
    // A tag of 0 is the end; anything before the end is damage.
    if (in_.BytesUntilLimit() > 0 || (depth == 0 && in_.CurrentPosition() != size()))
      fail_damaged(descriptor, path);
  }

  [[nodiscard]] int size() const { return static_cast<int>(bytes_.size()); }

 private:
  [[noreturn]] static void fail(const FieldPath& path, const std::string& what) {
    const std::string where = path.text();
    throw Error(StatusCode::invalid_argument, (where.empty() ? "request" : where) + ": " + what);
  }

  [[noreturn]] static void fail_damaged(const pb::Descriptor& descriptor, const FieldPath& path) {
    fail(path, "the bytes are no serialized " + descriptor.name());
  }

  void count(const FieldPath& path) {
    if (++entries_ > most_request_entries)
      fail(path, "the request holds more than " + std::to_string(most_request_entries) +
                     " texts and messages; ask for less at once");
  }

  void skip_number(Wire::WireType type, const pb::Descriptor& descriptor, const FieldPath& path) {
    std::uint64_t number = 0;
    std::uint32_t half = 0;
    bool is_read = false;
    if (type == Wire::WIRETYPE_VARINT) is_read = in_.ReadVarint64(&number);
    if (type == Wire::WIRETYPE_FIXED64) is_read = in_.ReadLittleEndian64(&number);
    if (type == Wire::WIRETYPE_FIXED32) is_read = in_.ReadLittleEndian32(&half);
    if (!is_read) fail_damaged(descriptor, path);
  }

  void delimited(const pb::FieldDescriptor* field, const pb::Descriptor& descriptor,
                 const FieldPath& path, int depth) {
    std::uint32_t length = 0;
    if (!in_.ReadVarint32(&length)) fail_damaged(descriptor, path);
    const int begin = in_.CurrentPosition();
    const int limit = in_.BytesUntilLimit() >= 0 ? begin + in_.BytesUntilLimit() : size();
    if (length > static_cast<std::uint32_t>(limit - begin)) fail_damaged(descriptor, path);
    const int end = begin + static_cast<int>(length);
    const bool is_message = field && field->type() == pb::FieldDescriptor::TYPE_MESSAGE;
    const bool is_text = field && field->type() == pb::FieldDescriptor::TYPE_STRING;
    if (is_message || is_text) {
      count(path);
      const FieldPath here{&path, field->name()};
      if (is_message) {
        const auto outer = in_.PushLimit(static_cast<int>(length));
        message(*field->message_type(), here, depth + 1);
        in_.PopLimit(outer);
        return;
      }
      if (!is_utf8(bytes_.substr(static_cast<std::size_t>(begin), length)))
        fail(here, "the string is no UTF-8");
    }
    if (!in_.Skip(end - begin)) fail_damaged(descriptor, path);
  }

  std::string_view bytes_;
  pb::io::CodedInputStream in_;
  std::size_t entries_ = 0;
};

}  // namespace

void scan_request(std::string_view bytes, const pb::Descriptor& descriptor) {
  Scan scan(bytes);
  scan.message(descriptor, {}, 0);
}

}  // namespace colltune
