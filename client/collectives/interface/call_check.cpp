// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "call_check.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace colltune {
namespace {

template <class Enum>
constexpr bool is_numbered_from_zero() {
  std::size_t next = 0;
  for (const auto& named : enum_names(Enum{}))
    if (static_cast<std::size_t>(named.value) != next++) return false;
  return true;
}

[[noreturn]] void refuse(std::string text) {
  throw Error(StatusCode::invalid_argument, std::move(text));
}

/// A value that a C program or a cast may have made of any number.
template <class Enum>
void check_known(Enum value) {
  static_assert(is_numbered_from_zero<Enum>());
  if (static_cast<std::size_t>(value) >= enum_names(Enum{}).size()) [[unlikely]]
    refuse(fmt::format("{} is no {}; allowed are {}", static_cast<std::int64_t>(value),
                       enum_title(Enum{}), allowed_names<Enum>()));
}

}  // namespace

CheckedCall check_alike(const CollectiveCall& call, int ranks) {
  check_known(call.collective);
  check_known(call.data_type);
  check_known(call.reduce_op);
  CheckedCall checked{.program = {.collective = call.collective},
                      .data_type = call.data_type,
                      .shape = shape_of(call.collective)};
  const BlockLayout& shape = checked.shape;
  if (shape.reduces != (call.reduce_op != ReduceOp::none)) [[unlikely]]
    refuse(fmt::format("{} with the operator {}: it {}", name_of(call.collective),
                       name_of(call.reduce_op),
                       shape.reduces ? "needs one of sum, prod, min, max, avg" : "takes none"));
  if (shape.has_root) {
    if (call.root < 0 || call.root >= ranks) [[unlikely]]
      refuse(fmt::format("{}: the root is rank {}; allowed are 0 to {}", name_of(call.collective),
                         call.root, ranks - 1));
    checked.program.root = call.root;
  }
  const std::size_t blocks = shape.has_block_per_rank() ? static_cast<std::size_t>(ranks) : 1;
  const std::size_t element = size_of(call.data_type);
  if (call.count > std::numeric_limits<std::size_t>::max() / 2 / element / blocks) [[unlikely]]
    refuse(fmt::format("{} of {} elements: more than an address space holds",
                       name_of(call.collective), call.count));
  checked.block = call.count * element;
  checked.program.message_size = {checked.block * blocks};
  if (shape.reduces) {
    checked.program.data_type = call.data_type;
    checked.program.reduce_op = call.reduce_op;
  }
  return checked;
}

OwnBuffers check_own(const CollectiveCall& call, const CheckedCall& checked, int rank, int ranks) {
  const BlockLayout& shape = checked.shape;
  const bool is_root = rank == call.root;
  const auto bytes_of = [&](bool only_root, bool per_rank) {
    return only_root && !is_root ? 0
           : per_rank            ? checked.block * static_cast<std::size_t>(ranks)
                                 : checked.block;
  };
  const std::size_t send = bytes_of(shape.only_root_sends, shape.sends_block_per_rank);
  const std::size_t receive = bytes_of(shape.only_root_receives, shape.receives_block_per_rank);
  const bool has_one_buffer = call.collective == Collective::broadcast;
  const auto* const from = static_cast<const std::byte*>(has_one_buffer ? call.receive : call.send);
  auto* const to = static_cast<std::byte*>(call.receive);
  if (receive > 0 && to == nullptr) [[unlikely]]
    refuse(fmt::format("{}: rank {} needs a buffer to receive {} bytes, and it is null",
                       describe(checked.program), rank, receive));
  if (send > 0 && from == nullptr) [[unlikely]]
    refuse(fmt::format("{}: rank {} needs a buffer to send {} bytes, and it is null",
                       describe(checked.program), rank, send));
  OwnBuffers own;
  own.buffers.send = {send > 0 ? from : nullptr, send};
  own.buffers.receive = {receive > 0 ? to : nullptr, receive};
  if (has_one_buffer) {
    own.in_place = true;
    return own;
  }
  if (send == 0 || receive == 0) return own;
  // As numbers: pointers to different arrays have no order.
  const auto first = reinterpret_cast<std::uintptr_t>(from);
  const auto other = reinterpret_cast<std::uintptr_t>(to);
  const std::uintptr_t place = static_cast<std::uintptr_t>(rank) * checked.block;
  own.in_place = send == receive  ? first == other
                 : send < receive ? first == other + place
                                  : other == first + place;
  if (!own.in_place && first < other + receive && other < first + send) [[unlikely]]
    refuse(fmt::format("{}: on rank {} the buffers overlap, and not as in place: {}",
                       describe(checked.program), rank,
                       send == receive ? "they have one address"
                                       : "the smaller is the rank's own block of the larger"));
  return own;
}

Call kernel_call(const CheckedCall& checked, const OwnBuffers& own) {
  return {.problem = {.collective = checked.program.collective,
                      .data_type = checked.data_type,
                      .reduce_op = checked.program.reduce_op,
                      .message_size = checked.program.message_size,
                      .in_place = own.in_place},
          .root = checked.program.root,
          .buffers = own.buffers};
}

}  // namespace colltune
