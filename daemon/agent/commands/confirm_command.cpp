// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "confirm_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "colltune/db/store.h"
#include "colltune/decide/confirm.h"
#include "colltune/decide/sweep_summary.h"
#include "colltune/journal/fit_maker.h"
#include "colltune/journal/sweep_journal.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/machine/control_groups.h"
#include "colltune/supervise/supervise.h"
#include "confirm_launch_command.h"
#include "confirm_launch_plan.h"
#include "store_failure_log.h"

namespace colltune {
namespace {

// A launch that fails is repeated, so that a single stray fault does not end the confirmation; a
// winner that fails twice is quarantined, and the next launch does without it.
constexpr int attempts_per_launch = 4;
constexpr std::size_t left_out_shown = 20;

// Of the exit codes: what a shell gives whoever a signal ended, and what could not be launched.
constexpr int ended_by_signal = 128;
constexpr int launch_not_made = 4;

/// What one set of launches measured.
struct SetOfLaunches {
  std::vector<std::vector<Measurement>> launches;
  std::vector<std::string> left_out;
};

std::vector<std::string> left_out_of(const SweepRecord& sweep) {
  return read_sweep_summary(sweep.summary, sweep.uuid)
      .left_out.value_or(std::vector<std::string>{});
}

/// The launches of `confirmation` that were finished.
SetOfLaunches read_set(const std::filesystem::path& database, const std::string& confirmation) {
  const StoreReader reader(database);
  SetOfLaunches set;
  for (const SweepRecord& sweep : reader.sweeps()) {
    if (sweep.purpose != SweepPurpose::confirm || sweep.confirmation != confirmation ||
        sweep.state != SweepState::complete)
      continue;
    set.launches.push_back(reader.measurements(sweep.uuid));
    set.left_out = left_out_of(sweep);
  }
  return set;
}

/// How often what happened.
struct Tally {
  std::size_t confirmed = 0;
  std::size_t kept = 0;  ///< of those: the baseline stays
  std::size_t vetoes = 0;
  std::map<std::string, std::size_t> open;  ///< by why nothing can be said
};

class Confirmer {
 public:
  Confirmer(const ConfirmOptions& options, const SupervisionLock& lock,
            const std::function<void(const std::string&)>& say)
      : options_(options), lock_(lock), say_(say), failures_(options.database) {}

  int run() {
    policy_.launches = static_cast<std::size_t>(options_.launches);
    if (options_.most_kept_waiting) policy_.most_kept_waiting = options_.most_kept_waiting;
    for (int set = 1; set <= most_confirm_sets; ++set) {
      auto before = provisional_decisions(StoreReader(options_.database));
      std::erase_if(before, [&](const Decision& decision) {
        return !options_.environment_digest.empty() &&
               decision.key.environment_digest != options_.environment_digest;
      });
      const auto claims = static_cast<std::size_t>(std::ranges::count_if(
          before, [](const Decision& decision) { return contest_of(decision).has_value(); }));
      SetOfLaunches measured;
      if (claims > 0) {
        say_(fmt::format("set {}: {} winner(s) to confirm in {} launches", set, claims,
                         options_.launches));
        const std::string confirmation = random_uuid();
        for (int launch = 1; launch <= options_.launches; ++launch)
          if (const auto code = make_launch(confirmation, launch)) {
            say_(fmt::format("launch {} could not be made (exit code {}): its set says nothing",
                             launch, *code));
            return *code;
          }
        measured = read_set(options_.database, confirmation);
        // A launch that a stall used up is made up for; as often as there are launches, so that
        // too little time for each ends, too.
        for (int more = 1; more <= options_.launches && misses_launches(before, measured); ++more) {
          say_(fmt::format("set {}: {} more launch(es), as a launch ended before all was measured",
                           set, more));
          if (const auto code = make_launch(confirmation, options_.launches + more)) {
            if (*code > ended_by_signal) return *code;
            say_(fmt::format(
                "launch {} could not be made (exit code {}): the set goes by the {} before it",
                options_.launches + more, *code, options_.launches + more - 1));
            code_ = launch_not_made;
            break;
          }
          measured = read_set(options_.database, confirmation);
        }
      }
      const bool has_successors = publish(before, measured, set == most_confirm_sets);
      if (set == 1 || !has_successors) left_out_ = measured.left_out;
      if (!has_successors) break;
    }
    report();
    return code_;
  }

 private:
  /// The exit code where the launch could not be made.
  std::optional<int> make_launch(const std::string& confirmation, int launch) {
    SuperviseOptions supervised{.database = options_.database,
                                .command = options_.command,
                                .launches = attempts_per_launch};
    for (const std::string& argument : launch_arguments(confirmation, launch))
      supervised.command.push_back(argument);
    const int code = supervise(
        supervised,
        {.failures = failures_, .lock = lock_, .say = say_, .memory_kills = own_memory_kills});
    if (code != 0 && code != 1) return code;
    code_ = std::max(code_, code);
    return {};
  }

