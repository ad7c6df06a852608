// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

/// How ranks can be near one another; an algorithm by levels groups ranks by it.
enum class Locality {
  node = 0,   ///< they share memory
  numa = 1,   ///< they are bound to cores next to the same memory
  cache = 2,  ///< they are bound to cores under the same last-level cache
};
constexpr std::array<Named<Locality>, 3> enum_names(Locality) {
  return {{{Locality::node, "node"}, {Locality::numa, "numa"}, {Locality::cache, "cache"}}};
}
constexpr std::string_view enum_title(Locality) { return "level"; }

/// Where each rank lives: ranks with the same number on a level are near one another there. An
/// empty list means that all ranks are near on that level. NUMA and cache numbers need be distinct
/// only within a node; -1: not bound to a single such place.
struct RankPlaces {
  std::vector<int> node{};
  std::vector<int> numa{};
  std::vector<int> cache{};

  [[nodiscard]] const std::vector<int>& on(Locality level) const {
    return level == Locality::node ? node : level == Locality::numa ? numa : cache;
  }
};

/// Memory of equal size on each rank of a communicator; all ranks of a node can reach each other's
/// parts. Zeroed when allocated, aligned to 2 MiB, first touched by its owner. Owns the mapping.
/// Destruction is local: destroy it on a rank only after all ranks are done with it. Not
/// thread-safe.
class SymmetricMemory {
 public:
  virtual ~SymmetricMemory() = default;
  /// The part of `rank`, mapped here; empty if that rank lives on another node.
  [[nodiscard]] virtual std::span<std::byte> part(int rank) const = 0;
};

/// The name of an allocation: the same on all ranks that have a part of it where ranks are
/// processes, one for each part where they are threads. Never used again.
struct AllocationName {
  std::int64_t process = 0;
  std::int64_t number = 0;
  friend bool operator==(const AllocationName&, const AllocationName&) = default;
};

/// An address in a rank's part of symmetric memory, as that rank names it. Ranks send it to each
/// other as raw bytes.
struct SymmetricAddress {
  AllocationName allocation{};
  std::uint64_t offset = 0;  ///< from the beginning of the rank's part
};

/// What an implementation makes once for a communicator and keeps as long as the communicator
/// lives: for example a library's own communicator.
class Attachment {
 public:
  virtual ~Attachment() = default;
};

/// The attachments of one rank's communicator, at most one of each type. Not thread-safe.
class Attachments {
 public:
  /// Null if there is none of this type.
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
  /// Destroys `one`.
  void drop(const Attachment& one) {
    std::erase_if(kept_, [&](const auto& kept) { return kept.get() == &one; });
  }

 private:
  std::vector<std::unique_ptr<Attachment>> kept_;
};

class Device;
class Operation;
struct Call;

/// What a communicator is on one rank, as long as it lives.
struct CommunicatorFacts {
  int rank = 0;
  int size = 1;
  /// The place of each rank on each level; no list is empty; numbered from 0 in order of first
  /// appearance. If a rank of a node is bound to no single place of a level, all ranks of that node
  /// share one place.
  RankPlaces places{};
  /// Whether ranks that run at the same time must share a core on some node of these ranks: waits
  /// then yield the core at once. The other ranks of the communicator that this one was split from
  /// count as running too. Decided by the hardware threads that each rank may run on and by the
  /// quota of its control group.
  bool is_oversubscribed = false;
  /// Raised when an operation cannot complete; every bounded wait on the communicator checks it.
  /// Outlives the communicator.
  AbortFlag* abort_flag = nullptr;
  /// Where the rank's buffers lie; null: in host memory.
  Device* device = nullptr;
};

/// What the ranks that do not belong to a part of a communicator do while those of the part work.
enum class OtherRanks {
  running,   ///< they count for `is_oversubscribed`
  sleeping,  ///< only the ranks of the part count
};

