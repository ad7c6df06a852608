// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/flight/flight_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string>

#include "colltune/flight/process_status.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

constexpr std::uint64_t magic_word = 0x7468676c66746c63;  // "cltflght" in memory
constexpr std::uint64_t layout_version = 1;
constexpr std::size_t alignment = 64;

/// One step. `lock` is 2n+1 while step n is being written and 2n+2 once it is complete; 0: never
/// used.
struct Entry {
  Word lock;
  Word collective_steps;
  Word cell;
  Word run;
  Word begin;
  Word deadline;  // 0: none
  Word sizes;  // bytes of activity, key digest and variant, 16 bits each; then 1 if the variant was
               // cut
  std::array<Word, 4> activity;
  std::array<Word, 4> key_digest;
  std::array<Word, longest_recorded_variant / sizeof(Word)> variant;
  Word unused;
};
static_assert(sizeof(Entry) == 512);

// Copies text word by word through atomics, so that a torn read is not a data race. Release stores
// order the odd lock before the data; acquire loads order the data before the second look at the
// lock. Fences would do the same, but ThreadSanitizer does not support them.
template <std::size_t Words>
std::size_t store_text(std::array<Word, Words>& words, std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), Words * sizeof(Word));
  for (std::size_t at = 0; at < size; at += sizeof(Word)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, size - at));
    words[at / sizeof(Word)].store(word, std::memory_order_release);
  }
  return size;
}

template <std::size_t Words, std::size_t Capacity>
void load_text(const std::array<Word, Words>& words, std::size_t size, FixedText<Capacity>& text) {
  static_assert(Words * sizeof(Word) == Capacity);
  text.size = std::min(size, Capacity);  // a torn size must not reach past the array
  for (std::size_t at = 0; at < text.size; at += sizeof(Word)) {
    const std::uint64_t word = words[at / sizeof(Word)].load(std::memory_order_acquire);
    std::memcpy(text.bytes.data() + at, &word, std::min(sizeof word, text.size - at));
  }
}

std::uint64_t ticks(SteadyTime time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

SteadyTime time_of(std::uint64_t ticks) {
  return SteadyTime(std::chrono::duration_cast<SteadyTime::duration>(
      std::chrono::nanoseconds(static_cast<std::int64_t>(ticks))));
}

/// The step in `entry`; empty if the entry is unused or being written.
std::optional<FlightStepRecord> load_step(const Entry& entry) {
  const std::uint64_t lock = entry.lock.load(std::memory_order_acquire);
  if (lock == 0 || lock % 2 != 0) return std::nullopt;
  FlightStepRecord step;
  step.sequence = lock / 2 - 1;
  step.collective_steps = entry.collective_steps.load(std::memory_order_acquire);
  step.cell = static_cast<std::int64_t>(entry.cell.load(std::memory_order_acquire));
  step.run = static_cast<std::int64_t>(entry.run.load(std::memory_order_acquire));
  step.begin = time_of(entry.begin.load(std::memory_order_acquire));
  const std::uint64_t deadline = entry.deadline.load(std::memory_order_acquire);
  if (deadline != 0) step.deadline = time_of(deadline);
  const std::uint64_t sizes = entry.sizes.load(std::memory_order_acquire);
  load_text(entry.activity, sizes & 0xffff, step.activity);
  load_text(entry.key_digest, (sizes >> 16) & 0xffff, step.key_digest);
  load_text(entry.variant, (sizes >> 32) & 0xffff, step.variant);
  step.variant_is_cut = (sizes >> 48) != 0;
  if (entry.lock.load(std::memory_order_relaxed) != lock) return std::nullopt;
  return step;
}

std::uint64_t sequence_of(const Entry& entry) {
  const std::uint64_t lock = entry.lock.load(std::memory_order_acquire);
  return lock == 0 || lock % 2 != 0 ? 0 : lock / 2 - 1;
}

}  // namespace

