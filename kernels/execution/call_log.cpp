// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/call_log.h"

#include <fmt/format.h>

#include <optional>

namespace colltune {
namespace {

/// Instead of the kind of a call that is never made.
constexpr std::uint64_t ended = ~std::uint64_t{0};

}  // namespace

CallLog::CallLog() : alone_(std::make_unique<Line[]>(lines)), own_{.first = alone_.get()} {
  lines_.push_back(own_.first);
}

CallLog::CallLog(Communicator& communicator, Deadline deadline)
    : memory_(communicator.allocate({lines * sizeof(Line)}, deadline)), rank_(communicator.rank()) {
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const std::span<std::byte> part = memory_->part(rank);
    lines_.push_back(part.empty() ? nullptr : reinterpret_cast<Line*>(part.data()));
    if (rank != rank_ && !part.empty()) others_.push_back(rank);
  }
  own_.first = lines_[static_cast<std::size_t>(rank_)];
}

CallLog::Entry CallLog::entry_of(const ProgramCall& call) noexcept {
  return {{.bytes = call.message_size.value,
           .kind = static_cast<std::uint64_t>(call.collective) |
                   static_cast<std::uint64_t>(call.data_type) << 8U |
                   static_cast<std::uint64_t>(call.reduce_op) << 16U |
                   static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 24U |
                   static_cast<std::uint64_t>(call.counts) << 56U}};
}

void CallLog::end(bool in_call) noexcept {
  for (std::uint64_t next = in_call ? 0 : 1; next < lines; ++next) {
    Line& one = own_.first[(own_.calls + next) % lines];
    put(one.number, 0);
    put(one.kind, ended);
    put(one.number, own_.calls + next);
  }
}

void CallLog::compare() const {
  const auto text_of = [](const Entry& entry) {
    return describe({.collective = static_cast<Collective>(entry.kind & 0xff),
                     .data_type = static_cast<DataType>(entry.kind >> 8U & 0xff),
                     .reduce_op = static_cast<ReduceOp>(entry.kind >> 16U & 0xff),
                     .root = static_cast<int>(static_cast<std::uint32_t>(entry.kind >> 24U)),
                     .message_size = {entry.bytes},
                     .counts = static_cast<Counts>(entry.kind >> 56U)});
  };
  const auto read = [&](int rank) -> std::optional<Entry> {
    Line& one = lines_[static_cast<std::size_t>(rank)][own_.calls % lines];
    if (get(one.number) != own_.calls) return {};
    const Entry entry{{.bytes = get(one.bytes), .kind = get(one.kind)}};
    if (get(one.number) != own_.calls) return {};
    return entry;
  };
  const auto own = read(rank_);
  if (!own || own->kind == ended) return;
  for (const int rank : others_) {
    const auto other = read(rank);
    if (!other || *other == *own) continue;
    if (other->kind == ended)
      throw Error(
          StatusCode::aborted,
          fmt::format("rank {} makes no further calls, since one failed there; rank {} waits "
                      "for it in call {}: {}",
                      rank, rank_, own_.calls, text_of(*own)));
    throw Error(StatusCode::failed_precondition,
                fmt::format("the ranks of a communicator make different calls as their call {}: "
                            "rank {} {}; rank {} {}",
                            own_.calls, rank_, text_of(*own), rank, text_of(*other)));
  }
}

}  // namespace colltune