/// The ranks, memory and transport that a collective runs over. Two factories make one: MPI
/// (`mpi_communicator.h`) and threads in one process (`thread_communicator.h`); kernels never ask
/// which.
///
/// One object per rank. The calls marked "collective" must be made by all ranks in the same order;
/// they are bounded by `deadline` and throw RankMissing. Not thread-safe.
class Communicator {
 public:
  explicit Communicator(CommunicatorFacts facts) : facts_(std::move(facts)) {}
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] int rank() const { return facts_.rank; }
  [[nodiscard]] int size() const { return facts_.size; }
  [[nodiscard]] const RankPlaces& places() const { return facts_.places; }
  [[nodiscard]] std::span<const int> nodes() const { return places().node; }
  /// Whether all ranks share one node.
  [[nodiscard]] bool is_one_node() const;
  [[nodiscard]] bool is_oversubscribed() const { return facts_.is_oversubscribed; }
  [[nodiscard]] AbortFlag& abort_flag() const { return *facts_.abort_flag; }
  [[nodiscard]] Device* device() const { return facts_.device; }

  /// Collective: a communicator of the same ranks with its own traffic.
  [[nodiscard]] virtual std::unique_ptr<Communicator> duplicate(Deadline deadline) = 0;
  /// Collective: the ranks that give the same non-negative `color`, ordered by `key`, then rank.
  /// Null for a negative color.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color, int key, OtherRanks others,
                                                            Deadline deadline) = 0;
  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, Deadline deadline) {
    return split(color, key, OtherRanks::running, deadline);
  }
  /// Collective: `bytes_per_rank` (the same on all ranks) of symmetric memory between the ranks of
  /// each node. Throws Error(resource_exhausted) on all ranks if one lacks the memory.
  [[nodiscard]] virtual std::unique_ptr<SymmetricMemory> allocate(Bytes bytes_per_rank,
                                                                  Deadline deadline) = 0;
  /// Where this rank's `own` bytes lie, if wholly in one live allocation by `allocate`, of this
  /// communicator or of a related one; nothing otherwise. Local.
  [[nodiscard]] virtual std::optional<SymmetricAddress> symmetric_address_of(
      std::span<const std::byte> own) const = 0;
  /// The address here of what `rank` has at `address` of its part; null if this process does not
  /// map it, because that rank lives on another node or has no part of that allocation. Local.
  [[nodiscard]] virtual std::byte* find(const SymmetricAddress& address, int rank) const = 0;
  /// Collective: a separate message channel between these ranks, for up to `numbers` messages under
  /// way at a time.
  [[nodiscard]] virtual std::unique_ptr<Messages> open_messages(std::size_t numbers,
                                                                Deadline deadline) = 0;
  /// Collective: returns when all ranks have called it; gives timed runs their common start. Under
  /// MPI this is MPI's own barrier, which nothing inside the process can bound: there the deadline
  /// has no effect, and a watchdog ends the process.
  virtual void barrier(Deadline deadline) = 0;
  /// Lets the library underneath advance its messages. A rank that waits for others without calling
  /// the library must call this now and then, since a message may need both sides.
  virtual void progress() {}
  /// Collective: the largest of all ranks' values. A barrier as well, and bounded like one.
  [[nodiscard]] virtual std::int64_t all_reduce_max(std::int64_t value, Deadline deadline) = 0;
  /// Sends one word to another rank, or receives one: to measure the latency between the two and
  /// the offset of their clocks. Words between two ranks stay in order; a rank sends one at a time.
  virtual void send_word(int to, std::int64_t word, Deadline deadline) = 0;
  [[nodiscard]] virtual std::int64_t receive_word(int from, Deadline deadline) = 0;

  /// What implementations keep with this communicator; destroyed before anything else of it.
  [[nodiscard]] virtual Attachments& attachments() = 0;
  /// The `MPI_Comm` of this communicator as an opaque pointer to it; null if there is none.
  [[nodiscard]] virtual const void* native_mpi() const { return nullptr; }
  /// `prepared`, which was prepared for `call`, so that its calls pass what a program's calls pass
  /// before a kernel of ours runs: the function of the library underneath, without elements, the
  /// translation of its arguments, and CallPath. Null, and `prepared` is left alone, where no
  /// program calls a library so. Local. It is bound to other buffers and never rebound.
  [[nodiscard]] virtual std::unique_ptr<Operation> call_through_library(
      std::unique_ptr<Operation>& prepared, const Call& call) const;

 private:
  CommunicatorFacts facts_;
};

/// Throws Error(failed_precondition) if the ranks are not all on one node. For code that works only
/// in shared memory.
void require_one_node(const Communicator& communicator);

}  // namespace colltune
