// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "colltune/client/client.h"
#include "colltune/wire/fields.h"
#include "colltune/wire/message_set.h"

namespace colltune {

/// A client's connection, and its calls as values: the requests and responses of
/// colltune/wire/calls.h. Has no generated code, so that two copies of this library can be in one
/// process. Thread-safe.
class Client::Impl {
 public:
  Impl(const std::string& address, std::chrono::milliseconds deadline);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] bool is_inherited() const;

  /// One call with one response. Throws the daemon's error, Error(data_loss) where the response is
  /// malformed, and Error(failed_precondition) in a process that was forked from the one that made
  /// this client.
  template <class Request>
  [[nodiscard]] typename Request::Response call(const Request& request) const {
    refuse_inherited();
    const auto sent = to_message(request);
    return read<Request>(exchange(Request::name, *sent));
  }

  /// One call with a stream of responses, each of which `take` gets. Throws as call() does.
  template <class Request>
  void call(const Request& request,
            const std::function<void(typename Request::Response&&)>& take) const {
    refuse_inherited();
    const auto sent = to_message(request);
    stream(Request::name, *sent,
           [&](const grpc::ByteBuffer& received) { take(read<Request>(received)); });
  }

 private:
  template <class Request>
  [[nodiscard]] std::unique_ptr<google::protobuf::Message> to_message(
      const Request& request) const {
    auto message = messages_.make(std::string(Request::name) + "Request");
    write_fields(request, *message);
    return message;
  }

  /// If the answer is malformed, the caller is not to blame.
  template <class Request>
  [[nodiscard]] typename Request::Response read(const grpc::ByteBuffer& bytes) const {
    try {
      google::protobuf::Arena arena;
      google::protobuf::Message& message =
          messages_.make(std::string(Request::name) + "Response", arena);
      parse(bytes, message);
      return read_fields<typename Request::Response>(message, "");
    } catch (const Error& error) {
      throw Error(StatusCode::data_loss,
                  std::string("the daemon's answer is malformed: ") + error.what());
    }
  }

  static void parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& message);
  [[nodiscard]] grpc::ByteBuffer exchange(std::string_view call,
                                          const google::protobuf::Message& sent) const;
  void stream(std::string_view call, const google::protobuf::Message& sent,
              const std::function<void(const grpc::ByteBuffer&)>& take) const;

  /// Throws in a process that was forked from the one that made this client. Both would read from
  /// one connection, and the parent's answers would be lost.
  void refuse_inherited() const;
  void set_deadline(grpc::ClientContext& context) const;
  /// Throws the error that `status` carries; if the daemon itself sent no message, with the
  /// address.
  void check(const grpc::Status& status) const;

  std::string address_;
  std::chrono::milliseconds deadline_;
  pid_t process_;
  std::shared_ptr<grpc::Channel> channel_;
  MessageSet messages_;
};

}  // namespace colltune
