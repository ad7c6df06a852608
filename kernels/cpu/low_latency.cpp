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
// Longer messages in formats that copy the message out, or check it word by word, take longer: at
// 512 bytes by half, and more.
constexpr Bytes largest_tried_by_lines{256};
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
constexpr std::size_t line = 64;
constexpr int has_read = 0;  ///< signal: the number of the last message that this rank has read
// Always with the words for times, since ranks with different settings of `stores` can meet in one
// call.
constexpr int words = 1 + SharedTimes::words;
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

StoreChoice::Rhythm rhythm_of(const Settings& settings, const Problem& problem) {
  return StoreChoice::rhythm_of(1, static_cast<int>(settings.slots), problem.message_size);
}

/// Which ranks send and receive what.
struct Roles {
  Roles(const Problem& problem, int rank, int ranks, int root)
      : shape(shape_of(problem.collective)),
        block(block_elements(problem, ranks) * size_of(problem.data_type)) {
    for (int distance = 1; distance < ranks; ++distance) {
      const int peer = (rank + distance) % ranks;
      if (gives(peer, root) && takes(rank, root)) from.push_back(peer);
      if (gives(rank, root) && takes(peer, root)) to.push_back(peer);
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
  [[nodiscard]] bool gives(int rank, int root) const {
    return !shape.only_root_sends || rank == root;
  }
  [[nodiscard]] bool takes(int rank, int root) const {
    return !shape.only_root_receives || rank == root;
  }

  BlockLayout shape;
  std::size_t block;  ///< bytes from one rank to another
  std::vector<int> from;
  std::vector<int> to;
};

class LowLatency final : public Operation {
 public:
  LowLatency(Communicator& communicator, const Call& call, const Settings& settings,
             Deadline deadline)
      : buffers_(call.buffers),
        format_(make_mail_format(settings.format)),
        rank_(communicator.rank()),
        roles_(call.problem, rank_, communicator.size(), call.root),
        takes_(roles_.takes(rank_, call.root)),
        gives_(roles_.gives(rank_, call.root)),
        reduction_{call.problem.data_type, call.problem.reduce_op, communicator.size()},
        count_(roles_.block / size_of(call.problem.data_type)),
        message_size_(format_->slot_size(roles_.block)),
        slot_size_(message_size_ *
                   static_cast<std::size_t>(std::max(2, roles_.messages(communicator.size())))),
        taken_back_size_(settings.taken_back == TakenBack::one_line ? line : message_size_),
        clears_ahead_(!roles_.to.empty() && settings.taken_back == TakenBack::cleared),
        slots_(static_cast<std::uint64_t>(settings.slots)),
        memory_(communicator.allocate({slots_ * slot_size_ + Signals::size(words)}, deadline)),
        signals_(communicator, *memory_, slots_ * slot_size_),
        abort_flag_(communicator.abort_flag()),
        yields_at_once_(communicator.is_oversubscribed()),
        space_size_(space_for(roles_.block)),
        space_(space_size_ * static_cast<std::size_t>(communicator.size())),
        sources_(static_cast<std::size_t>(communicator.size())) {
    for (int rank = 0; rank < communicator.size(); ++rank)
      parts_.push_back(memory_->part(rank).data());
    for (const int peer : readers())
      for (std::uint64_t number = 0; number < slots_; ++number)
        format_->clear(message(rank_, peer, number), roles_.block);
    if (settings.adapts)
      adaptive_.emplace(rhythm_of(settings, call.problem), signals_, communicator, 1);
    communicator.barrier(deadline);  // no rank may look into a slot before it is empty
  }

  void bind(const CallBuffers& buffers) override {
    check_bound_sizes(buffers_, buffers);
    buffers_ = buffers;
  }

  void start() override {
    if (roles_.block == 0) return;
    ++number_;
    if (adaptive_) stores_ = adaptive_->begin().staging;
    if (!roles_.to.empty() && have_read(slots_)) write();
  }

  void wait(Deadline deadline) override {
    if (roles_.block == 0) return;
    if (!roles_.to.empty() && written_ < number_) {
      wait_for_readers(slots_, deadline);
      write();
    }
    if (takes_) take(deadline);
    if (roles_.shape.has_root && !roles_.from.empty()) signals_.set(has_read, number_);
    if (clears_ahead_) clear_ahead(deadline);
    if (adaptive_) adaptive_->end();
  }

 private:
  /// The address at which `from` writes what `reader` reads.
  [[nodiscard]] std::byte* message(int from, int reader, std::uint64_t number) const {
    return parts_[static_cast<std::size_t>(from)] + (number & (slots_ - 1)) * slot_size_ +
           roles_.message_for(reader) * message_size_;
  }

  /// One reader for each message that this rank writes.
  [[nodiscard]] std::span<const int> readers() const {
    const std::span<const int> all(roles_.to);
    return roles_.shape.sends_block_per_rank ? all
                                             : all.first(std::min<std::size_t>(1, all.size()));
  }

  void write() {
    for (const int peer : readers()) {
      format_->write(message(rank_, peer, number_),
                     buffers_.send.subspan(roles_.offset_in_send(peer), roles_.block), number_,
                     stores_);
      take_back(message(rank_, peer, number_ + (clears_ahead_ ? MailFormat::cleared_ahead : 1)));
    }
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
  void clear_ahead(Deadline deadline) const {
    wait_for_readers(MailFormat::cleared_ahead, deadline);
    for (const int peer : readers())
      format_->clear(message(rank_, peer, number_ + MailFormat::cleared_ahead), roles_.block);
  }

  /// Whether the message of `ago` messages before has been read. Without a root all ranks send and
  /// receive: a rank that has reached this message has read all messages before the last.
  [[nodiscard]] bool have_read(std::uint64_t ago) const {
    return !roles_.shape.has_root || number_ <= ago ||
           std::ranges::all_of(
               roles_.to, [&](int peer) { return signals_.get(peer, has_read) >= number_ - ago; });
  }

  void wait_for_readers(std::uint64_t ago, Deadline deadline) const {
    if (have_read(ago)) return;
    for (const int peer : roles_.to)
      signals_.wait_until(peer, has_read, number_ - ago, deadline, "its reading of a message");
  }

  void take(Deadline deadline) {
    const auto own = static_cast<std::size_t>(rank_);
    sources_[own] = gives_ ? buffers_.send.data() + roles_.offset_in_send(rank_) : nullptr;
    for (const int peer : roles_.from)
      sources_[static_cast<std::size_t>(peer)] = await(peer, deadline);
    if (roles_.shape.reduces) {
      reduce_in_rank_order(sources_, buffers_.receive.data(), count_, reduction_);
      return;
    }
    if (sources_[own] != nullptr) place(rank_);
    for (const int peer : roles_.from) place(peer);
  }

  const std::byte* await(int peer, Deadline deadline) {
    const std::byte* const mail = message(peer, rank_, number_);
    const std::span<std::byte> space(space_.data() + static_cast<std::size_t>(peer) * space_size_,
                                     space_size_);
    BoundedWait wait(deadline, abort_flag_, yields_at_once_);
    for (;;) {
      if (const std::byte* const data = format_->read(mail, roles_.block, number_, space))
        return data;
      wait.step(peer, "its message");
    }
  }

  void place(int rank) const {
    std::byte* const to = buffers_.receive.data() + roles_.offset_in_receive(rank);
    const std::byte* const from = sources_[static_cast<std::size_t>(rank)];
    if (to != from) std::memcpy(to, from, roles_.block);
  }

  CallBuffers buffers_;
  std::unique_ptr<const MailFormat> format_;
  int rank_;
  Roles roles_;
  bool takes_;
  bool gives_;
  Reduction reduction_;
  std::size_t count_;
  std::size_t message_size_;
  /// Of the messages that are sent together. A single message leaves a gap after it: otherwise a
  /// reader's prefetcher would fetch part of the next message before it is written.
  std::size_t slot_size_;
  std::size_t taken_back_size_;  ///< of a message
  bool clears_ahead_;
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
  std::uint64_t number_ = 0;   ///< of the current message
  std::uint64_t written_ = 0;  ///< number of the last message that was written
};

class LowLatencyImplementation final : public Implementation {
 public:
  explicit LowLatencyImplementation(Collective collective)
      : collective_(collective),
        name_("cpu." + std::string(name_of(collective)) + "_low_latency") {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override {
    return "short messages that are their own signals: 1 round (NCCL LL, Lamport)";
  }
  Collective collective() const override { return collective_; }
  std::string_view family() const override { return "colltune"; }

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
          for (const std::int64_t slots : tried_slots(block))
            if (adapts || !adapting)
              all.push_back(variant_of({format->name(), adapting, taken_back, slots}));
    }
    return all;
  }

  Support supports(const Problem& problem, const Topology& topology, const Capability&,
                   const Variant& variant) const override {
    if (std::string why = why_not_in_shared_memory(collective_, problem, topology); !why.empty())
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
    return "mail;" + name_ + ";" + word(variant, "format") + ";" +
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

  std::string why_not_bound(const Problem&, const Variant&) const override { return {}; }

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
  int settling_calls(const Problem& problem, const Topology&,
                     const Variant& variant) const override {
    const Settings settings = settings_of(variant);
    return settings.adapts ? static_cast<int>(rhythm_of(settings, problem).probe()) : 0;
  }

 private:
  [[nodiscard]] Variant variant_of(const Settings& settings) const {
    return {name_,
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
  [[nodiscard]] bool all_poll() const { return !shape_of(collective_).has_root; }
  [[nodiscard]] bool is_tried(std::string_view format, const Problem& problem,
                              std::size_t block) const {
    const Bytes size = problem.message_size;
    if (format == "line") return !all_poll() || size > largest_by_lines_alone;
    if (format == "header") return block >= shortest_by_header;
    if (format == "lines") return all_poll() && size <= largest_tried_by_lines;
    return size <= largest_tried_by_word;
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

  Collective collective_;
  std::string name_;
};

}  // namespace

Implementations make_low_latency() {
  Implementations made;
  for (const auto& named : enum_names(Collective{}))
    made.push_back(std::make_unique<LowLatencyImplementation>(named.value));
  return made;
}

}  // namespace colltune::cpu