struct FlightRecorder::Layout {
  Word magic;  // stored last: a reader that sees it sees the rest of the header
  Word version;
  Word rank;
  Word pid;
  Word start_ticks;
  Word next;  // sequence number of the next step, minus one
  Word collective_steps;
  Word fate;  // Fate + 256 * code
  Word board_claim;
  Word host_size;
  std::array<Word, 8> host;
  Word whereabouts;  // stored after the text
  Word stack_size;
  std::array<Word, 32> stack;
  std::array<Word, 12> unused;
  std::array<Entry, steps_kept> ring;
};

/// Gives the reading functions access to the layout.
struct FlightReader {
  using Layout = FlightRecorder::Layout;
  static_assert(sizeof(Layout) == flight_region_size);

  static bool fits(std::span<const std::byte> region) {
    return region.size() == flight_region_size &&
           reinterpret_cast<std::uintptr_t>(region.data()) % alignment == 0;
  }

  static const Layout* find(std::span<const std::byte> region) {
    if (!fits(region)) return nullptr;
    const auto* layout = std::launder(reinterpret_cast<const Layout*>(region.data()));
    if (layout->magic.load(std::memory_order_acquire) != magic_word) return nullptr;
    if (layout->version.load(std::memory_order_relaxed) != layout_version) return nullptr;
    return layout;
  }

  static std::optional<FlightStepRecord> newest(const Layout& layout) {
    // The writer can lap the reader: each look then finds a newer step. The bound is for a damaged
    // record.
    for (int look = 0; look < 1000; ++look) {
      const Entry* best = nullptr;
      std::uint64_t sequence = 0;
      for (const Entry& entry : layout.ring)
        if (const std::uint64_t other = sequence_of(entry); other > sequence) {
          best = &entry;
          sequence = other;
        }
      if (best == nullptr) return std::nullopt;
      if (auto step = load_step(*best)) return step;
    }
    return std::nullopt;
  }

  static void read(const Layout& layout, RankPosition& position) {
    position.rank = static_cast<int>(layout.rank.load(std::memory_order_relaxed));
    position.pid = static_cast<pid_t>(layout.pid.load(std::memory_order_relaxed));
    position.start_ticks = layout.start_ticks.load(std::memory_order_relaxed);
    load_text(layout.host, layout.host_size.load(std::memory_order_relaxed), position.host);
    const std::uint64_t fate = layout.fate.load(std::memory_order_acquire);
    if (fate % 256 <= static_cast<std::uint64_t>(Fate::exited))
      position.fate = static_cast<Fate>(fate % 256);
    position.fate_code = static_cast<int>(fate / 256);
    const std::uint64_t whereabouts = layout.whereabouts.load(std::memory_order_acquire);
    if (whereabouts <= static_cast<std::uint64_t>(Whereabouts::stopped))
      position.whereabouts = static_cast<Whereabouts>(whereabouts);
    load_text(layout.stack, layout.stack_size.load(std::memory_order_relaxed), position.stack);
    for (const Entry& entry : layout.ring)
      if (const auto step = load_step(entry)) position.last[position.steps++] = *step;
    std::sort(position.last.begin(),
              position.last.begin() + static_cast<std::ptrdiff_t>(position.steps),
              [](const FlightStepRecord& a, const FlightStepRecord& b) {
                return a.sequence > b.sequence;
              });
  }
};

FlightRecorder::FlightRecorder(std::span<std::byte> region, int rank) : region_(region) {
  if (!FlightReader::fits(region))
    throw Error(StatusCode::invalid_argument,
                "a flight recorder needs " + std::to_string(flight_region_size) +
                    " bytes aligned to " + std::to_string(alignment) + ", not " +
                    std::to_string(region.size()) + " bytes");
  std::memset(region.data(), 0, region.size());
  layout_ = new (region.data()) Layout{};
  const pid_t pid = getpid();
  std::array<char, 65> host{};
  gethostname(host.data(), host.size() - 1);
  const auto status = read_process_status(pid);
  layout_->version.store(layout_version, std::memory_order_relaxed);
  layout_->rank.store(static_cast<std::uint64_t>(rank), std::memory_order_relaxed);
  layout_->pid.store(static_cast<std::uint64_t>(pid), std::memory_order_relaxed);
  layout_->start_ticks.store(status ? status->start_ticks : 0, std::memory_order_relaxed);
  layout_->host_size.store(store_text(layout_->host, host.data()), std::memory_order_relaxed);
  layout_->magic.store(magic_word, std::memory_order_release);
}

