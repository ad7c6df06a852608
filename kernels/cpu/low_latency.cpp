// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Low latency for short messages, all eight collectives. Every rank that contributes data writes it
// once; the ranks that need it poll the message itself instead of a separate signal. 1 round, and
// one transfer of a cache line if the message fits into a line. Formats: NCCL's LL protocol (data
// and flag in one word), TensorRT-LLM's Lamport buffers (a poison word), and a line whose first
// word is the flag.

#include "low_latency.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "arithmetic/numerics.h"
#include "arithmetic/processor.h"
#include "colltune/kernels/arithmetic/reduction.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/kernels/communication/signals.h"
#include "colltune/kernels/implementation.h"
#include "shared_memory/adaptive_stores.h"
#include "shared_memory/mail.h"
#include "shared_memory/shared_memory_support.h"
#include "shared_memory/slots.h"
#include "shared_memory/store_choice.h"

namespace colltune::cpu {
namespace {

constexpr Bytes largest_message{64 << 10};
// A number in each line makes the reader copy the message out, which programs feel from 1 KiB on
// (tests/bench/results/kernels.md).
constexpr Bytes largest_tried_by_lines{512};
// Longer messages that are checked word by word take longer: at 512 bytes by half, and more.
constexpr Bytes largest_tried_by_word{256};
// If all ranks send and receive, each polls the line that another is about to write. Then a number
// in each line is never slower by more than noise up to this size, and up to 1.8 times as fast
// between distant cores. With a root, the sender does not poll, and nothing is gained.
constexpr Bytes largest_by_lines_alone{128};
// A number in the message's first line makes copies straddle two lines; a number in a line of its
// own costs one more line. From this size on, by the bytes for one reader, a sweep tries both.
constexpr std::size_t shortest_by_header = 256;
// All lines of a short message are taken back, as many as a core can have in flight at a time. For
// a longer one a sweep tries whether that helps.
constexpr std::size_t surely_taken_back = 512;
// A rank that only sends runs ahead of its readers. Where a message was there already when it was
// looked for, so are probably the next ones: the second one from then is fetched while the ones
// before it are read. In rows of 100 calls that took 0.46 to 0.77 of the time (512 bytes) or 0.73
// to 0.99 (8), in rows of 8 0.81 to 1.02, in rows of 1 and 4 about as much as without
// (tests/bench/results/executed.md). A reader that has caught up would take lines from the sender
// that it is about to write, so the first message that was there is not enough.
constexpr std::uint64_t fetched_ahead = 2;
constexpr int there_before_fetching = 1;
constexpr std::size_t line = 64;
/// Signal: the number of the last call with a root that this rank has ended, so it has read the
/// call's messages.
constexpr int has_read = 0;
constexpr std::string_view cached = "cached";
constexpr std::string_view adaptive = "adaptive";

/// How the writer takes back, ahead of time, the lines of a message that it will write later. The
/// readers have them in their caches, since they read the previous contents.
enum class TakenBack {
  cleared,   ///< a store to each line, two messages ahead, takes it back for certain
  fetched,   ///< each line is prefetched while the message before is in flight
  one_line,  ///< only the first line is prefetched
};
constexpr std::array<Named<TakenBack>, 3> enum_names(TakenBack) {
  return {{{TakenBack::cleared, "cleared"},
           {TakenBack::fetched, "fetched"},
           {TakenBack::one_line, "one_line"}}};
}
constexpr std::string_view enum_title(TakenBack) { return "taken_back"; }

/// The settings of a variant.
struct Settings {
  std::string_view format;
  bool adapts = false;
  TakenBack taken_back = TakenBack::one_line;
  std::int64_t slots = usual_slots;  ///< a power of two
};

StoreChoice::Rhythm rhythm_of(const Settings& settings, Bytes message_size) {
  return StoreChoice::rhythm_of(1, static_cast<int>(settings.slots), message_size);
}

/// The largest message from one rank to another in calls that may follow `call`.
std::size_t largest_block(const Call& call, int ranks) {
  if (call.capacity == Bytes{})
    return block_elements(call.problem, ranks) * size_of(call.problem.data_type);
  const bool has_blocks = shape_of(call.problem.collective).has_block_per_rank();
  return call.capacity.value / (has_blocks ? static_cast<std::size_t>(ranks) : 1);
}

/// Which ranks send and receive what.
struct Roles {
  Roles(const Problem& problem, int rank, int ranks, int root)
      : shape(shape_of(problem.collective)) {
    from.reserve(static_cast<std::size_t>(ranks));
    to.reserve(static_cast<std::size_t>(ranks));
    block = block_elements(problem, ranks) * size_of(problem.data_type);
    set_root(rank, ranks, root);
  }
  /// Allocates nothing.
  void set_root(int rank, int ranks, int root) {
    gives = !shape.only_root_sends || rank == root;
    takes = !shape.only_root_receives || rank == root;
    from.clear();
    to.clear();
    for (int distance = 1; distance < ranks; ++distance) {
      const int peer = (rank + distance) % ranks;
      if (takes && (!shape.only_root_sends || peer == root)) from.push_back(peer);
      if (gives && (!shape.only_root_receives || peer == root)) to.push_back(peer);
    }
  }
  /// Messages that a rank writes: one for each other rank, or one for all.
  [[nodiscard]] int messages(int ranks) const { return shape.sends_block_per_rank ? ranks : 1; }
  /// The index of the message for `rank`.
  [[nodiscard]] std::size_t message_for(int rank) const {
    return shape.sends_block_per_rank ? static_cast<std::size_t>(rank) : 0;
  }
  /// Offset of the message for `rank` in a send buffer, and of the one from `rank` in a receive
  /// buffer.
  [[nodiscard]] std::size_t offset_in_send(int rank) const { return block * message_for(rank); }
  [[nodiscard]] std::size_t offset_in_receive(int rank) const {
    return shape.receives_block_per_rank ? block * static_cast<std::size_t>(rank) : 0;
  }

