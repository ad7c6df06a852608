// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// In the regime `fresh` of malloc the agent measures what a program has that has freed nothing. But
// the agent itself has parsed, planned and stored before its first call, so that malloc's heap has
// holes, from which it takes a library's temporary buffers; in a small program they lie at the
// heap's end, which malloc gives back to the system when they are freed, in every call (seen at
// reduce_scatter of 256 KiB: 56 us in the agent, 103 us in a program). So in that regime what the
// agent's C++ and SQLite allocate lies elsewhere, and malloc serves the other C libraries, MPI's
// among them. (SQLite's memory alone kept that call from faulting once 26 keys with many samples
// were stored: tests/bench/results/baseline.md.)
//
// It is part of the program, not of the library that tests link: an operator new is the process's.

#include "own_heap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

void colltune::keep_sqlite_in_own_heap() {}

#else

#include <sqlite3.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <string_view>

#include "colltune/sweep/spec/launch_environment.h"

namespace {

constexpr std::size_t region_bytes = std::size_t{64} << 30;  // of addresses, not of memory
constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr std::size_t header_bytes = 64;  // so that blocks are aligned for any type
constexpr std::size_t least_block = 16;
constexpr std::size_t most_block = piece_bytes / 4;  // larger ones have pieces of their own
constexpr std::size_t classes = std::bit_width(most_block / least_block);

/// At the beginning of each run of pieces.
struct Header {
  std::size_t block;  ///< bytes of each block; of a run with a single block the run's
};

/// A block that is free.
struct FreeBlock {
  FreeBlock* next;
};

/// A region of addresses cut into pieces. A piece has blocks of one size, a power of two; larger
/// blocks have runs of pieces, whose memory goes back to the system when they are freed. Addresses
/// are not used twice for those: a launch in this regime measures one key, and then ends.
class OwnHeap {
 public:
  /// Null where the region is used up, or there is none.
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!is_open_) open();
    if (bytes > most_block) return take_run(bytes);
    const std::size_t block = std::bit_ceil(std::max(bytes, least_block));
    FreeBlock*& first = free_[class_of(block)];
    if (first == nullptr) first = cut(block);
    if (first == nullptr) return nullptr;
    FreeBlock* const taken = first;
    first = taken->next;
    return taken;
  }

  /// False if the block is not of this heap.
  bool give_back(void* given) {
    const auto at = reinterpret_cast<std::uintptr_t>(given);
    if (at < begin_ || at >= begin_ + region_bytes) return false;
    auto* const header = reinterpret_cast<Header*>(at / piece_bytes * piece_bytes);
    const std::lock_guard lock(mutex_);
    if (header->block > most_block) {
      ::madvise(header, header->block, MADV_DONTNEED);
    } else {
      auto* const block = new (given) FreeBlock{free_[class_of(header->block)]};
      free_[class_of(header->block)] = block;
    }
    return true;
  }

 private:
  static std::size_t class_of(std::size_t block) {
    return static_cast<std::size_t>(std::countr_zero(block / least_block));
  }

  void open() {
    is_open_ = true;
    // One piece more, so that pieces begin at multiples of their size.
    void* const region = ::mmap(nullptr, region_bytes + piece_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return;
    begin_ =
        (reinterpret_cast<std::uintptr_t>(region) + piece_bytes - 1) / piece_bytes * piece_bytes;
    next_ = begin_;
  }

  Header* take_pieces(std::size_t bytes) {
    if (begin_ == 0 || bytes > begin_ + region_bytes - next_) return nullptr;
    auto* const header = reinterpret_cast<Header*>(next_);
    next_ += bytes;
    return header;
  }

  void* take_run(std::size_t bytes) {
    if (bytes > region_bytes) return nullptr;
    const std::size_t run = (bytes + header_bytes + piece_bytes - 1) / piece_bytes * piece_bytes;
    Header* const header = take_pieces(run);
    if (header == nullptr) return nullptr;
    header->block = run;
    return reinterpret_cast<std::byte*>(header) + header_bytes;
  }

  FreeBlock* cut(std::size_t block) {
    Header* const header = take_pieces(piece_bytes);
    if (header == nullptr) return nullptr;
    header->block = block;
    auto* const piece = reinterpret_cast<std::byte*>(header);
    FreeBlock* first = nullptr;
    for (std::size_t at = std::max(header_bytes, block); at + block <= piece_bytes; at += block)
      first = new (piece + at) FreeBlock{first};
    return first;
  }

  std::mutex mutex_;
  bool is_open_ = false;
  std::uintptr_t begin_ = 0;  ///< 0: there is no region
  std::uintptr_t next_ = 0;
  std::array<FreeBlock*, classes> free_{};
};

/// There is one operator new in a process, and so one heap; its blocks are freed until the very
/// end.
constinit OwnHeap own_heap;

bool is_fresh() {
  static const bool fresh = [] {
    const char* const regime = std::getenv(colltune::malloc_regime_variable);
    return regime != nullptr && std::string_view(regime) == "fresh";
  }();
  return fresh;
}

// SQLite asks how large a block is, so each begins with its size.
constexpr std::size_t size_bytes = alignof(std::max_align_t);

int size_of_sqlite(void* block) {
  if (block == nullptr) return 0;
  int size = 0;
  std::memcpy(&size, static_cast<std::byte*>(block) - size_bytes, sizeof size);
  return size;
}

void* take_for_sqlite(int bytes) {
  void* const taken = ::operator new(static_cast<std::size_t>(bytes) + size_bytes, std::nothrow);
  if (taken == nullptr) return nullptr;
  std::memcpy(taken, &bytes, sizeof bytes);
  return static_cast<std::byte*>(taken) + size_bytes;
}

void free_for_sqlite(void* block) {
  if (block != nullptr) ::operator delete(static_cast<std::byte*>(block) - size_bytes);
}

void* resize_for_sqlite(void* block, int bytes) {
  void* const larger = take_for_sqlite(bytes);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, block, static_cast<std::size_t>(std::min(bytes, size_of_sqlite(block))));
  free_for_sqlite(block);
  return larger;
}

int round_up_for_sqlite(int bytes) {
  constexpr int unit = 8;
  return bytes > std::numeric_limits<int>::max() - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

}  // namespace

void colltune::keep_sqlite_in_own_heap() {
  if (!is_fresh()) return;
  static const sqlite3_mem_methods methods{.xMalloc = take_for_sqlite,
                                           .xFree = free_for_sqlite,
                                           .xRealloc = resize_for_sqlite,
                                           .xSize = size_of_sqlite,
                                           .xRoundup = round_up_for_sqlite,
                                           .xInit = [](void*) { return SQLITE_OK; },
                                           .xShutdown = [](void*) {},
                                           .pAppData = nullptr};
  // Refused only where SQLite was used before.
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK) std::abort();
}

void* operator new(std::size_t bytes) {
  if (is_fresh())
    if (void* const taken = own_heap.take(bytes); taken != nullptr) return taken;
  for (;;) {
    if (void* const taken = std::malloc(std::max(bytes, std::size_t{1})); taken != nullptr)
      return taken;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* given) noexcept {
  if (given == nullptr || (is_fresh() && own_heap.give_back(given))) return;
  std::free(given);
}

void operator delete(void* given, std::size_t) noexcept { operator delete(given); }

#endif
