// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A member and its context in the tuner that NCCL loaded: finding the context, telling it what to
// choose, and reading what it saw.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agreement.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/vocabulary/error.h"
#include "library_call.h"
#include "nccl_rank.h"

namespace colltune::nccl {
namespace {

/// The same id for the same choice: the tuner keeps one of each.
std::uint64_t id_of(const std::optional<Choice>& choice, Function function) {
  if (!choice) return 1;
  auto id = static_cast<std::uint64_t>(choice->algorithm) * protocol_count +
            static_cast<std::uint64_t>(choice->protocol);
  id = id * (most_channels + 1) + static_cast<std::uint64_t>(choice->channels);
  return 2 + id * function_count + static_cast<std::uint64_t>(function);
}

/// What the tuner is told; without a choice, to keep NCCL's own.
colltune_nccl_force force_of(const std::optional<Choice>& choice, Function function) {
  colltune_nccl_force wanted{.id = id_of(choice, function),
                             .functions = (1U << function_count) - 1,
                             .algorithm = -1,
                             .protocol = -1,
                             .channels = 0,
                             .time_us = 0};
  if (!choice) return wanted;
  wanted.functions = 1U << static_cast<unsigned>(function);
  wanted.algorithm = static_cast<std::int32_t>(choice->algorithm);
  wanted.protocol = static_cast<std::int32_t>(choice->protocol);
  wanted.channels = choice->channels;
  return wanted;
}

std::string table_text(const colltune_nccl_communicator& context) {
  if (context.table_state == colltune_nccl_table_none) return "none";
  if (context.table_state == colltune_nccl_table_refused) return "one that was refused";
  std::string text = "generation " + std::to_string(context.table_generation) + ", digest ";
  for (const std::uint8_t byte : context.table_digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

/// The type that NCCL asks its tuner about: collectives without arithmetic become calls on bytes.
DataType asked_type(Function function, DataType type) {
  return function == Function::broadcast || function == Function::all_gather ? DataType::i8 : type;
}

constexpr const char* found_no_context = "did not find its communicator in NCCL's tuner";
constexpr auto pause_between_tries = std::chrono::microseconds(100);

/// Lets only one thread of the process at a time look for its context. A question to an unclaimed
/// context is then about that thread's own call.
class Search {
 public:
  Search(const TunerControl& control, const AbortFlag& abort_flag, Deadline deadline)
      : control_(control) {
    while (control_.begin_search() != 0) {
      const bool is_aborted = abort_flag.is_raised();
      if (is_aborted || std::chrono::steady_clock::now() >= deadline)
        throw Error(is_aborted ? StatusCode::aborted : StatusCode::deadline_exceeded,
                    std::string("another thread of this process still looked for its communicator "
                                "in NCCL's tuner ") +
                        (is_aborted ? "when the abort flag was raised" : "at the deadline"));
      std::this_thread::sleep_for(pause_between_tries);
    }
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() { control_.end_search(); }

 private:
  const TunerControl& control_;
};

/// Unclaimed contexts. As long as this object lives they are observed and keep NCCL's own choice,
/// since the ranks' tables may differ and are compared only later.
class Candidates {
 public:
  Candidates(const TunerControl& control, std::vector<std::uint64_t> numbers)
      : control_(control), numbers_(std::move(numbers)) {
    const colltune_nccl_force nothing = force_of({}, Function::all_reduce);
    for (const std::uint64_t number : numbers_) {
      static_cast<void>(control_.force(number, &nothing));
      static_cast<void>(control_.observe(number, 1));
      before_.push_back(count_of(number));
    }
  }
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;
  ~Candidates() {
    for (const std::uint64_t number : numbers_) {
      static_cast<void>(control_.observe(number, 0));
      static_cast<void>(control_.force(number, nullptr));
    }
  }

  /// The context that NCCL has asked since then.
  [[nodiscard]] std::optional<std::uint64_t> find_asked() const {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (count_of(numbers_[i]) > before_[i]) return numbers_[i];
    return std::nullopt;
  }

 private:
  /// 0 also if the context is gone.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t number) const {
    colltune_nccl_call seen{};
    return control_.last_call(number, &seen) == 0 ? seen.count : 0;
  }

  const TunerControl& control_;
  std::vector<std::uint64_t> numbers_;
  std::vector<std::uint64_t> before_;
};

}  // namespace

std::vector<colltune_nccl_communicator> NcclRank::list_contexts() const {
  if (!opened_.why_no_tuner.empty()) return {};
  std::vector<colltune_nccl_communicator> contexts(opened_.control.list(nullptr, 0));
  // Contexts may come and go meanwhile.
  for (;;) {
    const std::size_t there = opened_.control.list(contexts.data(), contexts.size());
    const bool is_all = there <= contexts.size();
    contexts.resize(there);
    if (is_all) return contexts;
  }
}

std::vector<std::uint64_t> NcclRank::list_unclaimed(std::uint64_t newest_before) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& context : list_contexts())
    if (context.number > newest_before && context.is_claimed == 0 &&
        context.ranks == static_cast<std::uint64_t>(communicator_.size()))
      numbers.push_back(context.number);
  return numbers;
}

void NcclRank::find_tuner_context(Deadline deadline, std::uint64_t newest_before) {
  const Deadline vote = deadline + vote_time;
  const std::vector<std::uint64_t> candidates = list_unclaimed(newest_before);
  if (communicator_.size() == 1)
    why_not_forced_ = "NCCL asks no tuner about a single rank";
  else if (!opened_.why_no_tuner.empty())
    why_not_forced_ = opened_.why_no_tuner;
  else if (candidates.empty())
    why_not_forced_ =
        "NCCL did not load the tuner that NCCL_TUNER_PLUGIN names (NCCL_DEBUG=INFO says why)";
  const int first = first_rank_where(communicator_, !why_not_forced_.empty(), vote);
  if (first >= 0) {
    if (why_not_forced_.empty())
      why_not_forced_ = "rank " + std::to_string(first) + "'s NCCL has no tuner of colltune's";
    return;
  }
  if (communicator_.all_reduce_max(static_cast<std::int64_t>(candidates.size()), vote) > 1) {
    context_ = find_by_turns(newest_before, deadline);
    return;
  }
  act_together(
      communicator_, found_no_context,
      [&] {
        const Search search(opened_.control, abort_flag_, deadline);
        claim(candidates.front());
        context_ = candidates.front();
      },
      vote);
}

std::uint64_t NcclRank::find_by_turns(std::uint64_t newest_before, Deadline deadline) {
  // Several ranks may live in one process, of this communicator or of others made at the same time.
  // So one rank after the other makes a call and sees which context is asked about it. NCCL asks
  // before it needs any other rank.
  std::byte* const scratch = scratch_.bytes().data();
  why_not_forced_ = "not known yet";  // so that the call leaves the contexts alone
  LibraryCall call(std::shared_ptr<NcclRank>(std::shared_ptr<NcclRank>{}, this),
                   {.type = DataType::u8,
                    .op = ReduceOp::max,
                    .count = 1,
                    .send = scratch,
                    .receive = scratch + 1},
                   {});
  why_not_forced_.clear();
  std::uint64_t found = 0;
  for (int turn = 0; turn < communicator_.size(); ++turn)
    act_together(
        communicator_, found_no_context,
        [&] {
          if (turn == communicator_.rank()) found = find_own(call, newest_before, deadline);
        },
        deadline + vote_time);
  call.wait(deadline);
  return found;
}

std::uint64_t NcclRank::find_own(LibraryCall& call, std::uint64_t newest_before,
                                 Deadline deadline) {
  const Search search(opened_.control, abort_flag_, deadline);
  const Candidates candidates(opened_.control, list_unclaimed(newest_before));
  call.start();
  BoundedWait wait(deadline, abort_flag_, yields_at_once_);
  std::optional<std::uint64_t> found;
  while (!(found = candidates.find_asked()))
    wait.step(communicator_.rank(), "NCCL's question to its tuner");
  claim(*found);
  return *found;
}

void NcclRank::claim(std::uint64_t context) {
  if (const int refused = opened_.control.claim(context); refused != 0)
    throw Error(StatusCode::internal, "context " + std::to_string(context) +
                                          " of NCCL's tuner cannot be claimed: error " +
                                          std::to_string(refused));
}

void NcclRank::require_alike_tables(Deadline deadline) {
  for (const auto& context : list_contexts()) {
    if (context.number != context_) continue;
    require_alike(communicator_, "the tuner's interface", std::to_string(context.interface_version),
                  deadline);
    require_alike(communicator_, "NCCL's communicator that their tuners know",
                  std::to_string(context.identity), deadline);
    require_alike(communicator_, "the table file of their tuners", table_text(context), deadline);
    return;
  }
  throw Error(StatusCode::internal, "the tuner's context of this communicator is gone");
}

void NcclRank::force(const std::optional<Choice>& choice, Function function) {
  const colltune_nccl_force wanted = force_of(choice, function);
  if (force_id_ == wanted.id) return;
  if (const int refused = opened_.control.force(context_, &wanted); refused != 0)
    throw Error(StatusCode::internal,
                "colltune's tuner does not force: error " + std::to_string(refused));
  force_id_ = wanted.id;
}

void NcclRank::observe(bool is_on) {
  static_cast<void>(opened_.control.observe(context_, is_on ? 1 : 0));
}

std::optional<colltune_nccl_call> NcclRank::last_call() const {
  colltune_nccl_call seen{};
  if (opened_.control.last_call(context_, &seen) != 0) return std::nullopt;
  return seen;
}

std::optional<std::uint64_t> NcclRank::available(Function function, DataType type, ReduceOp op,
                                               Deadline deadline) {
  if (!why_not_forced_.empty()) return std::nullopt;
  const std::tuple key(function, asked_type(function, type), op);
  if (const auto known = available_.find(key); known != available_.end()) return known->second;
  std::byte* const scratch = scratch_.bytes().data();
  LibraryCall call(std::shared_ptr<NcclRank>(std::shared_ptr<NcclRank>{}, this),
                   {.collective = collective_of(function),
                    .type = type,
                    .op = op,
                    .count = 1,
                    .send = scratch,
                    .receive = scratch + scratch_.bytes().size() / 2},
                   {});
  call.start();
  call.wait(deadline);
  const auto seen = last_call();
  if (!seen) return std::nullopt;
  available_.emplace(key, seen->available);
  return seen->available;
}

}  // namespace colltune::nccl
