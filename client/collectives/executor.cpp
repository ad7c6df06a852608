// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "colltune/kernels/catalogue.h"

namespace colltune {
namespace {

constexpr std::size_t types = enum_names(DataType{}).size();
constexpr std::size_t operators = enum_names(ReduceOp{}).size();
constexpr std::size_t collectives = enum_names(Collective{}).size();
constexpr std::size_t all_counts = enum_names(Counts{}).size();

/// The number of a call's row.
std::size_t kind_of(Collective collective, DataType type, ReduceOp op, Counts counts) noexcept {
  const std::size_t of_collective =
      static_cast<std::size_t>(counts) * collectives + static_cast<std::size_t>(collective);
  return (of_collective * types + static_cast<std::size_t>(type)) * operators +
         static_cast<std::size_t>(op);
}

}  // namespace

std::chrono::nanoseconds agreed_time(Communicator& communicator, std::chrono::nanoseconds own) {
  const std::int64_t time = std::max<std::int64_t>(own.count(), 1);
  return std::chrono::nanoseconds(-communicator.all_reduce_max(-time, no_deadline));
}

Executor::Executor(std::unique_ptr<Communicator> communicator, const Implementations& catalogue,
                   Choices choices, CallTimer::Now clock, std::chrono::nanoseconds preparing)
    : communicator_(std::move(communicator)),
      catalogue_(catalogue),
      choices_(std::move(choices)),
      rows_(all_counts * collectives * types * operators),
      is_priced_(preparing.count() > 0),
      path_(CallLog(*communicator_, no_deadline), choices_.entries.size(), clock) {
  for (const Choices::Row& row : choices_.rows)
    rows_[kind_of(row.collective, row.data_type, row.reduce_op, row.counts)] = &row;
  path_.set_price(preparing);
}

Executor::~Executor() = default;

CallPath::Found Executor::find(const ProgramCall& call) const noexcept {
  CallPath::Found found{.call = call, .entry = CallLog::entry_of(call)};
  const Choices::Row* const row =
      rows_[kind_of(call.collective, call.data_type, call.reduce_op, call.counts)];
  if (row == nullptr || call.message_size < row->smallest || call.message_size > row->largest)
    return found;
  const std::size_t bucket = bucket_of(call.message_size.value);
  const std::uint16_t choice = row->choices[bucket];
  if (choice == Choices::library || path_.is_withdrawn(choice)) return found;
  found.choice = choice;
  found.saving = row->savings[bucket];
  return found;
}

std::uint16_t Executor::begin(const ProgramCall& call) noexcept {
  return path_.begin(call, [this](const ProgramCall& other) { return find(other); });
}

bool Executor::run(std::uint16_t choice, const ProgramCall& call, bool in_place,
                   const CallBuffers& buffers, std::span<const std::size_t> blocks) {
  const auto prepare_first = [this](std::uint16_t other, const Call& first) {
    return prepare(other, first);
  };
  if (!path_.start(choice, call, in_place, buffers, blocks, prepare_first)) return false;
  path_.wait(no_deadline);
  return true;
}

std::unique_ptr<Operation> Executor::prepare(std::uint16_t choice, const Call& first) {
  const Choices::Entry& entry = choices_.entries[choice - 1U];
  const Implementation* const found = find_implementation(catalogue_, entry.variant.implementation);
  try {
    if (found == nullptr)
      throw Error(StatusCode::failed_precondition,
                  to_string(entry.variant) + " is none of this build's kernels");
    Call with_capacity = first;
    with_capacity.capacity = entry.capacity;
    const auto begun = CallTimer::steady_now();
    auto operation = found->prepare(*communicator_, with_capacity, entry.variant, no_deadline);
    if (is_priced_) path_.set_price(agreed_time(*communicator_, CallTimer::steady_now() - begun));
    return operation;
  } catch (const RankMissing&) {
    throw;
  } catch (const Error& error) {  // on all ranks or none
    failures_.push_back(fmt::format("{}: {}", to_string(entry.variant), error.what()));
    path_.withdraw(choice);
    return nullptr;
  }
}

}  // namespace colltune
