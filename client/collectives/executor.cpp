// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/executor.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <utility>

#include "colltune/kernels/catalogue.h"

namespace colltune {
namespace {

constexpr std::size_t types = enum_names(DataType{}).size();
constexpr std::size_t operators = enum_names(ReduceOp{}).size();
constexpr std::size_t collectives = enum_names(Collective{}).size();

/// The number of a call's row.
std::size_t kind_of(Collective collective, DataType type, ReduceOp op) noexcept {
  return (static_cast<std::size_t>(collective) * types + static_cast<std::size_t>(type)) *
             operators +
         static_cast<std::size_t>(op);
}

}  // namespace

ProgramCall mesh_program_call(DataType type, Bytes message_size, int mesh) noexcept {
  // No all_reduce is without an operator, and none has a root.
  return {.collective = Collective::all_reduce,
          .data_type = type,
          .reduce_op = ReduceOp::none,
          .root = mesh,
          .message_size = message_size};
}

std::string describe(const ProgramCall& call) {
  if (call.collective == Collective::all_reduce && call.reduce_op == ReduceOp::none)
    return fmt::format("mesh_reduce {} of {} bytes, over mesh {} of this communicator",
                       name_of(call.data_type), call.message_size.value, call.root);
  std::string text(name_of(call.collective));
  const BlockLayout shape = shape_of(call.collective);
  if (shape.reduces)
    text += fmt::format(" {} {}", name_of(call.data_type), name_of(call.reduce_op));
  text += fmt::format(" of {} bytes", call.message_size.value);
  if (shape.has_root) text += fmt::format(", root {}", call.root);
  return text;
}

/// One call of one rank. Its owner alone writes it.
struct CallLog::Line {
  std::uint64_t number;  ///< of the call, from 1 on; 0 while it is written
  std::uint64_t bytes;   ///< and `kind`: its Entry
  std::uint64_t kind;
  std::uint64_t unused;
};

namespace {

// A rank may be some calls ahead of another: a broadcast's root waits for nobody.
constexpr std::uint64_t lines = 16;
/// Instead of the kind of a call that is never made.
constexpr std::uint64_t ended = ~std::uint64_t{0};

// Each store is seen after the ones before it, each load made before the ones after it.
void put(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
std::uint64_t get(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

}  // namespace

CallLog::CallLog(Communicator& communicator, Deadline deadline)
    : memory_(communicator.allocate({lines * sizeof(Line)}, deadline)), rank_(communicator.rank()) {
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const std::span<std::byte> part = memory_->part(rank);
    lines_.push_back(part.empty() ? nullptr : reinterpret_cast<Line*>(part.data()));
    if (rank != rank_ && !part.empty()) others_.push_back(rank);
  }
}

CallLog::Entry CallLog::entry_of(const ProgramCall& call) noexcept {
  return {.bytes = call.message_size.value,
          .kind = static_cast<std::uint64_t>(call.collective) |
                  static_cast<std::uint64_t>(call.data_type) << 8U |
                  static_cast<std::uint64_t>(call.reduce_op) << 16U |
                  static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 24U};
}

void CallLog::write(const Entry& entry) noexcept {
  Line& own = lines_[static_cast<std::size_t>(rank_)][++calls_ % lines];
  put(own.number, 0);
  put(own.bytes, entry.bytes);
  put(own.kind, entry.kind);
  put(own.number, calls_);
}

void CallLog::end(bool in_call) noexcept {
  for (std::uint64_t next = in_call ? 0 : 1; next < lines; ++next) {
    Line& one = lines_[static_cast<std::size_t>(rank_)][(calls_ + next) % lines];
    put(one.number, 0);
    put(one.kind, ended);
    put(one.number, calls_ + next);
  }
}

void CallLog::compare() const {
  const auto text_of = [](const Entry& entry) {
    return describe({.collective = static_cast<Collective>(entry.kind & 0xff),
                     .data_type = static_cast<DataType>(entry.kind >> 8U & 0xff),
                     .reduce_op = static_cast<ReduceOp>(entry.kind >> 16U & 0xff),
                     .root = static_cast<int>(entry.kind >> 24U),
                     .message_size = {entry.bytes}});
  };
  const auto read = [&](int rank) -> std::optional<Entry> {
    Line& one = lines_[static_cast<std::size_t>(rank)][calls_ % lines];
    if (get(one.number) != calls_) return {};
    const Entry entry{.bytes = get(one.bytes), .kind = get(one.kind)};
    if (get(one.number) != calls_) return {};
    return entry;
  };
  const auto own = read(rank_);
  if (!own || own->kind == ended) return;
  for (const int rank : others_) {
    const auto other = read(rank);
    if (!other || *other == *own) continue;
    if (other->kind == ended)
      throw Error(
          StatusCode::aborted,
          fmt::format("rank {} makes no further calls, since one failed there; rank {} waits "
                      "for it in call {}: {}",
                      rank, rank_, calls_, text_of(*own)));
    throw Error(StatusCode::failed_precondition,
                fmt::format("the ranks of a communicator make different calls as their call {}: "
                            "rank {} {}; rank {} {}",
                            calls_, rank_, text_of(*own), rank, text_of(*other)));
  }
}

Executor::Executor(std::unique_ptr<Communicator> communicator, const Implementations& catalogue,
                   Choices choices, CallTimer::Now clock)
    : communicator_(std::move(communicator)),
      catalogue_(catalogue),
      choices_(std::move(choices)),
      rows_(collectives * types * operators),
      log_(*communicator_, never),
      found_{.entry = CallLog::entry_of(found_.call)},
      prepared_(choices_.entries.size()),
      tallies_(choices_.entries.size()),
      timer_(clock) {
  for (const Choices::Row& row : choices_.rows)
    rows_[kind_of(row.collective, row.data_type, row.reduce_op)] = &row;
}

Executor::~Executor() = default;

Executor::Found Executor::find(const ProgramCall& call) const noexcept {
  Found found{.call = call, .entry = CallLog::entry_of(call)};
  const Choices::Row* const row = rows_[kind_of(call.collective, call.data_type, call.reduce_op)];
  if (row == nullptr || call.message_size < row->smallest || call.message_size > row->largest)
    return found;
  const std::size_t bucket = bucket_of(call.message_size.value);
  const std::uint16_t choice = row->choices[bucket];
  if (choice == Choices::library || prepared_[choice - 1U].has_failed) return found;
  found.choice = choice;
  found.saving = row->savings[bucket];
  return found;
}

std::uint16_t Executor::begin(const ProgramCall& call) noexcept {
  if (!(call == found_.call)) found_ = find(call);
  log_.write(found_.entry);
  if (found_.choice == Choices::library) {
    leave(call.collective);
    return Choices::library;
  }
  Tally& tally = tallies_[found_.choice - 1U];
  tally.saved += found_.saving;
  timer_.begin(tally.made);
  return found_.choice;
}

bool Executor::run(std::uint16_t choice, const ProgramCall& call, bool in_place,
                   const CallBuffers& buffers) {
  Prepared& one = prepared_[choice - 1U];
  if (one.operation != nullptr && one.latest == call && one.was_in_place == in_place) {
    one.operation->bind(buffers);  // as most programs' calls
  } else {
    call_.problem.collective = call.collective;
    call_.problem.data_type = call.data_type;
    call_.problem.reduce_op = call.reduce_op;
    call_.problem.message_size = call.message_size;
    call_.problem.in_place = in_place;
    call_.root = call.root;
    call_.buffers = buffers;
    if (one.operation != nullptr)
      one.operation->rebind(call_);
    else if (!prepare(choice))
      return false;
    one.latest = call;
    one.was_in_place = in_place;
  }
  one.operation->start();
  one.operation->wait(never);
  return true;
}

bool Executor::prepare(std::uint16_t choice) {
  const Choices::Entry& entry = choices_.entries[choice - 1U];
  Prepared& one = prepared_[choice - 1U];
  const Implementation* const found = find_implementation(catalogue_, entry.variant.implementation);
  try {
    if (found == nullptr)
      throw Error(StatusCode::failed_precondition,
                  to_string(entry.variant) + " is none of this build's kernels");
    Call first = call_;
    first.capacity = entry.capacity;
    one.operation = found->prepare(*communicator_, first, entry.variant, never);
    return true;
  } catch (const RankMissing&) {
    throw;
  } catch (const Error& error) {  // on all ranks or none
    one.has_failed = true;
    found_.choice = Choices::library;
    failures_.push_back(fmt::format("{}: {}", to_string(entry.variant), error.what()));
    timer_.end();  // the time of the attempt stays in the tally
    Tally& tally = tallies_[choice - 1U];
    --tally.made.calls;
    tally.saved = {};
    leave(call_.problem.collective);
    return false;
  }
}

}  // namespace colltune
