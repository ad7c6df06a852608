// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "process_communicator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/machine/mapping.h"
#include "colltune/machine/usable_cores.h"

namespace colltune {
namespace {

// Pages that nobody touches take no memory. A part begins where symmetric memory has to.
constexpr std::size_t part_bytes = Mapping::alignment;
constexpr std::size_t parts_of_rank = 128;

/// What the ranks of one communicator tell each other, each in memory of its own: zero at first.
struct Words {
  struct Letter {
    std::atomic<std::uint64_t> sent;   ///< written by the sender, as the word
    std::atomic<std::uint64_t> taken;  ///< by the receiver, in the sender's memory
    std::int64_t word;
  };
  std::atomic<std::uint64_t> epoch;  ///< reductions that this rank has come to
  std::array<std::int64_t, 2> values;
  int color;
  int key;
  std::array<Letter, most_processes> letters;  ///< to each rank
};
static_assert(sizeof(Words) <= part_bytes && std::atomic<std::uint64_t>::is_always_lock_free);

struct Arena {
  Mapping mapping;
  std::size_t next = 1;  ///< of this process, the first part that nobody of its groups has

  [[nodiscard]] std::span<std::byte> part(int rank, std::size_t number, std::size_t bytes) const {
    const std::size_t at = (static_cast<std::size_t>(rank) * parts_of_rank + number) * part_bytes;
    return mapping.bytes().subspan(at, bytes);
  }
};

class ArenaMemory final : public SymmetricMemory {
 public:
  ArenaMemory(std::shared_ptr<const Arena> arena, std::vector<int> ranks, std::size_t number,
              std::size_t bytes)
      : arena_(std::move(arena)), ranks_(std::move(ranks)), number_(number), bytes_(bytes) {}
  std::span<std::byte> part(int rank) const override {
    return arena_->part(ranks_.at(static_cast<std::size_t>(rank)), number_, bytes_);
  }

 private:
  std::shared_ptr<const Arena> arena_;
  std::vector<int> ranks_;  ///< of the launch
  std::size_t number_;
  std::size_t bytes_;
};

class ProcessCommunicator final : public Communicator {
 public:
  struct Place {
    std::shared_ptr<Arena> arena;
    std::vector<int> ranks;  ///< of the launch, by the rank here
    int rank = 0;
    std::size_t words = 0;  ///< the number of the part with them
  };
  ProcessCommunicator(Place place, AbortFlag& abort_flag, Device* device)
      : Communicator(
            {.rank = place.rank,
             .size = static_cast<int>(place.ranks.size()),
             .places = {.node = std::vector<int>(place.ranks.size()),
                        .numa = std::vector<int>(place.ranks.size()),
                        .cache = std::vector<int>(place.ranks.size())},
             .is_oversubscribed = have_to_share_cores(std::vector(place.ranks.size(), own_cores())),
             .abort_flag = &abort_flag,
             .device = device}),
        place_(std::move(place)),
        abort_flag_(abort_flag),
        device_(device) {}
  ~ProcessCommunicator() override { attachments_.reset(); }

  std::unique_ptr<Communicator> duplicate(Deadline deadline) override {
    return split(0, rank(), OtherRanks::running, deadline);
  }
  std::unique_ptr<Communicator> split(int color, int key, OtherRanks /*others*/,
                                      Deadline deadline) override {
    Words& own = words_of(rank());
    own.color = color;
    own.key = key;
    // The barrier that makes the above known, and where the new words of all groups lie.
    const std::size_t number = take_parts(1, deadline);
    std::vector<std::pair<int, int>> members;  // by key, then rank
    for (int other = 0; other < size(); ++other)
      if (words_of(other).color == color) members.emplace_back(words_of(other).key, other);
    barrier(deadline);  // nobody writes the next ones while another still reads
    if (color < 0) return nullptr;
    std::ranges::sort(members);
    Place made{.arena = place_.arena, .ranks = {}, .rank = 0, .words = number};
    for (const auto& [its_key, other] : members) {
      if (other == rank()) made.rank = static_cast<int>(made.ranks.size());
      made.ranks.push_back(place_.ranks[static_cast<std::size_t>(other)]);
    }
    return std::make_unique<ProcessCommunicator>(std::move(made), abort_flag_, device_);
  }

  std::unique_ptr<SymmetricMemory> allocate(Bytes bytes, Deadline deadline) override {
    const std::size_t parts = (bytes.value + part_bytes - 1) / part_bytes;
    return std::make_unique<ArenaMemory>(place_.arena, place_.ranks, take_parts(parts, deadline),
                                         bytes.value);
  }
  std::optional<SymmetricAddress> symmetric_address_of(
      std::span<const std::byte> /*own*/) const override {
    return {};  // nothing is registered
  }
  std::byte* find(const SymmetricAddress& /*address*/, int /*rank*/) const override {
    return nullptr;
  }
  std::unique_ptr<Messages> open_messages(std::size_t /*numbers*/, Deadline /*deadline*/) override {
    throw Error(StatusCode::failed_precondition,
                "processes that only share a file have no messages");
  }

