// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/communication/thread_communicator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/machine/mapping.h"
#include "colltune/machine/usable_cores.h"
#include "rank_places.h"
#include "thread_messages.h"

namespace colltune {
namespace {

/// For ranks that may each run on any core of the process.
bool threads_share_cores(std::size_t ranks) {
  return have_to_share_cores(std::vector(ranks, own_cores()));
}

class ThreadGroup;

/// The live symmetric memory of all ranks of a launch. Thread-safe.
class LiveMemory {
 public:
  /// `most`: of all ranks together.
  explicit LiveMemory(Bytes most = no_limit) : most_(most) {}

  /// Throws Error(resource_exhausted) if it exceeds the limit.
  void add(std::span<std::byte> part) {
    const std::scoped_lock lock(mutex_);
    if (part.size() > most_.value || used_ > most_.value - part.size())
      throw Error(StatusCode::resource_exhausted,
                  format_bytes({part.size()}) +
                      " more symmetric memory would exceed the limit of " + format_bytes(most_) +
                      " of all ranks together, of which " + format_bytes({used_}) + " are in use");
    parts_.push_back({++made_, part});
    used_ += part.size();
  }
  void remove(std::span<const std::byte> part) {
    const std::scoped_lock lock(mutex_);
    if (std::erase_if(parts_, [&](const Part& one) { return one.bytes.data() == part.data(); }) !=
        0)
      used_ -= part.size();
  }
  [[nodiscard]] std::optional<SymmetricAddress> symmetric_address_of(
      std::span<const std::byte> bytes) const {
    const std::scoped_lock lock(mutex_);
    for (const Part& part : parts_)
      if (std::less_equal<>{}(part.bytes.data(), bytes.data()) &&
          std::less_equal<>{}(bytes.data() + bytes.size(), part.bytes.data() + part.bytes.size()))
        return SymmetricAddress{{.number = part.number},
                                static_cast<std::uint64_t>(bytes.data() - part.bytes.data())};
    return {};
  }
  [[nodiscard]] std::byte* find(const SymmetricAddress& address) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(parts_, address.allocation.number, &Part::number);
    return found == parts_.end() ? nullptr : found->bytes.data() + address.offset;
  }

 private:
  struct Part {
    std::int64_t number = 0;
    std::span<std::byte> bytes;
  };
  static constexpr Bytes no_limit{std::numeric_limits<std::uint64_t>::max()};

  Bytes most_;
  mutable std::mutex mutex_;
  std::int64_t made_ = 0;  // guarded by mutex_, as the next ones
  std::uint64_t used_ = 0;
  std::vector<Part> parts_;
};

/// One rank's part of symmetric memory, listed as live as long as this object exists.
class LivePart {
 public:
  LivePart(Bytes bytes, std::shared_ptr<LiveMemory> live)
      : mapping_(Mapping::anonymous(bytes)), live_(std::move(live)) {
    live_->add(mapping_.bytes());
  }
  LivePart(const LivePart&) = delete;
  LivePart& operator=(const LivePart&) = delete;
  ~LivePart() { live_->remove(mapping_.bytes()); }
  [[nodiscard]] std::span<std::byte> bytes() const { return mapping_.bytes(); }

 private:
  Mapping mapping_;
  std::shared_ptr<LiveMemory> live_;
};

/// What one rank publishes to the others: written before a barrier, read after it.
struct Board {
  int color = 0;
  int key = 0;
  std::uint64_t bytes = 0;
  std::shared_ptr<ThreadGroup> group{};
  std::shared_ptr<const LivePart> part{};
  std::shared_ptr<Mailbox> mailbox{};
  std::optional<Error> failure{};
};

/// The state that the ranks of one communicator share.
class ThreadGroup {
 public:
  /// `shares_cores`: whether ranks that run at the same time share cores.
  ThreadGroup(std::vector<AbortFlag*> flags, RankPlaces rank_places,
              std::vector<Device*> rank_devices, std::shared_ptr<LiveMemory> memory,
              bool shares_cores)
      : abort_flags(std::move(flags)),
        live(std::move(memory)),
        places(std::move(rank_places)),
        devices(std::move(rank_devices)),
        is_oversubscribed(shares_cores),
        boards(places.node.size()),
        arrivals_(places.node.size()),
        outboxes_(places.node.size()) {}