  BlockLayout shape;
  std::size_t block = 0;  ///< bytes from one rank to another
  bool gives = false;     ///< this rank sends
  bool takes = false;     ///< this rank receives
  std::vector<int> from;
  std::vector<int> to;
};

class LowLatency final : public Operation {
 public:
  LowLatency(Communicator& communicator, const Call& call, const Settings& settings,
             Deadline deadline)
      : prepared_(call),
        format_(make_mail_format(settings.format)),
        rank_(communicator.rank()),
        ranks_(communicator.size()),
        roles_(call.problem, rank_, ranks_, call.root),
        largest_(largest_block(call, ranks_)),
        message_size_(format_->slot_size(largest_)),
        slot_size_(message_size_ * static_cast<std::size_t>(std::max(2, roles_.messages(ranks_)))),
        taken_back_(settings.taken_back),
        slots_(static_cast<std::uint64_t>(settings.slots)),
        memory_(communicator.allocate(
            {slots_ * slot_size_ + Signals::size(1 + SizeBuckets(call).words())}, deadline)),
        signals_(communicator, *memory_, slots_ * slot_size_),
        abort_flag_(communicator.abort_flag()),
        yields_at_once_(communicator.is_oversubscribed()),
        space_size_(space_for(largest_)),
        space_(space_size_ * static_cast<std::size_t>(ranks_)),
        sources_(static_cast<std::size_t>(ranks_)),
        written_sizes_(slots_),
        seen_(static_cast<std::size_t>(ranks_)) {
    for (int rank = 0; rank < ranks_; ++rank) parts_.push_back(memory_->part(rank).data());
    for (std::uint64_t number = 0; number < slots_; ++number)
      for (int index = 0; index < roles_.messages(ranks_); ++index)
        format_->clear(slot(rank_, number) + static_cast<std::size_t>(index) * message_size_,
                       largest_);
    if (settings.adapts)
      adaptive_.emplace(
          SizeBuckets(call), [&](Bytes size) { return rhythm_of(settings, size); }, signals_,
          communicator, 1);
    use(call);
    communicator.barrier(deadline);  // no rank may look into a slot before it is empty
  }

  void bind(const CallBuffers& buffers) override {
    check_bound_sizes(buffers_, buffers);
    // Word by word, since a caller has written them so a moment ago: a wider load would have to
    // wait until they, and all that was written before them, have left the core. That can be a
    // message whose line a peer holds.
    buffers_.send = {buffers.send.data(), buffers_.send.size()};
    buffers_.receive = {buffers.receive.data(), buffers_.receive.size()};
  }

  void rebind(const Call& call) override {
    roles_.block = check_rebound(prepared_, call, rank_, ranks_);
    if (call.root != root_ && roles_.shape.has_root) {
      same_root_since_ = number_ + 1;
      roles_.set_root(rank_, ranks_, call.root);
    }
    use(call);
  }

