// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "call_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "colltune/vocabulary/problem.h"

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

/// Of a message.
constexpr std::size_t most_bytes = std::numeric_limits<std::size_t>::max() / 2;

void check_list(const CollectiveCall& call, int ranks) {
  const std::string_view name = name_of(call.collective);
  if (!may_have_unequal_counts({.collective = call.collective}))
    refuse(fmt::format("{} takes no list of counts; all_gather and reduce_scatter do", name));
  const std::span<const std::size_t> counts = *call.counts;
  if (counts.data() == nullptr)
    refuse(fmt::format("{}: the list of counts is null; it needs one for each of the {} ranks",
                       name, ranks));
  if (counts.size() != static_cast<std::size_t>(ranks))
    refuse(fmt::format("{}: the list has {} counts; it needs one for each of the {} ranks", name,
                       counts.size(), ranks));
  if (call.count != 0)
    refuse(fmt::format("{}: the count is {} beside a list of counts; it must be 0 then", name,
                       call.count));
  std::size_t left = most_bytes / size_of(call.data_type);
  for (std::size_t rank = 0; rank < counts.size(); left -= counts[rank++])
    if (counts[rank] > left)
      refuse(fmt::format(
          "{} of {} elements of rank {}, and those of the ranks before it: more than an address "
          "space holds",
          name, counts[rank], rank));
}

/// From a list that is valid.
void set_blocks(const CollectiveCall& call, std::vector<std::size_t>& blocks,
                CheckedCall& checked) {
  blocks.clear();
  std::size_t message = 0;
  for (const std::size_t count : *call.counts) {
    blocks.push_back(count * size_of(call.data_type));
    message += blocks.back();
  }
  checked.program.message_size = {message};
  checked.program.counts = counts_class(blocks);
  if (checked.program.counts == Counts::equal) {
    checked.block = blocks.front();
    return;
  }
  checked.blocks = blocks;
  checked.has_empty_block = std::ranges::find(blocks, std::size_t{0}) != blocks.end();
}

/// The bytes of a rank's block, and where it begins in a buffer of all blocks.
struct OwnPlace {
  std::size_t size = 0;
  std::size_t begin = 0;
};
OwnPlace place_of(const CheckedCall& checked, int rank) {
  const auto own = static_cast<std::size_t>(rank);
  if (checked.blocks.empty()) return {checked.block, own * checked.block};
  OwnPlace place{.size = checked.blocks[own]};
  for (const std::size_t before : checked.blocks.first(own)) place.begin += before;
  return place;
}

}  // namespace

CheckedCall check_alike(const CollectiveCall& call, int ranks, std::vector<std::size_t>& blocks) {
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
  if (shape.reduces) {
    checked.program.data_type = call.data_type;
    checked.program.reduce_op = call.reduce_op;
  }
  if (call.counts) {
    check_list(call, ranks);
    set_blocks(call, blocks, checked);
    return checked;
  }
  const std::size_t all_blocks = shape.has_block_per_rank() ? static_cast<std::size_t>(ranks) : 1;
  const std::size_t element = size_of(call.data_type);
  if (call.count > most_bytes / element / all_blocks) [[unlikely]]
    refuse(fmt::format("{} of {} elements: more than an address space holds",
                       name_of(call.collective), call.count));
  checked.block = call.count * element;
  checked.program.message_size = {checked.block * all_blocks};
  return checked;
}

OwnBuffers check_own(const CollectiveCall& call, const CheckedCall& checked, int rank) {
  const BlockLayout& shape = checked.shape;
  const bool is_root = rank == call.root;
  const OwnPlace place = place_of(checked, rank);
  const auto bytes_of = [&](bool only_root, bool per_rank) {
    return only_root && !is_root ? 0 : per_rank ? checked.program.message_size.value : place.size;
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
  own.in_place = send == receive  ? first == other
                 : send < receive ? first == other + place.begin
                                  : other == first + place.begin;
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
                      .in_place = own.in_place,
                      .counts = checked.program.counts},
          .root = checked.program.root,
          .buffers = own.buffers,
          .blocks = checked.blocks};
}

}  // namespace colltune