void FlightRecorder::enter(const FlightStep& step, SteadyTime now) noexcept {
  // If a signal handler interrupts this and enters a step of its own, it gets the next entry.
  const std::uint64_t sequence = layout_->next.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t collective_steps =
      layout_->collective_steps.fetch_add(step.is_collective ? 1 : 0, std::memory_order_relaxed) +
      (step.is_collective ? 1 : 0);
  Entry& entry = layout_->ring[sequence % steps_kept];
  constexpr auto release = std::memory_order_release;
  entry.lock.store(2 * sequence + 1, std::memory_order_relaxed);
  entry.collective_steps.store(collective_steps, release);
  entry.cell.store(static_cast<std::uint64_t>(step.cell), release);
  entry.run.store(static_cast<std::uint64_t>(step.run), release);
  entry.begin.store(ticks(now), release);
  entry.deadline.store(step.limit.count() > 0 ? ticks(now + step.limit) : 0, release);
  const std::uint64_t activity_size = store_text(entry.activity, step.activity);
  const std::uint64_t digest_size = store_text(entry.key_digest, step.key_digest);
  const std::uint64_t variant_size = store_text(entry.variant, step.variant);
  const std::uint64_t is_cut = variant_size < step.variant.size() ? 1 : 0;
  entry.sizes.store(activity_size | digest_size << 16 | variant_size << 32 | is_cut << 48, release);
  entry.lock.store(2 * sequence + 2, release);
}

void FlightRecorder::mark(Fate fate, int code) noexcept {
  std::uint64_t none = 0;
  layout_->fate.compare_exchange_strong(
      none, static_cast<std::uint64_t>(fate) + 256 * static_cast<std::uint64_t>(code),
      std::memory_order_acq_rel);
}

void FlightRecorder::locate(Whereabouts whereabouts, std::string_view stack) noexcept {
  layout_->stack_size.store(store_text(layout_->stack, stack), std::memory_order_relaxed);
  layout_->whereabouts.store(static_cast<std::uint64_t>(whereabouts), std::memory_order_release);
}

std::optional<RankPosition> read_position(std::span<const std::byte> region) {
  std::optional<RankPosition> position;
  if (const auto* layout = FlightReader::find(region))
    FlightReader::read(*layout, position.emplace());
  return position;
}

std::optional<FlightStepRecord> read_current_step(std::span<const std::byte> region) {
  const auto* layout = FlightReader::find(region);
  return layout == nullptr ? std::nullopt : FlightReader::newest(*layout);
}

std::vector<RankPosition> read_board(std::span<const std::byte> board) {
  std::vector<RankPosition> positions;
  for (; board.size() >= flight_region_size; board = board.subspan(flight_region_size))
    if (auto position = read_position(board.first(flight_region_size)))
      positions.push_back(*position);
  return positions;
}

void note_stopped(std::span<std::byte> region) noexcept {
  if (FlightReader::find(region) == nullptr) return;
  auto* layout = std::launder(reinterpret_cast<FlightReader::Layout*>(region.data()));
  std::uint64_t unknown = 0;
  layout->whereabouts.compare_exchange_strong(
      unknown, static_cast<std::uint64_t>(Whereabouts::stopped), std::memory_order_acq_rel);
}

bool claim_board(std::span<std::byte> board) noexcept {
  // The first of our regions holds the claim.
  for (; board.size() >= flight_region_size; board = board.subspan(flight_region_size)) {
    const auto region = board.first(flight_region_size);
    if (FlightReader::find(region) == nullptr) continue;
    auto* layout = std::launder(reinterpret_cast<FlightReader::Layout*>(region.data()));
    return layout->board_claim.exchange(1, std::memory_order_acq_rel) == 0;
  }
  return true;
}

bool is_claimed(std::span<const std::byte> board) noexcept {
  for (; board.size() >= flight_region_size; board = board.subspan(flight_region_size))
    if (const auto* layout = FlightReader::find(board.first(flight_region_size)))
      return layout->board_claim.load(std::memory_order_acquire) != 0;
  return false;
}

}  // namespace colltune