  void start() override {
    if (roles_.block == 0) return;
    ++number_;
    if (adaptive_) stores_ = adaptive_->begin(message_bytes_).staging;
    if (!roles_.to.empty() && have_read(slots_)) write();
    if (adaptive_) adaptive_->pause();
  }

  void wait(Deadline deadline) override {
    if (roles_.block == 0) return;
    if (adaptive_) adaptive_->resume();
    if (!roles_.to.empty() && written_ < number_) {
      wait_for_readers(slots_, deadline);
      write();
    }
    if (roles_.takes) take(deadline);
    if (clears_ahead()) clear_ahead(deadline);
    if (tells_end()) signals_.set(has_read, number_);
    if (adaptive_) adaptive_->end();
  }

 private:
  void use(const Call& call) {
    buffers_ = call.buffers;
    root_ = call.root;
    message_bytes_ = call.problem.message_size;
    reduction_ = {call.problem.data_type, call.problem.reduce_op, ranks_};
    count_ = roles_.block / size_of(call.problem.data_type);
    taken_back_size_ = taken_back_ == TakenBack::one_line ? line : format_->slot_size(roles_.block);
  }

  /// The addresses at which `from` writes its messages of a call, and that for `reader`.
  [[nodiscard]] std::byte* slot(int from, std::uint64_t number) const {
    return parts_[static_cast<std::size_t>(from)] + (number & (slots_ - 1)) * slot_size_;
  }
  [[nodiscard]] std::byte* message(int from, int reader, std::uint64_t number) const {
    return slot(from, number) + roles_.message_for(reader) * message_size_;
  }

  /// One reader for each message that this rank writes.
  [[nodiscard]] std::span<const int> readers() const {
    const std::span<const int> all(roles_.to);
    return roles_.shape.sends_block_per_rank ? all
                                             : all.first(std::min<std::size_t>(1, all.size()));
  }

  /// Whether other ranks learn that this one has ended a call with a root: those that wait for its
  /// reading, and, if roots change, all.
  [[nodiscard]] bool tells_end() const {
    return roles_.shape.has_root && (!roles_.from.empty() || prepared_.capacity != Bytes{});
  }
  /// If roots change, every rank may have to clear what it wrote under another root.
  [[nodiscard]] bool clears_ahead() const {
    return taken_back_ == TakenBack::cleared &&
           (!roles_.to.empty() || (roles_.shape.has_root && prepared_.capacity != Bytes{}));
  }

  void write() {
    for (const int peer : readers()) {
      format_->write(message(rank_, peer, number_),
                     buffers_.send.subspan(roles_.offset_in_send(peer), roles_.block), number_,
                     stores_);
      take_back(message(rank_, peer, number_ + (clears_ahead() ? MailFormat::cleared_ahead : 1)));
    }
    written_sizes_[number_ & (slots_ - 1)] = roles_.block;
    written_ = number_;
  }

  /// Prefetches the place of a later message for writing. While this message is in flight there is
  /// time for that, before the place is written (or cleared: see below).
  void take_back(const std::byte* place) const {
    for (std::size_t offset = 0; offset < taken_back_size_; offset += line)
      prefetch_for_writing(place + offset);
  }

  /// Some formats need clearing. For the others a store takes a line back for certain, whereas a
  /// peer that polls for the next message may undo a prefetch: between distant cores a message of
  /// one line takes 0.7 us instead of 1.1 us. With a root, clearing would have to wait for readers.
  /// Cleared is what this rank wrote there last, which may have been longer than this message.
  void clear_ahead(Deadline deadline) {
    std::size_t& written = written_sizes_[(number_ + MailFormat::cleared_ahead) & (slots_ - 1)];
    if (written == 0) return;
    wait_for_readers(slots_ - MailFormat::cleared_ahead, deadline);
    std::byte* const place = slot(rank_, number_ + MailFormat::cleared_ahead);
    for (int index = 0; index < roles_.messages(ranks_); ++index)
      if (roles_.messages(ranks_) == 1 || index != rank_)
        format_->clear(place + static_cast<std::size_t>(index) * message_size_, written);
    written = 0;
  }

  /// Whether `peer` has ended its call `number`. Looks at its word only if what was seen last does
  /// not say so: each look takes the word's line from the peer, which writes it in every call.
  [[nodiscard]] bool has_ended(int peer, std::uint64_t number) const {
    std::uint64_t& seen = seen_[static_cast<std::size_t>(peer)];
    if (seen < number) seen = signals_.get(peer, has_read);
    return seen >= number;
  }