  [[nodiscard]] int size() const { return static_cast<int>(places.node.size()); }

  /// Every rank writes its own epoch and reads the others', so a time-out can name the missing
  /// rank.
  void barrier(int rank, std::uint64_t epoch, Deadline deadline) {
    arrivals_[static_cast<std::size_t>(rank)].epoch.store(epoch, std::memory_order_release);
    BoundedWait wait(deadline, flag_of(rank), is_oversubscribed);
    for (int distance = 1; distance < size(); ++distance) {
      const int other = (rank + distance) % size();
      const auto& arrival = arrivals_[static_cast<std::size_t>(other)].epoch;
      while (arrival.load(std::memory_order_acquire) < epoch) wait.step(other, "the barrier");
    }
  }

  std::int64_t all_reduce_max(int rank, std::uint64_t epoch, std::int64_t value,
                              Deadline deadline) {
    // Two slots: a rank that is one call ahead writes the other slot; no rank can be two ahead.
    arrivals_[static_cast<std::size_t>(rank)].values[epoch % 2] = value;
    barrier(rank, epoch, deadline);
    for (const Arrival& arrival : arrivals_) value = std::max(value, arrival.values[epoch % 2]);
    return value;
  }

  void send_word(int from, int to, std::int64_t word, Deadline deadline) {
    Outbox& outbox = outboxes_[static_cast<std::size_t>(from)];
    outbox.word = word;
    outbox.to.store(to, std::memory_order_release);
    BoundedWait wait(deadline, flag_of(from), is_oversubscribed);
    while (outbox.to.load(std::memory_order_acquire) >= 0) wait.step(to, "a word to be taken");
  }

  std::int64_t receive_word(int from, int to, Deadline deadline) {
    Outbox& outbox = outboxes_[static_cast<std::size_t>(from)];
    BoundedWait wait(deadline, flag_of(to), is_oversubscribed);
    while (outbox.to.load(std::memory_order_acquire) != to) wait.step(from, "a word");
    const std::int64_t word = outbox.word;
    outbox.to.store(-1, std::memory_order_release);
    return word;
  }

  [[nodiscard]] AbortFlag& flag_of(int rank) const {
    return *abort_flags[static_cast<std::size_t>(rank)];
  }

  const std::vector<AbortFlag*> abort_flags;  ///< by rank
  const std::shared_ptr<LiveMemory> live;
  const RankPlaces places;
  const std::vector<Device*> devices;  ///< null: host memory
  const bool is_oversubscribed;
  std::vector<Board> boards;  ///< one per rank; guarded by the barriers around each exchange

 private:
  struct alignas(128) Arrival {
    std::atomic<std::uint64_t> epoch{0};
    std::array<std::int64_t, 2> values{};  ///< guarded by the epoch
  };
  /// A rank's word in transit. `to` guards the word and is -1 if there is none.
  struct alignas(128) Outbox {
    std::atomic<int> to{-1};
    std::int64_t word = 0;
  };
  std::vector<Arrival> arrivals_;
  std::vector<Outbox> outboxes_;
};

class ThreadMemory final : public SymmetricMemory {
 public:
  /// `parts`: null for ranks on other nodes.
  explicit ThreadMemory(std::vector<std::shared_ptr<const LivePart>> parts)
      : parts_(std::move(parts)) {}
  std::span<std::byte> part(int rank) const override {
    const auto& part = parts_[static_cast<std::size_t>(rank)];
    return part ? part->bytes() : std::span<std::byte>{};
  }

 private:
  std::vector<std::shared_ptr<const LivePart>> parts_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank)
      : Communicator({.rank = rank,
                      .size = group->size(),
                      .places = group->places,
                      .is_oversubscribed = group->is_oversubscribed,
                      .abort_flag = group->abort_flags[static_cast<std::size_t>(rank)],
                      .device = group->devices[static_cast<std::size_t>(rank)]}),
        group_(std::move(group)),
        rank_(rank) {}

  Attachments& attachments() override { return attachments_; }