  void barrier(Deadline deadline) override { static_cast<void>(all_reduce_max(0, deadline)); }
  std::int64_t all_reduce_max(std::int64_t value, Deadline deadline) override {
    // Two values take turns: nobody is further than one reduction ahead of who still reads.
    const std::uint64_t epoch = ++epoch_;
    Words& own = words_of(rank());
    own.values[epoch % 2] = value;
    own.epoch.store(epoch, std::memory_order_release);
    std::int64_t largest = value;
    for (int other = 0; other < size(); ++other) {
      const Words& words = words_of(other);
      BoundedWait wait(deadline, abort_flag_, is_oversubscribed());
      while (words.epoch.load(std::memory_order_acquire) < epoch)
        wait.step(other, "a step of all processes");
      largest = std::max(largest, words.values[epoch % 2]);
    }
    return largest;
  }
  void send_word(int to, std::int64_t word, Deadline deadline) override {
    Words::Letter& letter = words_of(rank()).letters.at(static_cast<std::size_t>(to));
    const std::uint64_t sent = letter.sent.load(std::memory_order_relaxed);
    BoundedWait wait(deadline, abort_flag_, is_oversubscribed());
    while (letter.taken.load(std::memory_order_acquire) < sent) wait.step(to, "the word before");
    letter.word = word;
    letter.sent.store(sent + 1, std::memory_order_release);
  }
  std::int64_t receive_word(int from, Deadline deadline) override {
    Words::Letter& letter = words_of(from).letters.at(static_cast<std::size_t>(rank()));
    const std::uint64_t taken = letter.taken.load(std::memory_order_relaxed);
    BoundedWait wait(deadline, abort_flag_, is_oversubscribed());
    while (letter.sent.load(std::memory_order_acquire) == taken) wait.step(from, "a word");
    const std::int64_t word = letter.word;
    letter.taken.store(taken + 1, std::memory_order_release);
    return word;
  }

  Attachments& attachments() override { return *attachments_; }

 private:
  [[nodiscard]] Words& words_of(int rank) const {
    const auto part = place_.arena->part(place_.ranks[static_cast<std::size_t>(rank)], place_.words,
                                         sizeof(Words));
    return *reinterpret_cast<Words*>(part.data());
  }
  /// Collective: the number of the first of `parts` that no rank has used yet. They are not used
  /// again, and are zero therefore.
  std::size_t take_parts(std::size_t parts, Deadline deadline) {
    const auto first = static_cast<std::size_t>(
        all_reduce_max(static_cast<std::int64_t>(place_.arena->next), deadline));
    if (first + parts > parts_of_rank)
      throw Error(StatusCode::resource_exhausted,
                  "the file that the processes share has " + std::to_string(parts_of_rank) +
                      " parts for each of them, and " + std::to_string(first) + " are used");
    place_.arena->next = first + parts;
    return first;
  }

  Place place_;
  AbortFlag& abort_flag_;
  Device* device_;
  std::uint64_t epoch_ = 0;
  std::unique_ptr<Attachments> attachments_ = std::make_unique<Attachments>();
};

constexpr std::size_t arena_bytes = most_processes * parts_of_rank * part_bytes;

}  // namespace

int make_process_arena() {
  // The processes that are started inherit it.
  const int arena = ::memfd_create("colltune-processes", 0);
  if (arena < 0 || ::ftruncate(arena, static_cast<off_t>(arena_bytes)) != 0) {
    const std::string why = std::strerror(errno);
    if (arena >= 0) ::close(arena);
    throw Error(StatusCode::resource_exhausted,
                "no file in memory for the processes to share: " + why);
  }
  return arena;
}

std::unique_ptr<Communicator> join_processes(int arena, int rank, int ranks, AbortFlag& abort_flag,
                                             Device* device) {
  if (ranks < 1 || ranks > most_processes || rank < 0 || rank >= ranks)
    throw Error(StatusCode::invalid_argument,
                "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": 1 to " +
                    std::to_string(most_processes) + " ranks are allowed");
  auto shared = std::make_shared<Arena>();
  shared->mapping = Mapping::shared(arena, {arena_bytes});
  ProcessCommunicator::Place place{
      .arena = std::move(shared), .ranks = {}, .rank = rank, .words = 0};
  for (int one = 0; one < ranks; ++one) place.ranks.push_back(one);
  return std::make_unique<ProcessCommunicator>(std::move(place), abort_flag, device);
}

}  // namespace colltune