  /// Whether the message of `ago` messages before has been read. Without a root all ranks send and
  /// receive: a rank that has reached this message has read all messages before the last. With a
  /// root that was another one then, other ranks may have read it than read this one.
  [[nodiscard]] bool have_read(std::uint64_t ago) const {
    if (!roles_.shape.has_root || number_ <= ago) return true;
    const auto has = [&](int peer) { return has_ended(peer, number_ - ago); };
    if (is_same_root(ago)) return std::ranges::all_of(roles_.to, has);
    for (int distance = 1; distance < ranks_; ++distance)
      if (!has((rank_ + distance) % ranks_)) return false;
    return true;
  }
  /// Whether the root was this one `ago` messages before.
  [[nodiscard]] bool is_same_root(std::uint64_t ago) const {
    return number_ >= same_root_since_ + ago;
  }

  void wait_for_readers(std::uint64_t ago, Deadline deadline) {
    if (have_read(ago)) return;
    if (adaptive_) adaptive_->pause();
    constexpr std::string_view reading = "its reading of a message";
    if (is_same_root(ago))
      for (const int peer : roles_.to)
        signals_.wait_until(peer, has_read, number_ - ago, deadline, reading);
    else
      signals_.wait_until_all(has_read, number_ - ago, deadline, reading);
    if (adaptive_) adaptive_->resume();
  }

  void take(Deadline deadline) {
    const auto own = static_cast<std::size_t>(rank_);
    sources_[own] = roles_.gives ? buffers_.send.data() + roles_.offset_in_send(rank_) : nullptr;
    bool were_there = true;
    for (const int peer : roles_.from)
      sources_[static_cast<std::size_t>(peer)] = await(peer, deadline, were_there);
    there_in_a_row_ = were_there ? there_in_a_row_ + 1 : 0;
    if (roles_.shape.reduces) {
      reduce_in_rank_order(sources_, buffers_.receive.data(), count_, reduction_);
      return;
    }
    if (sources_[own] != nullptr) place(rank_);
    for (const int peer : roles_.from) place(peer);
  }

  /// Clears `was_there` if the message had not come.
  const std::byte* await(int peer, Deadline deadline, bool& was_there) {
    const std::byte* const mail = message(peer, rank_, number_);
    const std::span<std::byte> space(space_.data() + static_cast<std::size_t>(peer) * space_size_,
                                     space_size_);
    if (const std::byte* const data = read(mail, peer, space)) {
      if (roles_.shape.has_root && there_in_a_row_ >= there_before_fetching) fetch_ahead(peer);
      return data;
    }
    was_there = false;
    if (adaptive_) adaptive_->pause();
    BoundedWait wait(deadline, abort_flag_, yields_at_once_);
    for (;;) {
      if (const std::byte* const data = read(mail, peer, space)) {
        if (adaptive_) adaptive_->resume();
        return data;
      }
      wait.step(peer, "its message");
    }
  }

  /// Prefetches a later message of `peer`, as much as a core can have in flight.
  void fetch_ahead(int peer) const {
    const std::byte* const place = message(peer, rank_, number_ + fetched_ahead);
    const std::size_t size = std::min(roles_.block, surely_taken_back) + line;
    for (std::size_t offset = 0; offset < size; offset += line)
      prefetch_for_reading(place + offset);
  }

  /// The message of `peer`; null if it has not come. What has no number must not be looked at
  /// before the peer has cleared the slot. The peer has done so at the end of the call
  /// `cleared_ahead` before; that this rank knows from the message after it, or from the signal.
  const std::byte* read(const std::byte* mail, int peer, std::span<std::byte> space) const {
    if (roles_.shape.has_root && !is_same_root(1) && format_->needs_clearing() &&
        signals_.get(peer, has_read) + MailFormat::cleared_ahead < number_)
      return nullptr;
    return format_->read(mail, roles_.block, number_, space);
  }

  void place(int rank) const {
    std::byte* const to = buffers_.receive.data() + roles_.offset_in_receive(rank);
    const std::byte* const from = sources_[static_cast<std::size_t>(rank)];
    if (to != from) std::memcpy(to, from, roles_.block);
  }

