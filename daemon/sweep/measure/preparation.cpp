// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "activity_clock.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/composition/composed.h"
#include "colltune/kernels/composition/mesh_reduce.h"
#include "colltune/kernels/execution/called_as_in_programs.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

/// Whether programs run this variant by their executor, which takes ordinary calls in host memory.
bool runs_in_programs(const CellContext& context, const Implementation& implementation) {
  const TuningKey& key = context.cell.key;
  return key.calling == Calling::each && !key.problem.registered && !key.problem.graph_capture &&
         implementation.family() == "colltune" && !implementation.runs_on_device();
}

std::unique_ptr<Operation> prepare(const CellContext& context, const Trial& trial) {
  const Variant& variant = trial.planned->variant;
  const auto& composition = trial.planned->composition;
  Communicator& communicator = *context.world.operations;
  const std::chrono::nanoseconds limit = context.limits_of(trial).call_limit;
  const Deadline deadline = Clock::now() + limit;
  Call call = trial.data->call();
  call.longest_wait = 2 * limit;  // a live host has ended the call by then
  call.is_persistent = context.cell.key.calling == Calling::persistent;
  if (composition) {
    const auto world = static_cast<std::size_t>(context.cell.world);
    const Members& members = context.plan.worlds.at(world).members;
    if (!context.cell.key.problem.mesh)
      return prepare_composed(communicator, call, *composition, members, context.implementations,
                              deadline);
    auto& subgroups = context.world.subgroups;
    if (subgroups == nullptr) subgroups = std::make_unique<Subgroups>(communicator);
    return prepare_mesh_reduce(*subgroups, call, *composition, members, context.implementations,
                               deadline);
  }
  const auto* const implementation =
      find_implementation(context.implementations, variant.implementation);
  if (implementation == nullptr)
    throw Error(StatusCode::not_found,
                "this rank's build has no implementation " + variant.implementation);
  if (!runs_in_programs(context, *implementation))
    return implementation->prepare(communicator, call, variant, deadline);
  // As the executor prepares it: for calls that may be rebound, if it can.
  const TuningKey& key = context.cell.key;
  if (implementation->traits(key.problem, key.topology, variant).why_not_rebound.empty())
    call.capacity = key.problem.message_size;
  auto prepared = implementation->prepare(communicator, call, variant, deadline);
  if (auto through_library = communicator.call_through_library(prepared, call))
    return through_library;
  return std::make_unique<CalledAsInPrograms>(std::move(prepared), call);
}

/// Collective over the launch: whether prepare on all ranks of the world reported that `trial`,
/// which has ended, is unavailable or lacks memory. `is_there` is true if it did not report so on
/// this rank.
bool has_kept_step(const CellContext& context, const Trial& trial, bool is_there) {
  if (trial.outcome != Outcome::unavailable && !trial.lacked_memory) return false;
  std::int64_t word = context.world.is_member() && is_there ? 1 : 0;
  const ActivityScope scope(context.activities, Activity::control);
  context.enter_control();
  context.control.all_reduce_max({&word, 1});
  return word == 0;
}

/// Trials whose operation is lost on any rank, or could not be called because it was lost.
std::vector<Trial*> find_lost(CellContext& context) {
  std::vector<Trial*> lost = context.alive();
  if (lost.empty()) return lost;
  std::vector<std::int64_t> words;
  for (const Trial* trial : lost)
    words.push_back(
        trial->was_lost || (trial->operation != nullptr && trial->operation->is_lost()) ? 1 : 0);
  const ActivityScope scope(context.activities, Activity::control);
  context.enter_control();
  context.control.all_reduce_max(words);
  std::size_t i = 0;
  std::erase_if(lost, [&](const Trial*) { return words[i++] == 0; });
  return lost;
}

void let_go(const CellContext& context, Trial& trial) {
  const ActivityScope scope(context.activities, Activity::preparation);
  context.enter_preparation(trial);
  if (trial.operation != nullptr) trial.operation->give_up();
  trial.operation.reset();
  trial.was_lost = false;
}