  void barrier(Deadline deadline) override { group_->barrier(rank_, ++epoch_, deadline); }
  std::int64_t all_reduce_max(std::int64_t value, Deadline deadline) override {
    return group_->all_reduce_max(rank_, ++epoch_, value, deadline);
  }
  void send_word(int to, std::int64_t word, Deadline deadline) override {
    group_->send_word(rank_, to, word, deadline);
  }
  std::int64_t receive_word(int from, Deadline deadline) override {
    return group_->receive_word(from, rank_, deadline);
  }

  std::unique_ptr<Communicator> duplicate(Deadline deadline) override {
    return split(0, rank_, OtherRanks::running, deadline);
  }

  std::unique_ptr<Communicator> split(int color, int key, OtherRanks others,
                                      Deadline deadline) override {
    return make_part(color, key, others == OtherRanks::sleeping, deadline);
  }

  std::unique_ptr<SymmetricMemory> allocate(Bytes bytes_per_rank, Deadline deadline) override {
    own_board() = {.bytes = bytes_per_rank.value};
    attempt([&] {
      require_free_memory(bytes_per_rank * static_cast<std::uint64_t>(size()));
      own_board().part = std::make_shared<const LivePart>(bytes_per_rank, group_->live);
    });
    barrier(deadline);
    std::vector<std::shared_ptr<const LivePart>> parts;
    bool equal = true;
    for (int r = 0; r < size(); ++r) {
      parts.push_back(shares_node_with(r) ? board(r).part : nullptr);
      equal = equal && board(r).bytes == bytes_per_rank.value;
    }
    finish_exchange(deadline);
    if (!equal)
      throw Error(StatusCode::invalid_argument,
                  "the ranks asked for unlike amounts of symmetric memory; rank " +
                      std::to_string(rank_) + " for " + format_bytes(bytes_per_rank));
    return std::make_unique<ThreadMemory>(std::move(parts));
  }

  std::optional<SymmetricAddress> symmetric_address_of(
      std::span<const std::byte> own) const override {
    return group_->live->symmetric_address_of(own);
  }
  std::byte* find(const SymmetricAddress& address, int rank) const override {
    return shares_node_with(rank) ? group_->live->find(address) : nullptr;
  }

  std::unique_ptr<Messages> open_messages(std::size_t numbers, Deadline deadline) override {
    own_board() = {};
    if (rank_ == 0) attempt([&] { own_board().mailbox = make_mailbox(); });
    barrier(deadline);
    std::shared_ptr<Mailbox> mailbox = board(0).mailbox;
    finish_exchange(deadline);
    return make_thread_messages(std::move(mailbox), rank_, numbers);
  }

 private:
  [[nodiscard]] bool shares_node_with(int rank) const {
    const auto node_of = [this](int r) { return nodes()[static_cast<std::size_t>(r)]; };
    return node_of(rank) == node_of(rank_);
  }
  Board& board(int rank) const { return group_->boards[static_cast<std::size_t>(rank)]; }
  Board& own_board() const { return board(rank_); }

  /// Runs code that may fail on this rank only; finish_exchange tells all ranks.
  template <class Act>
  void attempt(Act act) {
    try {
      act();
    } catch (const Error& error) {
      own_board().failure = error;
    } catch (const std::exception& error) {
      own_board().failure = Error(StatusCode::resource_exhausted, error.what());
    }
  }

  /// Ends an exchange: if `attempt` failed on one rank, throws on all. Afterwards boards may be
  /// written again.
  void finish_exchange(Deadline deadline) {
    std::optional<Error> failure;
    for (int r = 0; r < size(); ++r)
      if (!failure && board(r).failure)
        failure = Error(board(r).failure->code(),
                        "rank " + std::to_string(r) + ": " + board(r).failure->what());
    barrier(deadline);
    own_board() = {};
    if (failure) throw *failure;
  }

  std::unique_ptr<Communicator> make_part(int color, int key, bool others_sleep,
                                          Deadline deadline) {
    own_board() = {.color = color, .key = key};
    barrier(deadline);
    const std::vector<int> members = select_members(color);
    const bool leads = color >= 0 && members.front() == rank_;
    if (leads) attempt([&] { own_board().group = make_group(members, others_sleep); });
    barrier(deadline);
    std::shared_ptr<ThreadGroup> group;
    if (color >= 0) group = board(members.front()).group;
    finish_exchange(deadline);
    if (color < 0) return nullptr;
    const auto place = std::ranges::find(members, rank_) - members.begin();
    return std::make_unique<ThreadCommunicator>(std::move(group), static_cast<int>(place));
  }