  Call prepared_;
  CallBuffers buffers_;
  std::unique_ptr<const MailFormat> format_;
  int rank_;
  int ranks_;
  int root_ = 0;
  Roles roles_;
  Bytes message_bytes_{};
  Reduction reduction_{};
  std::size_t count_ = 0;
  std::size_t largest_;       ///< bytes of the largest message
  std::size_t message_size_;  ///< room for it
  /// Of the messages that are sent together. A single message leaves a gap after it: otherwise a
  /// reader's prefetcher would fetch part of the next message before it is written.
  std::size_t slot_size_;
  TakenBack taken_back_;
  std::size_t taken_back_size_ = 0;  ///< of a message
  /// A slot may be rewritten when all have read what it held, so this many messages may be in
  /// flight.
  std::uint64_t slots_;
  std::unique_ptr<SymmetricMemory> memory_;
  std::vector<std::byte*> parts_;  ///< parts of `memory_`, by rank
  Signals signals_;
  std::optional<AdaptiveStores> adaptive_{};
  CopyMode stores_ = CopyMode::cached;
  const AbortFlag& abort_flag_;
  bool yields_at_once_;
  std::size_t space_size_;
  std::vector<std::byte> space_;  ///< for each peer's message
  std::vector<const std::byte*> sources_;
  std::vector<std::size_t> written_sizes_;  ///< by slot: of this rank's messages; 0: cleared
  mutable std::vector<std::uint64_t>
      seen_;                   ///< by peer: the last of its calls that is known to have ended
  std::uint64_t number_ = 0;   ///< of the current message
  std::uint64_t written_ = 0;  ///< number of the last message that was written
  std::uint64_t same_root_since_ = 0;  ///< the first message with the present root
  int there_in_a_row_ = 0;             ///< calls before this one that did not wait for any message
};

class LowLatencyImplementation final : public Implementation {
 public:
  explicit LowLatencyImplementation(Collective collective)
      : Implementation(
            {.name = "cpu." + std::string(name_of(collective)) + "_low_latency",
             .description = "short messages that are their own signals: 1 round (NCCL LL, Lamport)",
             .collective = collective,
             .family = "colltune"}) {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    const std::size_t block = Roles(problem, 0, topology.ranks, 0).block;
    std::vector<Variant> all;
    for (const auto& format : make_mail_formats()) {
      if (!is_tried(format->name(), problem, block)) continue;
      const bool adapts = format->streams() && problem.message_size >= smallest_streamed_staging &&
                          capability.has(streaming_feature);
      for (const bool adapting : {true, false})
        for (const TakenBack taken_back : tried_ways(*format, block))
          for (const std::int64_t slots : slots_tried(block))
            if (adapts || !adapting)
              all.push_back(variant_of({format->name(), adapting, taken_back, slots}));
    }
    return all;
  }

  Support can_run(const Problem& problem, const Topology& topology, const Capability&,
                  const Variant& variant) const override {
    if (std::string why = why_not_in_shared_memory(collective(), problem, topology); !why.empty())
      return Support::no(std::move(why));
    if (std::string why = why_unknown(variant); !why.empty()) return Support::no(std::move(why));
    if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
      return Support::no(std::move(why));
    return Support::yes();
  }

  Limits limits(const Variant&) const override {
    Limits limits;
    limits.max_message = largest_message;
    return limits;
  }

  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return "mail;" + name() + ";" + word(variant, "format") + ";" +
           std::to_string(number(variant, "slots")) + ";" +
           std::string(name_of(problem.data_type)) + ";" + std::string(name_of(problem.reduce_op));
  }

  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const Roles roles(problem, 0, topology.ranks, 0);
    const auto block = static_cast<double>(roles.block);
    return {.steps = topology.ranks > 1 ? 1.0 : 0.0,
            .bytes_per_rank = (topology.ranks - 1) * block,
            .reduced_bytes = roles.shape.reduces ? topology.ranks * block : 0};
  }

