// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "cell_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "colltune/sweep/measure/measure.h"

namespace colltune {
namespace {

constexpr int root = 0;
constexpr std::size_t page = 4096;
constexpr std::size_t line = 64;
// From this size on a program's allocator gives a buffer pages of its own.
constexpr std::size_t smallest_on_pages = 32 << 10;
// A run has no more calls than this without the pairs' lists growing.
constexpr std::size_t usual_calls = 16;
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

/// The buffers at `offset` in the regions. In place, the smaller buffer is a view into the larger
/// one: its block number `rank`.
Views place_buffers(const Problem& problem, int rank, int ranks,
                    std::span<const std::size_t> blocks, const BufferArena::Regions& regions,
                    std::size_t offset_of_pair, const PairLayout::Shift& shift) {
  const std::span<std::byte> first = regions.first.subspan(offset_of_pair + shift.send);
  const std::span<std::byte> second = regions.second.subspan(offset_of_pair + shift.receive);
  const std::size_t send = send_size(problem, ranks, blocks, rank, root).value;
  const std::size_t receive = receive_size(problem, ranks, blocks, rank, root).value;
  if (!problem.in_place) return {first.first(send), second.first(receive)};
  const std::span<std::byte> larger = first.first(std::max(send, receive));
  const std::size_t smaller = std::min(send, receive);
  std::size_t offset =
      send == receive || smaller == 0 ? 0 : smaller * static_cast<std::size_t>(rank);
  if (!blocks.empty()) {
    const auto before = blocks.first(static_cast<std::size_t>(rank));
    offset = std::accumulate(before.begin(), before.end(), std::size_t{0});
  }
  const std::span<std::byte> view = larger.subspan(offset, smaller);
  const bool sends_larger =
      send > receive || (send == receive && !shape_of(problem.collective).receives_block_per_rank);
  return sends_larger ? Views{larger, view} : Views{view, larger};
}

}  // namespace

PairLayout PairLayout::of(Bytes message, Calling calling) {
  const std::size_t size = message.value;
  const auto up = [](std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
  };
  PairLayout layout;
  const std::size_t needed = size + 2 * guard_bytes + units * unit;
  if (size >= smallest_on_pages) {
    layout.stride = up(needed, page);
  } else {
    // An odd number of lines, so that pairs do not share the sets of a cache.
    layout.stride = up(needed, line);
    if (layout.stride / line % 2 == 0) layout.stride += line;
  }
  layout.count = fewest_buffer_pairs(calling);
  if (calling == Calling::each)
    layout.count =
        std::max(layout.count, (least_footprint + 2 * layout.stride - 1) / (2 * layout.stride));
  return layout;
}

Bytes region_size(Bytes largest, Calling calling) {
  const PairLayout of_largest = PairLayout::of(largest, calling);
  if (calling == Calling::persistent) return {of_largest.stride};
  // Smaller messages have more pairs, which take the least footprint and less than one pair more.
  return {std::max(fewest_buffer_pairs(calling) * of_largest.stride,
                   PairLayout::least_footprint / 2 + of_largest.stride)};
}

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
    const Bytes cache = device.facts().cache_size;
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

CellData::CellData(const Problem& problem, Calling calling, const Communicator& world,
                   const BufferArena::Regions& regions)
    : problem_(problem),
      blocks_(typical_blocks(problem, world.size())),
      device_(regions.device),
      eviction_{regions.eviction},
      rank_(world.rank()),
      ranks_(world.size()),
      calling_(calling) {
  const PairLayout layout = PairLayout::of(problem.message_size, calling);
  // Symmetric memory and that of devices come from allocators that align to more.
  const bool is_by_allocator = device_ == nullptr && !problem.registered;
  for (std::size_t i = 0; i < layout.count; ++i) {
    const Views views =
        place_buffers(problem, rank_, ranks_, blocks_, regions, i * layout.stride,
                      is_by_allocator ? PairLayout::shift_by_allocator(i) : PairLayout::Shift{});
    Pair pair{.send = views.send, .receive = views.receive};
    if (problem.in_place) {
      place_guards(pair, "before the buffer", "behind the buffer",
                   views.send.size() >= views.receive.size() ? views.send : views.receive);
    } else {
      place_guards(pair, "before the send buffer", "behind the send buffer", views.send);
      place_guards(pair, "before the receive buffer", "behind the receive buffer", views.receive);
    }
    pairs_.push_back(std::move(pair));
  }
  run_image_ = input_of({});
  // Runs that write no input find one that means something.
  if (calling == Calling::each)
    for (const Pair& pair : pairs_) write(pair.send, run_image_);
}

Call CellData::call() const {
  const Pair& first = pairs_.front();
  return {.problem = problem_,
          .root = root,
          .buffers = {.send = first.send, .receive = first.receive},
          .blocks = blocks_};
}

RunInput CellData::take_pairs(int calls) {
  const auto count = static_cast<std::size_t>(calls);
  while (sends_.size() < pairs_.size() + std::max(count, usual_calls)) {
    const Pair& pair = pairs_[sends_.size() % pairs_.size()];
    bindings_.push_back({.send = pair.send, .receive = pair.receive});
    sends_.push_back(pair.send);
    sends_and_receives_.push_back(pair.send);
    sends_and_receives_.push_back(pair.receive);
  }
  run_begin_ = next_;
  run_pairs_ = std::min(count, pairs_.size());
  RunInput input{.device = device_};
  if (calling_ == Calling::each) {
    input.bindings = std::span(bindings_).subspan(run_begin_, count);
    next_ = (next_ + count) % pairs_.size();
  }
  unchecked_ = std::min(unchecked_ + count, pairs_.size());
  return input;
}

void CellData::add_writes(RunInput& input, std::span<const std::byte> image, InputMode mode) const {
  input.targets = std::span(sends_).subspan(run_begin_, run_pairs_);
  input.image = image;
  if (mode != InputMode::rotating) return;
  input.evicted = device_ != nullptr
                      ? std::span<const std::span<std::byte>>(eviction_)
                      : std::span(sends_and_receives_).subspan(2 * run_begin_, 2 * run_pairs_);
}

RunInput CellData::run_input(InputMode mode, int calls) {
  RunInput input = take_pairs(calls);
  if (mode != InputMode::hot) add_writes(input, run_image_, mode);
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
          .seed = static_cast<std::uint64_t>(check.seed),
          .blocks = blocks_};
}

