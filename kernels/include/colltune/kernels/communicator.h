// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/kernels/messages.h"
#include "colltune/machine/abort_flag.h"
#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/names.h"

namespace colltune {

/// What ranks can be near one another by: what an algorithm by levels takes together.
enum class Locality {
  node = 0,   ///< they share memory
  numa = 1,   ///< they are bound to cores next to the same memory
  cache = 2,  ///< they are bound to cores under the same last-level cache
};
constexpr std::array<Named<Locality>, 3> enum_names(Locality) {
  return {{{Locality::node, "node"}, {Locality::numa, "numa"}, {Locality::cache, "cache"}}};
}
constexpr std::string_view enum_title(Locality) { return "level"; }

/// Where each rank lives: ranks with the same number on a level are near one another there. A list
/// is empty where all are. Numbers below a node's need be unlike only within it; -1: bound to no
/// such place alone.
struct RankPlaces {
  std::vector<int> node{};
  std::vector<int> numa{};
  std::vector<int> cache{};

  [[nodiscard]] const std::vector<int>& on(Locality level) const {
    return level == Locality::node ? node : level == Locality::numa ? numa : cache;
  }
};

/// Memory of equal size on each rank of a communicator, each part reachable by all ranks of its
/// node. Zeroed when allocated, aligned to 2 MiB, first touched by its owner. Owns the mapping;
/// destroying it is local and must happen on every rank only after all ranks are done with it. Not
/// thread-safe.
class SymmetricMemory {
 public:
  virtual ~SymmetricMemory() = default;
  /// The part of `rank`, mapped here; empty where that rank lives on another node.
  [[nodiscard]] virtual std::span<std::byte> part(int rank) const = 0;
};

/// What an implementation makes once for a communicator, and keeps as long as that lives: a
/// library's own communicator, say.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

/// Those of one rank's communicator, one of each type. Not thread-safe.
class Attachments {
 public:
  /// Null where there is none of this type.
  template <class T>
  [[nodiscard]] T* find() const {
    for (const auto& one : kept_)
      if (auto* const found = dynamic_cast<T*>(one.get())) return found;
    return nullptr;
  }
  template <class T>
  T& keep(std::unique_ptr<T> made) {
    T& kept = *made;
    kept_.push_back(std::move(made));
    return kept;
  }
  /// Destroys it.
  void drop(const Attachment& one) {
    std::erase_if(kept_, [&](const auto& kept) { return kept.get() == &one; });
  }

 private:
  std::vector<std::unique_ptr<Attachment>> kept_;
};

class Device;

/// The ranks, memory and transport that a collective runs over. Two factories make one: MPI
/// (`mpi_communicator.h`) and threads in one process (`thread_communicator.h`); kernels never ask
/// which.
///
/// One object per rank. The calls marked "collective" must be made by all ranks in the same order;
/// they are bounded by `deadline` and throw RankMissing. Not thread-safe.
class Communicator {
 public:
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// The place of each rank on each level, no list empty, numbered from 0 in order of first
  /// appearance. On a node where a rank is bound to no place of a level alone, all ranks share one.
  [[nodiscard]] virtual const RankPlaces& places() const = 0;
  [[nodiscard]] std::span<const int> nodes() const { return places().node; }
  /// Whether all ranks share one node.
  [[nodiscard]] bool is_one_node() const;
  /// Whether ranks that run at the same time have to share a core on some node of these ranks:
  /// waits then give the core away at once. Those of the communicator that this one is a part of
  /// run, too. What counts is the hardware threads that each may run on, and the quota of its
  /// control group.
  [[nodiscard]] virtual bool is_oversubscribed() const = 0;

  /// Collective: a communicator of the same ranks with its own traffic.
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate(Deadline deadline) = 0;
  /// Collective: the ranks that give the same non-negative `color`, ordered by `key`, then rank.
  /// Null for a negative color.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color, int key,
                                                            Deadline deadline) = 0;
  /// The same, where all other ranks sleep whenever these do something together: nobody but they
  /// counts for `is_oversubscribed`.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split_while_others_sleep(
      int color, int key, Deadline deadline) = 0;
  /// Collective: `bytes_per_rank` (the same on all ranks) of symmetric memory between the ranks of
  /// each node. Throws Error(resource_exhausted) on all ranks where one lacks the memory.
  [[nodiscard]] virtual std::unique_ptr<SymmetricMemory> allocate(Bytes bytes_per_rank,
                                                                  Deadline deadline) = 0;
  /// Collective: where each rank's `own` bytes can be reached from here, in rank order; null for
  /// a rank that gives none or lives on another node. Nothing at all, on every rank, where some
  /// rank's bytes do not lie wholly in one live allocation of `allocate`, of this or any related
  /// communicator that all of these ranks are members of.
  [[nodiscard]] virtual std::vector<std::byte*> find_peers(std::span<const std::byte> own,
                                                           Deadline deadline) = 0;
  /// Collective: messages of their own between these ranks, for up to `numbers` under way at a
  /// time.
  [[nodiscard]] virtual std::unique_ptr<Messages> open_messages(std::size_t numbers,
                                                                Deadline deadline) = 0;
  /// Collective: returns when all ranks have called it; what starts a timed run together. MPI's own
  /// barrier under MPI, which nothing inside the process can bound: there a watchdog ends the
  /// process, and the deadline has no effect.
  virtual void barrier(Deadline deadline) = 0;
  /// What a library beneath has under way goes on: to be called now and then by who waits for other
  /// ranks without its calls, since a message may need both sides.
  virtual void progress() {}
  /// Collective: the largest of all ranks' values. A barrier as well, and bounded like one.
  [[nodiscard]] virtual std::int64_t all_reduce_max(std::int64_t value, Deadline deadline) = 0;
  /// One word to another rank and from one: what a message between the two costs, and what lies
  /// between their clocks. Words between two ranks stay in order; a rank sends one at a time.
  virtual void send_word(int to, std::int64_t word, Deadline deadline) = 0;
  [[nodiscard]] virtual std::int64_t receive_word(int from, Deadline deadline) = 0;

  /// Raised when the operation cannot complete; looked at by every bounded wait on this
  /// communicator.
  [[nodiscard]] virtual AbortFlag& abort_flag() const = 0;
  /// Where this rank's buffers lie; null: in the host's memory.
  [[nodiscard]] virtual Device* device() const { return nullptr; }
  /// What implementations keep with it: gone before anything else of it.
  [[nodiscard]] virtual Attachments& attachments() = 0;
  /// The `MPI_Comm` behind this communicator as an opaque pointer to it; null where there is none.
  [[nodiscard]] virtual const void* native_mpi() const = 0;
};

/// Throws Error(failed_precondition) where the ranks do not share a node: what only works in shared
/// memory asks for it.
void require_one_node(const Communicator& communicator);

}  // namespace colltune
