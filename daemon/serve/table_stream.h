// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <functional>

#include "call_gate.h"
#include "colltune/serve/lookup_service.h"
#include "colltune/v1/tuning_service.pb.h"
#include "stream_gate.h"
#include "work_lane.h"

namespace colltune {

/// Sends a slice message by message: the generation with what the decisions refer to, then the
/// decisions. The next is made when the last has left, so that a slow client costs one message of
/// memory. Deletes itself when the call is over.
class TableStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                          private StreamGate::Stream {
 public:
  /// `slice` is called when its turn has come, on `lane`, where every message is made.
  TableStream(grpc::CallbackServerContext& context, std::function<TableSlice()> slice,
              CallGate& calls, StreamGate& streams, WorkLane& lane);

  void OnWriteDone(bool is_sent) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void begin() override;
  void cancel() override;
  void wind_up(bool has_begun) override;

  /// Runs `make` on the lane and sends what it puts into `message_`.
  void send(void (TableStream::*make)());
  void make_first();
  void make_next();
  /// As many of those that are left as a message holds; the bytes of what was added.
  std::size_t add_references(v1::GetTableResponse& message);
  /// Whether everything was sent.
  [[nodiscard]] bool is_complete() const;

  grpc::CallbackServerContext& context_;
  std::function<TableSlice()> make_slice_;
  CallGate& calls_;
  StreamGate& streams_;
  WorkLane& lane_;
  bool is_counted_ = false;
  std::atomic<bool> is_winding_up_ = false;
  TableSlice slice_;
  std::size_t next_reference_ = 0;  ///< environments, members, compositions, fits
  std::size_t next_decision_ = 0;
  grpc::ByteBuffer message_;
};

}  // namespace colltune
