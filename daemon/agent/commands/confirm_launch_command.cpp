// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "confirm_launch_command.h"

#include <algorithm>
#include <utility>

#include "colltune/decide/sweep_summary.h"
#include "colltune/decide/trials.h"
#include "colltune/journal/sweep_journal.h"
#include "colltune/json/json.h"
#include "colltune/sweep/passes/sweep.h"
#include "colltune/sweep/spec/launch_environment.h"
#include "confirm_launch_plan.h"
#include "launch/agreement.h"
#include "publication.h"

namespace colltune {
namespace {

/// Rank 0's record of the launch.
class ConfirmLaunchJournal final : public Journal {
 public:
  ConfirmLaunchJournal(Store& store, SweepRecord sweep, Environment environment)
      : store_(store), sweep_(std::move(sweep)), environment_(std::move(environment)) {}

  void begin(const SweepPlan& plan) override {
    sweep_.planned_trials = count_trials(plan);
    store_.put_environment(environment_);
    store_.begin_sweep(sweep_);
    for (const PlannedWorld& world : plan.worlds)
      store_.note_members(sweep_.uuid, world.topology, world.members);
  }
  void append(std::span<const Measurement> measurements) override {
    store_.append(sweep_.uuid, measurements);
  }
  void finish(const SweepOutcome& outcome, const std::vector<std::string>& left_out) {
    // A launch that ran out of time measured a little less often, so it still counts.
    const bool was_stopped = outcome.end == SweepEnd::stopped;
    const SweepSummary summary{
        .end = outcome.end, .elapsed = outcome.elapsed, .left_out = left_out};
    store_.finish_sweep(sweep_.uuid, was_stopped ? SweepState::partial : SweepState::complete,
                        utc_now(), to_text(summary));
  }

 private:
  Store& store_;
  SweepRecord sweep_;
  Environment environment_;
};

/// Returns rank 0's plan on all ranks.
SweepPlan share(ControlPlane& control, const SweepPlan& own) {
  const bool is_first = control.rank() == 0;
  const Payload payload =
      control.broadcast(is_first ? nlohmann::json::to_cbor(to_json_value(own)) : Payload{});
  return is_first ? own
                  : from_json_value<SweepPlan>(nlohmann::json::from_cbor(payload), "from rank 0");
}

std::vector<Quarantined> quarantined(const Store& store) {
  std::vector<Quarantined> trials;
  for (const QuarantineRecord& record : store.quarantines())
    trials.push_back({.key_digest = digest_of_value(record.key),
                      .variant = to_string(record.variant),
                      .reason = record.reason});
  return trials;
}

std::string configuration_of(const ConfirmLaunchOptions& options) {
  return nlohmann::json{
      {"confirm-launch",
       {{"launch", options.launch}, {"seconds_per_key", options.seconds_per_key}}}}
      .dump();
}

}  // namespace

std::vector<Decision> decisions_in_force(const StoreReader& reader) {
  const auto quarantines = reader.quarantines();
  std::vector<Decision> decisions;
  for (const Decision& decision : reader.published().decisions) {
    auto rest = without_quarantined(decision, quarantines);
    if (!rest) continue;
    if (rest->verdict == Verdict::displaced && rest->ranked.front().is_baseline)
      rest->verdict = Verdict::kept;
    decisions.push_back(*std::move(rest));
  }
  return decisions;
}

std::vector<Decision> provisional_decisions(const StoreReader& reader) {
  auto decisions = decisions_in_force(reader);
  std::erase_if(decisions, [](const Decision& decision) {
    return decision.status != DecisionStatus::provisional;
  });
  return decisions;
}

int run_confirm_launch_command(const ConfirmLaunchOptions& options, const AgentProcess& process) {
  ControlPlane& control = process.control;
  if (process.settings.malloc == MallocRegime::fresh)
    throw Error(
        StatusCode::failed_precondition,
        std::string("confirm: ") + malloc_regime_variable +
            "=fresh needs a process for each key, and a launch of confirm measures several");
  const LaunchFacts facts =
      learn_launch(process, options.plugins, options.call_limit, options.rules);

  std::optional<Store> store;
  std::optional<ConfirmLaunchJournal> journal;
  ConfirmLaunchPlan confirm_launch;
  const std::string uuid = random_uuid();
  run_on_rank_zero(control, [&] {
    store.emplace(options.database);
    const auto in_quarantine = quarantined(*store);
    const StoreReader reader(options.database);
    auto decisions =
        options.with_confirmed ? decisions_in_force(reader) : provisional_decisions(reader);
    std::erase_if(decisions, [&](const Decision& decision) {
      return !options.environment_digest.empty() &&
             decision.key.environment_digest != options.environment_digest;
    });
    const auto compositions = reader.compositions();
    const auto members = reader.published().members;
    confirm_launch = make_confirm_launch_plan(
        decisions,
        {.availability = facts.availability,
         .implementations = facts.catalogue,
         .environment_digest = facts.digest,
         .quarantined = in_quarantine,
         .compositions = compositions,
         .members = members},
        std::chrono::nanoseconds(static_cast<std::int64_t>(options.seconds_per_key * 1e9)),
        options.launch);
    journal.emplace(*store,
                    SweepRecord{.uuid = uuid,
                                .started_at = utc_now(),
                                .configuration = configuration_of(options),
                                .environment_digest = facts.digest,
                                .launch = facts.launch,
                                .seed = options.launch,
                                .purpose = SweepPurpose::confirm,
                                .confirmation = options.confirmation,
                                .provenance = facts.provenance},
                    facts.environment);
  });
  const SweepPlan plan = share(control, confirm_launch.plan);
  process.watch = std::make_unique<RankWatch>(control, process.launch, options.database, uuid);

  MeasurePolicy policy;
  policy.call_limit_floor = call_limit_floor(options.call_limit, plan);
  process.set_control_time_out(control_time_out(plan, policy));
  const SweepOutcome outcome = run_sweep({.control = control,
                                          .launch = process.launch,
                                          .implementations = facts.catalogue,
                                          .journal = journal ? &*journal : nullptr,
                                          .recorder = &process.watch->recorder(),
                                          .stop = process.stop},
                                         plan, policy);
  process.watch->recorder().enter({.activity = "end"});
  std::int64_t code = 0;
  run_on_rank_zero(control, [&] {
    journal->finish(outcome, confirm_launch.left_out);
    if (has_fault(outcome.trials)) code = 1;
  });
  control.all_reduce_max({&code, 1});
  return static_cast<int>(code);
}

}  // namespace colltune
