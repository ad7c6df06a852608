// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "between_stages.h"

#include <functional>
#include <string>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/arithmetic/reduction.h"

namespace colltune {
namespace {

bool lies_in(std::span<const std::byte> bytes, const std::byte* address) {
  return std::less_equal<>{}(bytes.data(), address) &&
         std::less<>{}(address, bytes.data() + bytes.size());
}

}  // namespace

Move::Move(const CallBuffers& from, const CallBuffers& to) : from_(from) {
  check_bound_sizes(from, to);
  if (!from.send.empty()) send_ = to.send.data() - from.send.data();
  if (!from.receive.empty()) receive_ = to.receive.data() - from.receive.data();
  // In place, what belongs to both buffers must move as one.
  const bool overlap =
      !from.send.empty() && !from.receive.empty() &&
      (lies_in(from.receive, from.send.data()) || lies_in(from.send, from.receive.data()));
  if (overlap && send_ != receive_)
    throw Error(StatusCode::invalid_argument,
                "this call was prepared in place, and its new buffers do not lie in each other "
                "in the same way");
}

std::ptrdiff_t Move::distance_of(const std::byte* address) const {
  if (lies_in(from_.receive, address)) return receive_;
  return lies_in(from_.send, address) ? send_ : 0;
}

void Copies::follow(const Move& move) {
  for (One& one : all_) {
    one.to = move(one.to);
    one.from = move(one.from);
  }
}

void Copies::add(std::byte* to, const std::byte* from, std::size_t size) {
  if (size == 0) return;
  if (!all_.empty() && all_.back().to + all_.back().size == to &&
      all_.back().from + all_.back().size == from)
    all_.back().size += size;
  else
    all_.push_back({to, from, size});
}

void Copies::run(Device* device) const {
  for (const One& one : all_)
    if (device != nullptr)
      device->copy(one.to, {one.from, one.size});
    else
      copy_bytes(one.to, one.from, one.size, CopyMode::cached);
}

Division::Division(std::span<std::byte> sum, DataType type, int ranks, Device* device)
    : sum_(sum), type_(type), ranks_(ranks), on_host_(device == nullptr ? 0 : sum.size()) {}

void Division::run(Device* device) {
  if (sum_.empty()) return;
  const std::size_t count = sum_.size() / size_of(type_);
  if (device == nullptr) return divide_by_ranks(sum_.data(), count, type_, ranks_);
  device->read(on_host_, sum_.data());
  divide_by_ranks(on_host_.data(), count, type_, ranks_);
  device->write(sum_.data(), on_host_);
}

std::span<std::byte> StageMemory::add(Bytes size, Device* device) {
  if (has_reserve_) {
    if (rounded(size).value > reserve_.size() - taken_)
      throw Error(StatusCode::internal,
                  "the memory between stages has " + std::to_string(reserve_.size() - taken_) +
                      " bytes left, and a stage needs " + std::to_string(size.value));
    const std::span<std::byte> part = reserve_.subspan(taken_, size.value);
    taken_ += rounded(size).value;
    return part;
  }
  if (device != nullptr) {
    const std::span<std::byte> memory = on_device_.emplace_back(*device, size).bytes();
    device->fill(memory, 0);
    return memory;
  }
  on_host_.emplace_back((size.value + sizeof(Line) - 1) / sizeof(Line));
  return std::as_writable_bytes(std::span(on_host_.back())).first(size.value);
}

void StageMemory::reserve(Bytes size, Device* device) {
  if (size != Bytes{}) reserve_ = add(rounded(size), device);
  has_reserve_ = true;
  taken_ = 0;
}

}  // namespace colltune
