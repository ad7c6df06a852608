// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "buffers_of_ranks.h"

#include <cstring>
#include <type_traits>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr const char* not_shared =
    "a registered buffer does not lie in symmetric memory that all ranks of the node share";

}  // namespace

BuffersOfRanks::BuffersOfRanks(Communicator& communicator, const Signals& signals, int word,
                               Access access, const CallBuffers& buffers, Deadline deadline)
    : communicator_(communicator),
      signals_(signals),
      word_(word),
      access_(access),
      rank_(communicator.rank()) {
  if (access == Access::direct) {
    known_.resize(2 * static_cast<std::size_t>(communicator.size()));
    const bool is_missing = !is_shared(buffers.send) || !is_shared(buffers.receive);
    if (communicator.all_reduce_max(is_missing ? 1 : 0, deadline) != 0)
      throw Error(StatusCode::failed_precondition, std::string("on some rank ") + not_shared);
  }
  use(buffers);
}

bool BuffersOfRanks::is_shared(std::span<const std::byte> own) const {
  if (own.empty()) return true;
  const auto address = communicator_.symmetric_address_of(own);
  if (!address) return false;
  const auto nodes = communicator_.nodes();
  for (int rank = 0; rank < communicator_.size(); ++rank)
    if (nodes[static_cast<std::size_t>(rank)] == nodes[static_cast<std::size_t>(rank_)] &&
        communicator_.find(*address, rank) == nullptr)
      return false;
  return true;
}

SymmetricAddress BuffersOfRanks::symmetric_address_of(std::span<const std::byte> own) {
  if (own.empty()) return {};
  const auto address = communicator_.symmetric_address_of(own);
  if (!address || (address->allocation != shared_ && !is_shared(own)))
    throw Error(StatusCode::invalid_argument, not_shared);
  shared_ = address->allocation;
  return *address;
}

void BuffersOfRanks::use(const CallBuffers& buffers) {
  if (access_ == Access::cma)
    show<ProcessMemory>({own_memory(buffers.send), own_memory(buffers.receive)});
  else if (access_ == Access::direct)
    show<SymmetricAddress>(
        {symmetric_address_of(buffers.send), symmetric_address_of(buffers.receive)});
  // In place, the smaller buffer is a view into the larger one, through which it is written.
  send_ = const_cast<std::byte*>(buffers.send.data());
  receive_ = buffers.receive.data();
}

template <class Name>
void BuffersOfRanks::show(const Card<Name>& card) const {
  static_assert(sizeof card <= Signals::room && std::is_trivially_copyable_v<Card<Name>>);
  std::memcpy(signals_.beside(rank_, word_), &card, sizeof card);
}

template <class Name>
Name BuffersOfRanks::shown_by(int rank, Space space) const {
  Card<Name> card;
  std::memcpy(&card, signals_.beside(rank, word_), sizeof card);
  return space == Space::send ? card.send : card.receive;
}

std::byte* BuffersOfRanks::mapped(int rank, Space space) {
  const bool is_send = space == Space::send;
  if (rank == rank_) return is_send ? send_ : receive_;
  const auto address = shown_by<SymmetricAddress>(rank, space);
  Known& known = known_[2 * static_cast<std::size_t>(rank) + (is_send ? 0 : 1)];
  if (known.part == nullptr || known.allocation != address.allocation) {
    known = {address.allocation, communicator_.find({address.allocation, 0}, rank)};
    if (known.part == nullptr)
      throw Error(StatusCode::failed_precondition,
                  "rank " + std::to_string(rank) +
                      " gave back the symmetric memory of a call before the call's end");
  }
  return known.part + address.offset;
}

ProcessMemory BuffersOfRanks::far(int rank, Space space) const {
  return shown_by<ProcessMemory>(rank, space);
}

}  // namespace colltune
