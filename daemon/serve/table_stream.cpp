// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table_stream.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "colltune/v1/tuning_service.pb.h"
#include "colltune/wire/convert.h"
#include "colltune/wire/status.h"
#include "message_bytes.h"

namespace colltune {
namespace {

// A message: small, since so many are in memory at once, and large enough that their number does
// not cost.
constexpr std::size_t bytes_per_message = 128U << 10U;
constexpr int decisions_per_message = 256;

const grpc::Status shutting_down{grpc::StatusCode::UNAVAILABLE, "the daemon shuts down"};

}  // namespace

TableStream::TableStream(grpc::CallbackServerContext& context, std::function<TableSlice()> slice,
                         CallGate& calls, StreamGate& streams, WorkLane& lane)
    : context_(context),
      make_slice_(std::move(slice)),
      calls_(calls),
      streams_(streams),
      lane_(lane) {
  is_counted_ = calls_.enter();
  if (!is_counted_)
    Finish(shutting_down);
  else if (!streams_.admit(*this, StreamGate::Clock::now()))
    Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
            "too many callers wait for a table; try again later"});
}

void TableStream::begin() { send(&TableStream::make_first); }

void TableStream::cancel() { context_.TryCancel(); }

void TableStream::wind_up(bool has_begun) {
  is_winding_up_ = true;
  if (!has_begun) Finish(shutting_down);
}

void TableStream::OnWriteDone(bool is_sent) {
  if (!is_sent) return Finish({grpc::StatusCode::CANCELLED, "the caller is gone or does not read"});
  streams_.note_progress(*this, StreamGate::Clock::now());
  if (is_complete()) return Finish(grpc::Status::OK);
  if (is_winding_up_) return Finish(shutting_down);
  send(&TableStream::make_next);
}

void TableStream::OnCancel() {
  if (streams_.withdraw(*this)) Finish({grpc::StatusCode::CANCELLED, "the caller is gone"});
}

void TableStream::OnDone() {
  streams_.leave(*this, StreamGate::Clock::now());
  if (is_counted_) calls_.leave();
  delete this;
}

void TableStream::send(void (TableStream::*make)()) {
  const auto work = [this, make] {
    try {
      (this->*make)();
    } catch (const std::exception& error) {
      return Finish(status_of(error));
    }
    StartWrite(&message_);
  };
  if (!lane_.submit(0, work)) Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too much to do"});
}

bool TableStream::is_complete() const {
  return next_decision_ == slice_.decisions.size() &&
         next_reference_ == slice_.environments.size() + slice_.members.size() +
                                slice_.compositions.size() + slice_.fits.size();
}

void TableStream::make_first() {
  slice_ = make_slice_();
  make_slice_ = nullptr;
  v1::GetTableResponse message;
  write_message(slice_.table->generation(), *message.mutable_generation());
  add_references(message);
  message_ = serialize(message);
}

void TableStream::make_next() {
  v1::GetTableResponse message;
  std::size_t bytes = add_references(message);
  const bool has_references = bytes > 0;
  while (!has_references && bytes < bytes_per_message &&
         message.decisions_size() < decisions_per_message &&
         next_decision_ < slice_.decisions.size()) {
    auto& decision = *message.add_decisions();
    write_message(*slice_.decisions[next_decision_++], decision);
    bytes += decision.ByteSizeLong();
  }
  message_ = serialize(message);
}

std::size_t TableStream::add_references(v1::GetTableResponse& message) {
  std::size_t bytes = 0;
  for (; bytes < bytes_per_message; ++next_reference_) {
    std::size_t index = next_reference_;
    if (index < slice_.environments.size()) {
      const auto& [digest, environment] = *slice_.environments[index];
      auto& record = *message.add_environments();
      record.set_digest(digest);
      write_message(environment, *record.mutable_environment());
      bytes += record.ByteSizeLong();
      continue;
    }
    index -= slice_.environments.size();
    if (index < slice_.members.size()) {
      auto& world = *message.add_members();
      write_message(*slice_.members[index], world);
      bytes += world.ByteSizeLong();
      continue;
    }
    index -= slice_.members.size();
    if (index < slice_.compositions.size()) {
      auto& composition = *message.add_compositions();
      write_message(*slice_.compositions[index], composition);
      bytes += composition.ByteSizeLong();
      continue;
    }
    index -= slice_.compositions.size();
    if (index == slice_.fits.size()) break;
    auto& fit = *message.add_fits();
    write_message(*slice_.fits[index], fit);
    bytes += fit.ByteSizeLong();
  }
  return bytes;
}

}  // namespace colltune