std::span<const std::byte> CellData::input_of(const Check& check) {
  auto& slot =
      inputs_[check.pattern == DataPattern::exact ? 0 : 1][static_cast<std::size_t>(check.seed)];
  if (!slot) {
    slot.emplace(pairs_.front().send.size());
    fill_send(verified_call(check), rank_, *slot);
  }
  return *slot;
}

void CellData::place_guards(Pair& pair, std::string_view before, std::string_view behind,
                            std::span<std::byte> buffer) {
  pair.guards.push_back({{buffer.data() - guard_bytes, guard_bytes}, before});
  pair.guards.push_back({{buffer.data() + buffer.size(), guard_bytes}, behind});
  for (const Guard& guard : pair.guards) write(guard.bytes, guard_pattern);
}

bool CellData::keeps_input() const {
  // In place the result overwrites the input. Exceptions are a rank that receives nothing, and the
  // root of a scatter, whose own block is sent to itself. What reduce_scatter leaves in the other
  // blocks is undefined.
  return !problem_.in_place || pairs_.front().receive.empty() ||
         problem_.collective == Collective::scatter;
}

std::optional<Fault> CellData::inspect_guards() {
  std::string damage;
  // Persistent calls stay at the first pair.
  const std::size_t begin = next_ + pairs_.size() - unchecked_ % pairs_.size();
  const std::size_t count = calling_ == Calling::each ? unchecked_ : pairs_.size();
  for (std::size_t i = 0; i < count; ++i)
    for (const Guard& guard : pairs_[(begin + i) % pairs_.size()].guards) {
      const std::span<const std::byte> found = look_at(guard.bytes);
      if (std::memcmp(found.data(), guard_pattern.data(), guard_bytes) == 0) continue;
      std::size_t changed = 0;
      for (std::size_t at = 0; at < guard_bytes; ++at) changed += found[at] != guard_pattern[at];
      damage +=
          fmt::format("{}wrote {} byte(s) {}", damage.empty() ? "" : ", ", changed, guard.where);
      write(guard.bytes, guard_pattern);
    }
  unchecked_ = 0;
  if (damage.empty()) return std::nullopt;
  return Fault{Outcome::wrong, damage};
}

std::optional<Fault> CellData::compare(const Pair& pair, const Check& check) {
  if (pair.receive.empty()) return std::nullopt;
  KnownResult& known =
      results_[check.pattern == DataPattern::exact ? 0 : 1][static_cast<std::size_t>(check.seed)];
  const std::span<const std::byte> received = look_at(pair.receive);
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

std::optional<Fault> CellData::compare_input(const Pair& pair, const Check& check) {
  const std::span<const std::byte> input = input_of(check);
  if (!keeps_input() || pair.send.empty()) return std::nullopt;
  const std::span<const std::byte> sent = look_at(pair.send);
  if (std::memcmp(sent.data(), input.data(), sent.size()) == 0) return std::nullopt;
  const auto changed = std::ranges::mismatch(sent, input).in1 - sent.begin();
  return Fault{Outcome::wrong, fmt::format("changed byte {} of its input", changed)};
}

RunInput CellData::arm(const Check& check, InputMode mode, int calls) {
  RunInput input = take_pairs(calls);
  add_writes(input, input_of(check), mode);
  // In place, the input lies within (or around) the poison, so it is written after the poison.
  for (std::size_t i = 0; i < run_pairs_; ++i) {
    const std::span<std::byte> receive = run_pair(i).receive;
    if (receive.empty()) continue;
    if (device_ == nullptr)
      std::memset(receive.data(), poison, receive.size());
    else
      device_->fill(receive, poison);
  }
  return input;
}

std::optional<Fault> CellData::inspect(const Check& check) {
  // The guards are checked even if the result is wrong: damage that stays would be blamed on the
  // next variant.
  auto stray = inspect_guards();
  for (std::size_t i = 0; i < run_pairs_; ++i)
    if (auto fault = compare(run_pair(i), check)) return fault;
  if (stray) return stray;
  for (std::size_t i = 0; i < run_pairs_; ++i)
    if (auto fault = compare_input(run_pair(i), check)) return fault;
  return std::nullopt;
}

}  // namespace colltune
