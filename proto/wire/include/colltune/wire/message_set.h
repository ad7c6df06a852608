// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

namespace google::protobuf {
class Arena;
class Message;
}  // namespace google::protobuf

namespace colltune {

/// The messages of proto/colltune/v1 without their generated code, in a pool of their own.
/// Generated code registers its files in the one pool of a process's libprotobuf, which ends the
/// process at the second copy; of a library that makes its messages here there may be several
/// copies. Thread-safe.
class MessageSet {
 public:
  /// Costs about half a millisecond.
  MessageSet();
  ~MessageSet();
  MessageSet(const MessageSet&) = delete;
  MessageSet& operator=(const MessageSet&) = delete;

  /// An empty message of this type of package colltune.v1, which this object must outlive. Throws
  /// Error(internal) if there is no such type.
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> make(std::string_view type) const;
  /// The same in `arena`, for what is read once: it is parsed with fewer allocations.
  [[nodiscard]] google::protobuf::Message& make(std::string_view type,
                                                google::protobuf::Arena& arena) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colltune