  [[nodiscard]] bool misses_launches(const std::vector<Decision>& before,
                                     const SetOfLaunches& measured) const {
    return std::ranges::any_of(before, [&](const Decision& decision) {
      return confirm(decision, measured.launches, policy_).launches_missed > 0;
    });
  }

  [[nodiscard]] std::vector<std::string> launch_arguments(const std::string& confirmation,
                                                          int launch) const {
    std::vector<std::string> arguments{"confirm-launch",
                                       "--db",
                                       options_.database.string(),
                                       "--confirmation",
                                       confirmation,
                                       "--launch",
                                       std::to_string(launch),
                                       "--seconds-per-key",
                                       fmt::format("{}", options_.seconds_per_key)};
    const auto add = [&](const char* option, const std::string& value) {
      arguments.emplace_back(option);
      arguments.push_back(value);
    };
    if (options_.call_limit.count() > 0)
      add("--call-limit",
          fmt::format("{}", std::chrono::duration<double>(options_.call_limit).count()));
    for (const auto& plugin : options_.plugins) add("--plugin", plugin.string());
    for (const auto& variable : options_.variables) add("--variable", variable);
    if (!options_.environment_digest.empty()) add("--environment", options_.environment_digest);
    for (const auto& mask : options_.rules.masks) add("--mask", mask);
    for (const auto& tag : options_.rules.declarations) add("--declare", tag);
    if (options_.rules.builds_may_differ) add("--unlike-builds", "group");
    return arguments;
  }

  /// Publishes what the set says. True where some decision has another winner to confirm.
  bool publish(const std::vector<Decision>& before, const SetOfLaunches& measured, bool is_last) {
    std::vector<Decision> changed;
    bool has_successors = false;
    tally_.open.clear();
    for (const Decision& decision : before) {
      ConfirmStep step = confirm(decision, measured.launches, policy_);
      const bool lost_claim =
          step.decision.ranked.front().variant != decision.ranked.front().variant;
      tally_.vetoes += lost_claim ? 1 : 0;
      if (lost_claim) say_(describe_decision(decision) + ": " + step.decision.reason);
      if (step.result == ConfirmResult::vetoed && is_last) {
        step.decision = keep_baseline(std::move(step.decision), measured.launches.size());
        step.result = step.decision.status == DecisionStatus::confirmed ? ConfirmResult::confirmed
                                                                        : ConfirmResult::open;
        step.why_open = "vetoed again and again, without a baseline";
      }
      has_successors = has_successors || step.result == ConfirmResult::vetoed;
      if (step.result == ConfirmResult::open) ++tally_.open[step.why_open];
      if (step.result == ConfirmResult::confirmed) {
        ++tally_.confirmed;
        tally_.kept += step.decision.ranked.front().is_baseline ? 1 : 0;
      }
      if (step.decision != decision) changed.push_back(std::move(step.decision));
    }
    if (!changed.empty()) {
      const Implementations catalogue = make_catalogue();
      Store store(options_.database);
      generation_ = store.publish(changed, utc_now(), fit_maker_of(catalogue)).number;
    }
    return has_successors;
  }

  void report() const {
    for (std::size_t i = 0; i < left_out_.size(); ++i) {
      if (i == left_out_shown) {
        say_(fmt::format("... and {} more", left_out_.size() - i));
        break;
      }
      say_("stays provisional: " + left_out_[i]);
    }
    std::size_t open = 0;
    for (const auto& [why, count] : tally_.open) {
      say_(fmt::format("{} stay provisional: {}", count, why));
      open += count;
    }
    say_(
        fmt::format("confirmed {} decisions (in {} of them the baseline stays), {} veto(es), {} "
                    "stay provisional{}",
                    tally_.confirmed, tally_.kept, tally_.vetoes, open,
                    generation_ ? fmt::format("; published generation {}", *generation_) : ""));
  }

  const ConfirmOptions& options_;
  const SupervisionLock& lock_;
  const std::function<void(const std::string&)>& say_;
  StoreFailureLog failures_;
  ConfirmPolicy policy_;
  Tally tally_;
  std::vector<std::string> left_out_;
  std::optional<std::uint64_t> generation_;
  int code_ = 0;
};

}  // namespace

int run_confirm_command(const ConfirmOptions& options, const SupervisionLock& lock,
                        const std::function<void(const std::string&)>& say) {
  return Confirmer(options, lock, say).run();
}

}  // namespace colltune
