// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

namespace colltune {
namespace {

constexpr int root = 0;
constexpr std::size_t page = 4096;
// Content of a receive buffer before a verified call; no pattern of the oracle repeats one byte.
constexpr int poison = 0xA5;

// For results larger than this, computing the expected period again costs less than reading a
// second copy of the result.
constexpr std::size_t largest_known_result = 1 << 20;

/// A region with guard bytes at both ends. The front ones are padded to a page so that the region
/// is aligned.
std::size_t round_up(Bytes bytes) {
  static_assert(guard_bytes <= page);
  return (bytes.value + guard_bytes + page - 1) / page * page + page;
}

BufferArena::Regions inner_regions(std::span<std::byte> memory, std::size_t half) {
  return {memory.subspan(page, half - page), memory.subspan(half + page, half - page)};
}

/// Neither constant nor of a short period, so that a stray write differs from it.
constexpr std::array<std::byte, guard_bytes> make_guard() {
  std::array<std::byte, guard_bytes> guard{};
  std::uint32_t state = 0x9e3779b9u;
  for (std::byte& byte : guard) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return guard;
}
constexpr std::array<std::byte, guard_bytes> guard_pattern = make_guard();

struct Views {
  std::span<std::byte> send;
  std::span<std::byte> receive;
};

/// In place, the smaller buffer is a view into the larger one: its block number `rank`.
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
  return inner_regions({plain_memory_.get(), plain_bytes_}, plain_bytes_ / 2);
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
  return inner_regions(registered_memory_->part(communicator.rank()).first(registered_bytes_),
                       registered_bytes_ / 2);
}

BufferArena::Regions BufferArena::on(Device& device, BufferSource* source, Bytes bytes,
                                     bool evicts) {
  if (evicts && eviction_.bytes().empty()) {
    const Bytes cache = device.cache_size();
    if (cache.value == 0)
      throw Error(StatusCode::failed_precondition,
                  "the input mode rotating pushes inputs out of the caches, and nobody tells how "
                  "large those of this rank's device are: use rewritten or hot");
    eviction_ = DeviceMemory(device, {2 * cache.value});
  }
  const std::size_t region = round_up(bytes);
  std::span<std::byte> memory;
  if (source == nullptr) {
    if (device_memory_.bytes().size() < 2 * region) {
      device_memory_ = DeviceMemory();
      device_memory_ = DeviceMemory(device, {2 * region});
    }
    memory = device_memory_.bytes();
  } else {
    auto& owned = library_memory_[source];
    if (!owned || owned->bytes().size() < 2 * region) {
      owned.reset();
      owned = source->allocate(device, {2 * region});
    }
    memory = owned->bytes();
  }
  Regions regions = inner_regions(memory, memory.size() / 2);
  regions.device = &device;
  if (evicts) regions.eviction = eviction_.bytes();
  return regions;
}

CellData::CellData(const Problem& problem, const Communicator& world,
                   const BufferArena::Regions& regions)
    : problem_(problem),
      device_(regions.device),
      eviction_(regions.eviction),
      rank_(world.rank()),
      ranks_(world.size()) {
  const Views views = place_buffers(problem, rank_, ranks_, regions);
  send_ = views.send;
  receive_ = views.receive;
  if (problem.in_place) {
    place_guards("the buffer", send_.size() >= receive_.size() ? send_ : receive_);
  } else {
    place_guards("the send buffer", send_);
    place_guards("the receive buffer", receive_);
  }
  run_image_ = input_of({});
}

Call CellData::call() const {
  return {.problem = problem_, .root = root, .buffers = {.send = send_, .receive = receive_}};
}

RunInput CellData::run_input(InputMode mode) const {
  if (mode == InputMode::hot) return {};
  return evicted({.target = send_, .image = run_image_, .device = device_}, mode);
}

RunInput CellData::evicted(RunInput input, InputMode mode) const {
  if (mode != InputMode::rotating) return input;
  input.is_evicted = true;
  input.evicted = device_ == nullptr ? receive_ : eviction_;
  return input;
}

void CellData::write(std::span<std::byte> to, std::span<const std::byte> from) {
  if (device_ == nullptr)
    std::ranges::copy(from, to.begin());
  else
    device_->write(to.data(), from);
}

std::span<const std::byte> CellData::look_at(std::span<const std::byte> bytes) {
  if (device_ == nullptr) return bytes;
  from_device_.resize(bytes.size());
  device_->read(from_device_, bytes.data());
  return from_device_;
}

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

void CellData::place_guards(const std::string& name, std::span<std::byte> buffer) {
  guards_.push_back({{buffer.data() - guard_bytes, guard_bytes}, "before " + name});
  guards_.push_back({{buffer.data() + buffer.size(), guard_bytes}, "behind " + name});
  for (const Guard& guard : guards_) write(guard.bytes, guard_pattern);
}

bool CellData::keeps_input() const {
  // In place the result overwrites the input. Exceptions are a rank that receives nothing, and the
  // root of a scatter, whose own block is sent to itself. What reduce_scatter leaves in the other
  // blocks is undefined.
  return !problem_.in_place || receive_.empty() || problem_.collective == Collective::scatter;
}

std::optional<Fault> CellData::inspect_guards() {
  std::string damage;
  for (const Guard& guard : guards_) {
    const std::span<const std::byte> found = look_at(guard.bytes);
    if (std::memcmp(found.data(), guard_pattern.data(), guard_bytes) == 0) continue;
    std::size_t changed = 0;
    for (std::size_t i = 0; i < guard_bytes; ++i) changed += found[i] != guard_pattern[i];
    damage +=
        fmt::format("{}wrote {} byte(s) {}", damage.empty() ? "" : ", ", changed, guard.place);
    write(guard.bytes, guard_pattern);
  }
  if (damage.empty()) return std::nullopt;
  return Fault{Outcome::wrong, damage};
}

std::optional<Fault> CellData::compare(const Check& check) {
  if (receive_.empty()) return std::nullopt;
  KnownResult& known =
      results_[check.pattern == DataPattern::exact ? 0 : 1][static_cast<std::size_t>(check.seed)];
  const std::span<const std::byte> received = look_at(receive_);
  const bool may_use =
      !known.bytes.empty() && (known.is_strict || known.rounding == check.rounding);
  if (may_use && std::memcmp(known.bytes.data(), received.data(), received.size()) == 0)
    return std::nullopt;
  if (const auto mismatch = find_mismatch(verified_call(check), rank_, check.rounding, received))
    return Fault{Outcome::wrong, fmt::format("element {} is {}, expected {}", mismatch->element,
                                             mismatch->got, mismatch->expected)};
  const bool is_strict = check.rounding != Rounding::each_step ||
                         (check.pattern == DataPattern::exact && !averages(problem_));
  if (received.size() <= largest_known_result && !known.is_strict)
    known = {{received.begin(), received.end()}, check.rounding, is_strict};
  return std::nullopt;
}

RunInput CellData::arm(const Check& check, InputMode mode) {
  const RunInput input =
      evicted({.target = send_, .image = input_of(check), .device = device_}, mode);
  // In place, the input lies within (or around) the poison, so it is written after the poison.
  if (receive_.empty()) return input;
  if (device_ == nullptr)
    std::memset(receive_.data(), poison, receive_.size());
  else
    device_->fill(receive_, poison);
  return input;
}

std::optional<Fault> CellData::inspect(const Check& check) {
  // The guards are checked even if the result is wrong: damage that stays would be blamed on the
  // next variant.
  auto stray = inspect_guards();
  if (auto fault = compare(check)) return fault;
  if (stray) return stray;
  const std::span<const std::byte> input = input_of(check);
  if (!keeps_input() || send_.empty()) return std::nullopt;
  const std::span<const std::byte> sent = look_at(send_);
  if (std::memcmp(sent.data(), input.data(), sent.size()) == 0) return std::nullopt;
  const auto changed = std::ranges::mismatch(sent, input).in1 - sent.begin();
  return Fault{Outcome::wrong, fmt::format("changed byte {} of its input", changed)};
}

}  // namespace colltune
