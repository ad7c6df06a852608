// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace colltune {
namespace {

constexpr int root = 0;
constexpr std::size_t page = 4096;
// What a receive buffer holds before a verified call: no pattern of the oracle repeats one byte.
constexpr int poison = 0xA5;

std::size_t round_up(Bytes bytes) { return (bytes.value + page) / page * page; }

struct Views {
  std::span<std::byte> send;
  std::span<std::byte> receive;
};

/// In place, the smaller buffer is a view into the larger one: block `rank` of it.
Views place_buffers(const Problem& problem, int rank, int ranks,
                    const BufferArena::Regions& regions) {
  const std::size_t send = send_size(problem, ranks, rank == root).value;
  const std::size_t receive = receive_size(problem, ranks, rank == root).value;
  if (!problem.in_place) return {regions.first.first(send), regions.second.first(receive)};
  const std::span<std::byte> larger = regions.first.first(std::max(send, receive));
  const std::size_t smaller = std::min(send, receive);
  const std::size_t offset =
      send == receive || smaller == 0 ? 0 : smaller * static_cast<std::size_t>(rank);
  const std::span<std::byte> view = larger.subspan(offset, smaller);
  return send >= receive ? Views{larger, view} : Views{view, larger};
}

}  // namespace

void BufferArena::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

BufferArena::Regions BufferArena::plain(Bytes bytes) {
  const std::size_t region = round_up(bytes);
  if (plain_bytes_ < 2 * region) {
    plain_memory_.reset();
    plain_bytes_ = 0;
    plain_memory_.reset(static_cast<std::byte*>(std::aligned_alloc(page, 2 * region)));
    if (!plain_memory_) throw std::bad_alloc();
    plain_bytes_ = 2 * region;
    std::memset(plain_memory_.get(), 0, plain_bytes_);
  }
  return {{plain_memory_.get(), region}, {plain_memory_.get() + plain_bytes_ / 2, region}};
}

BufferArena::Regions BufferArena::registered(Communicator& communicator, Bytes bytes,
                                             Deadline deadline) {
  const std::size_t region = round_up(bytes);
  if (registered_bytes_ < 2 * region) {
    registered_memory_.reset();
    registered_bytes_ = 0;
    registered_memory_ = communicator.allocate({2 * region}, deadline);
    registered_bytes_ = 2 * region;
  }
  const auto part = registered_memory_->part(communicator.rank());
  return {part.first(region), part.subspan(registered_bytes_ / 2, region)};
}

CellData::CellData(const Problem& problem, const Communicator& world,
                   const BufferArena::Regions& regions)
    : problem_(problem), rank_(world.rank()), ranks_(world.size()) {
  const Views views = place_buffers(problem, rank_, ranks_, regions);
  send_ = views.send;
  receive_ = views.receive;
  run_image_ = input_of({});
}

Call CellData::call() const {
  return {.problem = problem_, .root = root, .buffers = {.send = send_, .receive = receive_}};
}

RunInput CellData::run_input() const { return {.target = send_, .image = run_image_}; }

VerifiedCall CellData::verified_call(const Check& check) const {
  return {.problem = problem_,
          .ranks = ranks_,
          .root = root,
          .pattern = check.pattern,
          .seed = static_cast<std::uint64_t>(check.seed)};
}

std::span<const std::byte> CellData::input_of(const Check& check) {
  auto& slot =
      inputs_[check.pattern == DataPattern::exact ? 0 : 1][static_cast<std::size_t>(check.seed)];
  if (!slot) {
    slot.emplace(send_.size());
    fill_send(verified_call(check), rank_, *slot);
  }
  return *slot;
}

std::optional<Fault> CellData::verify(Communicator& world, Operation* operation, const Check& check,
                                      const RunLimits& limits) {
  const RunInput input{.target = send_, .image = input_of(check)};
  if (!receive_.empty()) std::memset(receive_.data(), poison, receive_.size());
  // In place, the input lies within (or around) the poison: start_together writes it after that.
  const Deadline deadline = start_together(world, input, limits);
  if (operation == nullptr) return std::nullopt;
  std::optional<Mismatch> mismatch;
  if (auto fault = catch_fault([&] {
        operation->start();
        operation->wait(deadline);
        mismatch = find_mismatch(verified_call(check), rank_, check.rounding, receive_);
      }))
    return fault;
  if (!mismatch) return std::nullopt;
  return Fault{Outcome::wrong, fmt::format("element {} is {}, expected {}", mismatch->element,
                                           mismatch->got, mismatch->expected)};
}

}  // namespace colltune