/// Collective over the launch, for a trial that is in step.
void leave_out(const CellContext& context, Trial& trial) {
  const ActivityScope scope(context.activities, Activity::preparation);
  context.enter_preparation(trial);
  trial.operation.reset();
  end_trial(trial, Outcome::unavailable);
  trial.has_kept_step = true;
  trial.detail =
      "there is no memory for it beside the other variants of the key, which are all prepared at "
      "the same time" +
      (trial.detail.empty() ? "" : " (" + trial.detail + ")") +
      "; a sweep of fewer (\"implementations\" of the configuration) adds its evidence to this "
      "one's";
}

bool is_rival(const Trial& trial) { return !trial.planned->is_baseline && !trial.planned->is_twin; }

/// Baselines and twins, then one variant of each implementation after another.
std::vector<Trial*> in_order_of_memory(std::vector<Trial*> trials) {
  std::map<std::string_view, int> variants;
  std::map<const Trial*, int> turns;
  for (const Trial* trial : trials)
    turns[trial] = is_rival(*trial) ? ++variants[trial->planned->variant.implementation] : 0;
  std::ranges::stable_sort(trials, {}, [&](const Trial* trial) { return turns.at(trial); });
  return trials;
}

void end_lost(Trial& trial, const std::string& why) {
  end_trial(trial, Outcome::failed);
  trial.detail = "what it ran on was ended with another variant, and not made anew: " + why;
}

}  // namespace

void prepare_together(CellContext& context, Trial& trial) {
  context.enter_preparation(trial);
  if (context.world.is_member()) {
    const ActivityScope scope(context.activities, Activity::preparation);
    trial.fault = catch_fault([&] {
      trial.operation = prepare(context, trial);
      if (const auto making = trial.operation->communicators_time()) trial.communicators = making;
    });
  }
  const bool is_there =
      !trial.fault || (trial.fault->outcome != Outcome::unavailable && !trial.fault->lacks_memory);
  Trial* const one = &trial;
  (void)context.vote_on(std::span(&one, 1));
  if (trial.is_alive()) return;
  trial.has_kept_step = has_kept_step(context, trial, is_there);
  // If only some ranks threw, the next prepare would run on a communicator that is out of step.
  if (!trial.has_kept_step) context.world.renew_operations();
}

void prepare_all(CellContext& context) {
  std::vector<Trial*> rivals;  // that are prepared
  bool is_full = false;
  for (Trial* trial : in_order_of_memory(context.alive())) {
    if (!is_full) prepare_together(context, *trial);
    if (!is_rival(*trial)) continue;
    if (!is_full && !trial->lacked_memory) {
      if (trial->is_alive()) rivals.push_back(trial);
      continue;
    }
    leave_out(context, *trial);
    // Where not even one has room, the next may need less.
    if (!is_full && rivals.size() > 1) leave_out(context, *rivals.back());
    is_full = !rivals.empty();
  }
}

std::vector<Trial*> renew_lost(CellContext& context) {
  std::vector<Trial*> lost = find_lost(context);
  if (lost.empty()) return lost;
  for (Trial* trial : lost) let_go(context, *trial);
  const bool is_one_too_many = context.renewals == most_renewals;
  if (!is_one_too_many) {
    ++context.renewals;
    // An operation that gave up may have left the ranks' communicator out of step.
    context.world.renew_operations();
  }
  int failures = 0;
  for (Trial* trial : lost) {
    if (is_one_too_many) {
      end_lost(*trial, fmt::format("it was so {} times in this visit already", most_renewals));
    } else if (failures == most_failed_renewals) {
      end_lost(*trial, fmt::format("{} others before it failed", failures));
    } else {
      ++trial->renewals;
      prepare_together(context, *trial);
      if (is_fault(trial->outcome)) {
        ++failures;
        trial->detail = "when it was prepared anew: " + trial->detail;
      }
    }
  }
  std::erase_if(lost, [](const Trial* trial) { return !trial->is_alive(); });
  return lost;
}

}  // namespace colltune