  std::vector<int> select_members(int color) const {
    std::vector<int> members;
    for (int r = 0; r < size(); ++r)
      if (board(r).color == color) members.push_back(r);
    std::ranges::stable_sort(members, {}, [this](int r) { return board(r).key; });
    return members;
  }

  std::shared_ptr<ThreadGroup> make_group(const std::vector<int>& members,
                                          bool others_sleep) const {
    std::vector<Device*> devices;
    std::vector<AbortFlag*> flags;
    for (const int member : members) {
      devices.push_back(group_->devices[static_cast<std::size_t>(member)]);
      flags.push_back(&group_->flag_of(member));
    }
    const bool shares_cores =
        others_sleep ? threads_share_cores(members.size()) : group_->is_oversubscribed;
    return std::make_shared<ThreadGroup>(std::move(flags),
                                         places_of_members(group_->places, members),
                                         std::move(devices), group_->live, shares_cores);
  }

  std::shared_ptr<ThreadGroup> group_;
  int rank_;
  std::uint64_t epoch_ = 0;
  Attachments attachments_;
};

std::vector<std::unique_ptr<Communicator>> make_world(std::vector<AbortFlag*> abort_flags,
                                                      RankPlaces places,
                                                      std::vector<Device*> devices,
                                                      std::shared_ptr<LiveMemory> live) {
  const std::size_t ranks = abort_flags.size();
  const auto group =
      std::make_shared<ThreadGroup>(std::move(abort_flags), std::move(places), std::move(devices),
                                    std::move(live), threads_share_cores(ranks));
  std::vector<std::unique_ptr<Communicator>> world;
  for (std::size_t r = 0; r < ranks; ++r)
    world.push_back(std::make_unique<ThreadCommunicator>(group, static_cast<int>(r)));
  return world;
}

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_world(int ranks, AbortFlag& abort_flag,
                                                             const RankPlaces& pretended,
                                                             std::span<Device* const> devices) {
  if (ranks < 1)
    throw Error(StatusCode::invalid_argument,
                "a world needs at least 1 rank, not " + std::to_string(ranks));
  for (const auto& level : enum_names(Locality{}))
    if (const std::vector<int>& given = pretended.on(level.value);
        !given.empty() && given.size() != static_cast<std::size_t>(ranks))
      throw Error(StatusCode::invalid_argument,
                  "the world's places on level " + std::string(level.name) + " are given for " +
                      std::to_string(given.size()) + " of " + std::to_string(ranks) + " ranks");
  if (!devices.empty() && devices.size() != static_cast<std::size_t>(ranks))
    throw Error(StatusCode::invalid_argument, "the world's devices are given for " +
                                                  std::to_string(devices.size()) + " of " +
                                                  std::to_string(ranks) + " ranks");
  std::vector<Device*> of_ranks(devices.begin(), devices.end());
  of_ranks.resize(static_cast<std::size_t>(ranks));
  return make_world(std::vector<AbortFlag*>(static_cast<std::size_t>(ranks), &abort_flag),
                    renumber_places(pretended, ranks), std::move(of_ranks),
                    std::make_shared<LiveMemory>());
}

std::vector<std::unique_ptr<Communicator>> make_program_threads(
    std::span<AbortFlag* const> abort_flags, Bytes most_memory) {
  const std::size_t ranks = abort_flags.size();
  const std::uint64_t most =
      std::numeric_limits<std::uint64_t>::max() / std::max<std::size_t>(ranks, 1);
  if (ranks == 0) throw Error(StatusCode::invalid_argument, "a world needs at least 1 rank, not 0");
  return make_world({abort_flags.begin(), abort_flags.end()},
                    renumber_places({}, static_cast<int>(ranks)), std::vector<Device*>(ranks),
                    std::make_shared<LiveMemory>(Bytes{std::min(most_memory.value, most) * ranks}));
}

}  // namespace colltune