  Numerics numerics(const Problem& problem, const Variant&) const override {
    return {.rounding = rounding_at_once(problem), .numeric_class = NumericClass::rank_order};
  }

  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    require_one_node(communicator);
    return std::make_unique<LowLatency>(communicator, call, settings_of(variant), deadline);
  }

  bool covers(const Variant& wide, const Variant& narrow) const override {
    Settings settings = settings_of(wide);
    if (!settings.adapts) return false;
    settings.adapts = false;
    return narrow == variant_of(settings);
  }
  CallTraits traits(const Problem& problem, const Topology&,
                    const Variant& variant) const override {
    const Settings settings = settings_of(variant);
    const auto probe = rhythm_of(settings, problem.message_size).probe();
    return {.learning_calls = settings.adapts ? static_cast<int>(probe) : 0,
            .why_not_bound = {},
            .why_not_rebound = {}};
  }

 private:
  [[nodiscard]] Variant variant_of(const Settings& settings) const {
    return {name(),
            {{"format", std::string(settings.format)},
             {"slots", settings.slots},
             {"stores", std::string(settings.adapts ? adaptive : cached)},
             {"taken_back", std::string(name_of(settings.taken_back))}}};
  }
  /// Requires a valid variant; the returned words point into the variant.
  static Settings settings_of(const Variant& variant) {
    return {.format = word(variant, "format"),
            .adapts = word(variant, "stores") == adaptive,
            .taken_back = parse_name<TakenBack>(word(variant, "taken_back")),
            .slots = number(variant, "slots")};
  }
  [[nodiscard]] bool all_poll() const { return !shape_of(collective()).has_root; }
  [[nodiscard]] bool is_tried(std::string_view format, const Problem& problem,
                              std::size_t block) const {
    const Bytes size = problem.message_size;
    if (format == "line") return !all_poll() || size > largest_by_lines_alone;
    if (format == "header") return block >= shortest_by_header;
    if (format == "lines") return all_poll() && size <= largest_tried_by_lines;
    return size <= largest_tried_by_word;
  }
  /// With a root, ranks that only send run ahead until no slot is free. A sample of few calls does
  /// not show that, and a loop of a program does: 64 B from one rank, 100 calls in a row, took 0.18
  /// us each with 4 slots, 0.13 with 64. Where many are small anyway, there are many.
  [[nodiscard]] std::vector<std::int64_t> slots_tried(std::size_t block) const {
    constexpr std::size_t small = 1024;
    if (!all_poll() && block <= small) return {most_slots};
    // A program's loops gain by many slots sooner than those of schedules do
    // (tests/bench/results/kernels.md).
    constexpr std::size_t shortest_with_many = 256;
    return tried_slots(block, shortest_with_many);
  }
  /// With a root, clearing would have to wait for readers. If all ranks poll, polling undoes a
  /// prefetch.
  [[nodiscard]] std::vector<TakenBack> tried_ways(const MailFormat& format,
                                                  std::size_t block) const {
    if (format.needs_clearing()) return {TakenBack::cleared};
    std::vector<TakenBack> ways{all_poll() ? TakenBack::cleared : TakenBack::fetched};
    if (block > surely_taken_back) ways.push_back(TakenBack::one_line);
    return ways;
  }
  static std::string why_unknown(const Variant& variant) {
    const auto setting = [&](std::string_view name) {
      const auto found = std::ranges::find(variant.parameters, name, &Parameter::name);
      return found == variant.parameters.end() ? std::string{} : to_string(found->value);
    };
    if (variant.parameters.size() != 4)
      return "its parameters are format, slots, stores, taken_back";
    const auto format = make_mail_format(setting("format"));
    if (format == nullptr) return "format must be " + format_names();
    const auto found = std::ranges::find(variant.parameters, "slots", &Parameter::name);
    const auto* const slots =
        found == variant.parameters.end() ? nullptr : std::get_if<std::int64_t>(&found->value);
    if (slots == nullptr || *slots < usual_slots || *slots > most_slots ||
        !std::has_single_bit(static_cast<std::uint64_t>(*slots)))
      return "slots must be a power of two from " + std::to_string(usual_slots) + " to " +
             std::to_string(most_slots);
    const std::string stores = setting("stores");
    if (stores != cached && stores != adaptive) return "stores must be adaptive or cached";
    if (stores == adaptive && !format->streams())
      return "with format " + std::string(format->name()) + " stores must be cached";
    const auto ways = enum_names(TakenBack{});
    const auto way = std::ranges::find(ways, setting("taken_back"), &Named<TakenBack>::name);
    if (way == ways.end()) return "taken_back must be one of " + allowed_names<TakenBack>();
    if (format->needs_clearing() && way->value != TakenBack::cleared)
      return "with format " + std::string(format->name()) + " taken_back must be cleared";
    return {};
  }
  static std::string format_names() {
    std::string names;
    const auto all = make_mail_formats();
    for (std::size_t i = 0; i < all.size(); ++i)
      names += (i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + std::string(all[i]->name());
    return names;
  }
};

}  // namespace

Implementations make_low_latency() {
  Implementations made;
  for (const auto& named : enum_names(Collective{}))
    made.push_back(std::make_unique<LowLatencyImplementation>(named.value));
  return made;
}

}  // namespace colltune::cpu
