// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "watches.h"

#include <string_view>
#include <type_traits>

#include "colltune/nccl/choice.h"

namespace colltune::nccl {
namespace {

constexpr unsigned number_shift = 32;

constexpr std::uint32_t number_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> number_shift);
}
constexpr std::uint32_t told_by(std::uint64_t state) { return static_cast<std::uint32_t>(state); }

constexpr int wanted_events = profile_collective | profile_transfer;

/// For a call that no table entry ran: its kind, without an algorithm.
constexpr std::uint32_t pack_kind(int kind) { return static_cast<std::uint32_t>(kind); }
/// The bytes that are recorded: the algorithm and the protocol, each 1 more than NCCL's number.
constexpr std::uint32_t pack(int algorithm, int protocol, int channels, int warps) {
  return static_cast<std::uint32_t>(algorithm + 1) << 24 |
         static_cast<std::uint32_t>(protocol + 1) << 16 |
         static_cast<std::uint32_t>(channels) << 8 | static_cast<std::uint32_t>(warps);
}
colltune_nccl_run unpack(std::uint32_t told) {
  if (told >> 24 == 0)
    return {.kind = static_cast<std::int32_t>(told),
            .algorithm = 0,
            .protocol = 0,
            .channels = 0,
            .warps = 0};
  return {.kind = colltune_nccl_ran_entry,
          .algorithm = static_cast<std::int32_t>(told >> 24) - 1,
          .protocol = static_cast<std::int32_t>(told >> 16 & 0xFF) - 1,
          .channels = static_cast<std::int32_t>(told >> 8 & 0xFF),
          .warps = static_cast<std::int32_t>(told & 0xFF)};
}

/// NCCL writes COLLNET_DIRECT for the word collnetdirect of NCCL_ALGO.
bool is_same_word(const char* told, std::string_view own) noexcept {
  std::size_t at = 0;
  for (; *told != '\0'; ++told) {
    if (*told == '_') continue;
    const char lower = *told >= 'A' && *told <= 'Z' ? static_cast<char>(*told - 'A' + 'a') : *told;
    if (at == own.size() || lower != own[at]) return false;
    ++at;
  }
  return at == own.size();
}

/// The number of the word; -1 if it is not one of them.
template <class Enum>
int find_word(const char* told) noexcept {
  if (told == nullptr) return -1;
  for (const auto& named : enum_names(Enum{}))
    if (is_same_word(told, named.name)) return static_cast<int>(named.value);
  return -1;
}

}  // namespace

ProfiledLibrary* Watches::add(int* mask) noexcept {
  const std::lock_guard lock(mutex_);
  ProfiledLibrary* free = nullptr;
  for (ProfiledLibrary& library : libraries_) {
    if (library.communicators == 0) {
      if (free == nullptr) free = &library;
    } else if (library.mask == mask) {
      ++library.communicators;
      return &library;
    }
  }
  if (free == nullptr) return nullptr;
  *free = {.mask = mask, .communicators = 1};
  switch_masks();
  return free;
}

void Watches::remove(ProfiledLibrary* library) noexcept {
  const std::lock_guard lock(mutex_);
  if (library->communicators > 0) --library->communicators;
}

void Watches::switch_masks() noexcept {
  for (const ProfiledLibrary& library : libraries_) {
    if (library.communicators == 0) continue;
    // NCCL loads it in the same way, from the threads that call NCCL.
    const std::atomic_ref<int> mask(*library.mask);
    if (watched_ > 0)
      mask.fetch_or(wanted_events, std::memory_order_relaxed);
    else
      mask.fetch_and(~wanted_events, std::memory_order_relaxed);
  }
}

Watches::Begun Watches::begin(const void* send, const void* receive,
                              std::uint64_t& watch) noexcept {
  const std::lock_guard lock(mutex_);
  bool is_profiled = false;
  for (const ProfiledLibrary& library : libraries_)
    is_profiled = is_profiled || library.communicators > 0;
  if (!is_profiled) return Begun::no_profiler;
  for (std::size_t slot = 0; slot < most_watches; ++slot) {
    Slot& found = slots_[slot];
    if (found.state.load(std::memory_order_relaxed) != 0) continue;
    if (++last_number_ == 0) ++last_number_;
    found.send.store(send, std::memory_order_relaxed);
    found.receive.store(receive, std::memory_order_relaxed);
    found.state.store(std::uint64_t{last_number_} << number_shift, std::memory_order_release);
    watch = std::uint64_t{last_number_} << number_shift | slot;
    if (++watched_ == 1) switch_masks();
    return Begun::watched;
  }
  return Begun::too_many;
}

Watches::Ended Watches::end(std::uint64_t watch, colltune_nccl_run& into) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t slot = told_by(watch);
  if (number_of(watch) == 0 || slot >= most_watches ||
      number_of(slots_[slot].state.load(std::memory_order_relaxed)) != number_of(watch))
    return Ended::unknown;
  const std::uint32_t told = told_by(slots_[slot].state.exchange(0, std::memory_order_acq_rel));
  if (--watched_ == 0) switch_masks();
  if (told == 0) return Ended::untold;
  into = unpack(told);
  return Ended::told;
}

template <class IsOf>
void Watches::tell_all(std::uint32_t told, IsOf is_of) noexcept {
  for (Slot& slot : slots_) {
    std::uint64_t state = slot.state.load(std::memory_order_acquire);
    if (number_of(state) == 0 || told_by(state) != 0 ||
        !is_of(slot.send.load(std::memory_order_relaxed),
               slot.receive.load(std::memory_order_relaxed)))
      continue;
    slot.state.compare_exchange_strong(state, state | told, std::memory_order_acq_rel);
  }
}

void Watches::tell(const ProfiledCollective& collective) noexcept {
  const int algorithm = find_word<Algorithm>(collective.algorithm);
  const int protocol = find_word<Protocol>(collective.protocol);
  // Kernels for symmetric windows report no channels here, or use words of their own.
  const bool is_entry = algorithm >= 0 && protocol >= 0 && collective.channels != 0;
  tell_all(is_entry ? pack(algorithm, protocol, collective.channels, collective.warps)
                    : pack_kind(colltune_nccl_ran_kernel),
           [&](const void* send, const void* receive) {
             return send == collective.send && receive == collective.receive;
           });
}

void Watches::tell(const ProfiledTransfer& transfer) noexcept {
  // The first peer's block begins at the start of the buffer.
  tell_all(pack_kind(colltune_nccl_ran_transfers), [&](const void* send, const void* receive) {
    return transfer.buffer != nullptr && (transfer.buffer == send || transfer.buffer == receive);
  });
}

Watches& watches() noexcept {
  static_assert(std::is_trivially_destructible_v<Watches>);
  static constinit Watches all;
  return all;
}

}  // namespace colltune::nccl
