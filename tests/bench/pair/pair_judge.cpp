// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "pair_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace colltune {
namespace {

using Json = nlohmann::json;

constexpr int exit_wrong = 1;
constexpr int exit_not_measured = 4;
constexpr int exit_target_missed = 5;
// What a call may take beyond its deadline: the look at the clock, and NCCL's abort.
constexpr double slack_seconds = 12;
constexpr const char* own_choice = "of NCCL's own choice";
constexpr const char* as_forced = "ran as forced";
constexpr const char* fewer_channels = "ran with fewer channels than forced, which is not credited";
constexpr const char* something_else = "ran something else, which is not credited";
constexpr const char* unavailable = "unavailable, with the reason";

std::string text(const Json& event, const char* field) {
  const auto found = event.find(field);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The parts of "algorithm=ring,channels=8,told_by=profiler".
std::map<std::string, std::string> settings_of(std::string_view executed) {
  std::map<std::string, std::string> settings;
  while (!executed.empty()) {
    const std::string_view part = executed.substr(0, executed.find(','));
    if (const std::size_t equals = part.find('='); equals != std::string_view::npos)
      settings.emplace(part.substr(0, equals), part.substr(equals + 1));
    executed.remove_prefix(std::min(part.size() + 1, executed.size()));
  }
  return settings;
}

int number_of(const std::string& digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

class Judge {
 public:
  explicit Judge(const std::array<PairReport, pair_ranks>& reports) : reports_(reports) {}

  PairVerdict judge() {
    judge_libraries();
    judge_trials();
    judge_held("stopped before its call", true);
    judge_held("stopped amid its calls", false);
    judge_ends();
    Json counts = Json::object();
    std::string summary;
    for (const auto& [what, count] : counts_) {
      counts[what] = count;
      summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, what);
    }
    verdict_.lines.push_back("variants: " + (summary.empty() ? "none" : summary));
    Json& result = verdict_.result;
    result["counts"] = counts;
    result["findings"] = verdict_.findings;
    result["exit"] = verdict_.exit_code = exit_code();
    return std::move(verdict_);
  }

 private:
  void say(std::string line) { verdict_.lines.push_back(std::move(line)); }
  void find(const char* kind, bool& flag, const std::string& what) {
    flag = true;
    verdict_.findings.push_back(fmt::format("{}: {}", kind, what));
    say(verdict_.findings.back());
  }
  void wrong(const std::string& what) { find("WRONG", is_wrong_, what); }
  void missed(const std::string& what) { find("TARGET MISSED", is_missed_, what); }
  void not_measured(const std::string& what) { find("NOT MEASURED", is_unmeasured_, what); }
  [[nodiscard]] int exit_code() const {
    if (is_wrong_) return exit_wrong;
    if (is_missed_) return exit_target_missed;
    return is_unmeasured_ ? exit_not_measured : 0;
  }

  [[nodiscard]] std::vector<const Json*> all(std::size_t rank, std::string_view event) const {
    std::vector<const Json*> found;
    for (const Json& one : reports_[rank].events)
      if (text(one, "event") == event) found.push_back(&one);
    return found;
  }
  /// The event of `rank` about that way of holding back; null: it told none.
  [[nodiscard]] const Json* find_held(std::size_t rank, const char* event, const char* how) const {
    for (const Json* const one : all(rank, event))
      if (text(*one, "how") == how) return one;
    return nullptr;
  }

  void judge_libraries() {
    for (std::size_t rank = 0; rank < pair_ranks; ++rank) {
      const auto opened = all(rank, "opened");
      if (opened.empty()) {
        not_measured(fmt::format("anything of rank {}: it did not come to open NCCL", rank));
        continue;
      }
      const Json& event = *opened.front();
      verdict_.result["libraries"].push_back(event);
      if (const std::string why = text(event, "why_not"); !why.empty()) {
        not_measured(fmt::format("NCCL, rank {}: {}", rank, why));
        continue;
      }
      say(fmt::format("rank {}: NCCL {} ({}) on {} ({}), driver {}", rank, text(event, "version"),
                      text(event, "library"), text(event, "device"), text(event, "architecture"),
                      text(event, "driver")));
      if (const std::string why = text(event, "why_not_made"); !why.empty())
        wrong(fmt::format("rank {}: no communicator: {}", rank, why));
      else if (const std::string unforced = text(event, "why_not_forced"); !unforced.empty())
        wrong(fmt::format("rank {}: NCCL has not loaded our tuner: {}", rank, unforced));
      else
        say(fmt::format("rank {}: NCCL has loaded our tuner", rank));
      why_no_profiler_ = text(event, "why_no_profiler");
      if (!why_no_profiler_.empty())
        not_measured(fmt::format("what ran, rank {}: {}", rank, why_no_profiler_));
    }
  }

  void judge_trials() {
    const auto first = all(0, "trial");
    const auto second = all(1, "trial");
    Json& trials = verdict_.result["trials"] = Json::array();
    std::size_t not_reached = 0;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
      if (i >= first.size() || i >= second.size() ||
          text(*first[i], "variant") != text(*second[i], "variant")) {
        wrong(fmt::format("only one rank told of {}",
                          text(*(i < first.size() ? first : second)[i], "variant")));
        continue;
      }
      const std::array<const Json*, pair_ranks> both{first[i], second[i]};
      Json trial = *both[0];
      trial.erase("event");
      trial["other_rank"] = {{"outcome", text(*both[1], "outcome")},
                             {"detail", text(*both[1], "detail")},
                             {"executed", text(*both[1], "executed")}};
      trials.push_back(std::move(trial));
      if (text(*both[0], "outcome") == "not reached")
        ++not_reached;
      else
        judge_trial(both);
    }
    if (not_reached > 0)
      not_measured(fmt::format("{} of {} variants: no time was left", not_reached, first.size()));
    if (first.empty()) return not_measured("any variant");
    if (told_ > 0) say(fmt::format("NCCL has loaded our profiler: it told of {} variants", told_));
    if (told_ == 0 && why_no_profiler_.empty()) wrong("NCCL told our profiler of no call");
    for (const char* const collective :
         {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"})
      if (!forced_.contains(collective))
        not_measured(fmt::format("no forced variant of {} ran", collective));
    for (const auto& [entry, ran] : entries_)
      if (!ran) missed(entry + " never ran as forced");
  }

  void judge_trial(const std::array<const Json*, pair_ranks>& both) {
    const std::string name = fmt::format("{} {} B", text(*both[0], "variant"),
                                         both[0]->value("message_size_bytes", std::uint64_t{0}));
    for (std::size_t rank = 0; rank < pair_ranks; ++rank) {
      const std::string outcome = text(*both[rank], "outcome");
      if (outcome == "wrong" || outcome == "failed")
        return wrong(fmt::format("{}, rank {}: {}", name, rank, text(*both[rank], "detail")));
      if (outcome != text(*both[0], "outcome"))
        return wrong(fmt::format("{}: '{}' on rank 0, '{}' on rank {}", name,
                                 text(*both[0], "outcome"), outcome, rank));
    }
    const Json& named = both[0]->value("named", Json::object());
    if (text(*both[0], "outcome") == "unavailable") {
      const std::string why = text(*both[0], "detail");
      if (why.empty()) return wrong(name + " is unavailable for no reason");
      ++counts_[unavailable];
      return say(fmt::format("{} is unavailable: {}", name, why));
    }
    const std::string executed = text(*both[0], "executed");
    if (executed != text(*both[1], "executed"))
      return wrong(fmt::format("{} ran {} on rank 0 and {} on rank 1", name, executed,
                               text(*both[1], "executed")));
    if (executed.empty()) return wrong(name + " ran what nobody told");
    judge_executed(name, text(*both[0], "collective"), named, executed,
                   both[0]->value("is_what_was_named", false));
  }

  void judge_executed(const std::string& name, const std::string& collective, const Json& named,
                      const std::string& executed, bool is_credited) {
    const auto ran = settings_of(executed);
    const auto value = [&](const char* setting) {
      const auto found = ran.find(setting);
      return found == ran.end() ? std::string() : found->second;
    };
    const bool is_told = value("told_by") == "profiler";
    told_ += is_told ? 1 : 0;
    if (!is_told && why_no_profiler_.empty())
      return wrong(fmt::format("{} ran {}, which NCCL did not tell our profiler", name, executed));
    if (named.empty()) {
      ++counts_[own_choice];
      return say(fmt::format("{} ran {}", name, executed));
    }
    const std::string entry =
        fmt::format("{} {} {}", collective, text(named, "algorithm"), text(named, "protocol"));
    bool& is_entry_credited = entries_[entry];
    const bool is_same_entry = value("algorithm") == text(named, "algorithm") &&
                               value("protocol") == text(named, "protocol");
    const int asked = number_of(text(named, "channels"));
    const int got = number_of(value("channels"));
    // Without a profiler nobody knows how many channels ran.
    const bool is_as_named = is_same_entry && (asked == 0 || !is_told || asked == got);
    if (is_credited != is_as_named)
      return wrong(fmt::format("{} ran {}, which is {}", name, executed,
                               is_credited ? "credited" : "not credited"));
    if (is_as_named) {
      ++counts_[as_forced];
      forced_.insert(collective);
      is_entry_credited = true;
      say(fmt::format("{} ran as forced: {}", name, executed));
    } else if (is_same_entry && got < asked) {
      // NCCL gives no more than its communicator has, which a tuner is not told.
      ++counts_[fewer_channels];
      say(fmt::format("{} ran {}", name, executed));
    } else {
      ++counts_[something_else];
      missed(fmt::format("{} ran {}", name, executed));
    }
  }

  /// The first rank's call must have ended at its deadline, and what was made anew must work.
  void judge_held(const char* how, bool names_the_rank) {
    const Json* const held = find_held(0, "held", how);
    if (held != nullptr) verdict_.result["held_back"].push_back(*held);
    const std::string outcome = held == nullptr ? "" : text(*held, "outcome");
    const std::string about = fmt::format("rank 1 {}", how);
    if (outcome.empty() || outcome == "not reached")
      return not_measured(about + ": it was not come to");
    if (outcome == "not tried")
      return wrong(
          fmt::format("{}: the calls before were not right: {}", about, text(*held, "detail")));
    if (outcome == "went on") return not_measured(about + ": rank 0's calls went on");
    const double seconds = held->value("seconds", 0.0);
    const double limit = held->value("limit", 0.0);
    const std::string told =
        fmt::format("{}: rank 0's call ended after {:.2f} s of {:.2f} s allowed: {}", about,
                    seconds, limit, text(*held, "detail"));
    if (outcome != "timed out")
      wrong(told);
    else if (seconds < limit * 0.9 || seconds > limit + slack_seconds)
      wrong(told);
    else if (names_the_rank && held->value("missing", -1) != 1)
      wrong(told + " (rank 1 is not named)");
    else if (!held->value("is_lost", false))
      wrong(told + " (its communicator was not aborted)");
    else
      say(told);
    for (std::size_t rank = 0; rank < pair_ranks; ++rank) {
      const Json* const renewed = find_held(rank, "renewed", how);
      if (renewed == nullptr)
        not_measured(fmt::format("{}: a new communicator of rank {}", about, rank));
      else if (const std::string fault = text(*renewed, "fault"); !fault.empty())
        wrong(fmt::format("{}: a new communicator of rank {}: {}", about, rank, fault));
      else
        say(fmt::format("{}: a new communicator works, says rank {}", about, rank));
    }
  }

  void judge_ends() {
    for (std::size_t rank = 0; rank < pair_ranks; ++rank) {
      const auto done = all(rank, "done");
      if (!reports_[rank].end.empty())
        wrong(fmt::format("rank {} ended by {}", rank, reports_[rank].end));
      else if (done.empty())
        wrong(fmt::format("rank {} ended without a word", rank));
      else if (const std::string fault = text(*done.front(), "fault"); !fault.empty())
        wrong(fmt::format("rank {}: {}", rank, fault));
    }
  }

  const std::array<PairReport, pair_ranks>& reports_;
  PairVerdict verdict_;
  std::map<std::string, int> counts_;
  std::map<std::string, bool> entries_;  ///< that NCCL has: whether they ran as forced
  std::set<std::string> forced_;         ///< collectives of which one did
  std::string why_no_profiler_;
  int told_ = 0;
  bool is_wrong_ = false;
  bool is_missed_ = false;
  bool is_unmeasured_ = false;
};

}  // namespace

PairVerdict judge_pair(const std::array<PairReport, pair_ranks>& reports) {
  return Judge(reports).judge();
}

}  // namespace colltune
