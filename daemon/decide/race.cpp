// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/race.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "colltune/decide/duel.h"
#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

constexpr std::size_t first_look = 8;
constexpr std::size_t looks = 13;

std::size_t rounds_at(std::size_t look) {
  return static_cast<std::size_t>(
      std::lround(first_look * std::exp2(static_cast<double>(look) / 2)));
}

/// The last number of rounds, up to `rounds`, at which bounds are computed; 0: none yet.
std::size_t last_look(std::size_t rounds) {
  std::size_t last = 0;
  for (std::size_t look = 0; look < looks; ++look)
    if (rounds_at(look) <= rounds) last = rounds_at(look);
  return last;
}

double hopeless_factor(std::size_t rounds) { return rounds == 1 ? 3.0 : rounds == 2 ? 1.5 : 1.25; }

using Rounds = std::span<const double>;

/// The raced of one family, or of all families.
struct RaceField {
  std::vector<std::size_t> members;  ///< without twins
  std::optional<std::size_t> baseline;
  std::optional<std::size_t> twin;  ///< of that baseline
  std::optional<std::size_t> leader;
};

class Race {
 public:
  Race(std::span<const RacedTrial> raced, const DecisionPolicy& policy)
      : raced_(raced), policy_(policy) {
    for (const RacedTrial& trial : raced) rounds_ = std::max(rounds_, trial.round_medians.size());
    look_ = last_look(rounds_);
    std::set<std::string_view> families;
    for (const RacedTrial& trial : raced) families.insert(trial.family);
    any_ = make_field([](const RacedTrial&) { return true; });
    for (const std::string_view family : families)
      families_.push_back(
          make_field([&](const RacedTrial& trial) { return trial.family == family; }));
  }

  [[nodiscard]] RaceState judge() const {
    RaceState state{.may_leave = std::vector<bool>(raced_.size(), false), .is_decided = true};
    for (const RaceField& family : families_)
      for (const std::size_t i : family.members)
        state.may_leave[i] = !raced_[i].is_baseline &&
                             (!is_running(i) || (cannot_win(i, family) && cannot_win(i, any_)));
    state.is_decided = rounds_ > 0 && is_decided(any_, state.may_leave) &&
                       std::ranges::all_of(families_, [&](const RaceField& family) {
                         return is_decided(family, state.may_leave);
                       });
    return state;
  }

 private:
  [[nodiscard]] bool is_running(std::size_t i) const {
    return raced_[i].round_medians.size() == rounds_;
  }
  [[nodiscard]] Rounds rounds_of(std::size_t i) const { return raced_[i].round_medians; }
  [[nodiscard]] Rounds looked_at(std::size_t i) const {
    return rounds_of(i).first(std::min(look_, rounds_of(i).size()));
  }

  /// The median of its times relative to the reference's; infinite if none counts.
  [[nodiscard]] double score(std::size_t i, std::optional<std::size_t> reference) const {
    std::vector<double> times;
    for (std::size_t round = 0; round < rounds_of(i).size(); ++round) {
      const double own = rounds_of(i)[round];
      const double by = !reference                             ? 1
                        : round < rounds_of(*reference).size() ? rounds_of(*reference)[round]
                                                               : 0;
      if (own > 0 && by > 0) times.push_back(own / by);
    }
    return times.empty() ? std::numeric_limits<double>::infinity() : median_of(times);
  }

  template <class Belongs>
  [[nodiscard]] RaceField make_field(Belongs belongs) const {
    RaceField field;
    for (std::size_t i = 0; i < raced_.size(); ++i) {
      if (!belongs(raced_[i])) continue;
      if (!raced_[i].is_twin) field.members.push_back(i);
    }
    const auto choose = [&](auto may, std::optional<std::size_t> reference) {
      std::optional<std::size_t> best;
      for (const std::size_t i : field.members)
        if (may(i) && (!best || score(i, reference) < score(*best, reference))) best = i;
      return best;
    };
    field.baseline = choose([&](std::size_t i) { return raced_[i].is_baseline; }, {});
    for (std::size_t i = 0; field.baseline && i < raced_.size(); ++i)
      if (raced_[i].is_twin && raced_[i].family == raced_[*field.baseline].family) field.twin = i;
    std::optional<std::size_t> reference = field.baseline;
    for (std::size_t i = 0; !reference && i < raced_.size(); ++i)
      if (raced_[i].is_baseline) reference = i;
    field.leader = choose([&](std::size_t i) { return is_running(i); }, reference);
    return field;
  }

  [[nodiscard]] double risk() const {
    const auto rivals = std::ranges::count_if(
        raced_, [](const RacedTrial& trial) { return !trial.is_baseline && !trial.is_twin; });
    return risk_of_duel(policy_,
                        looks * std::max<std::size_t>(1, static_cast<std::size_t>(rivals)));
  }

  [[nodiscard]] Duel duel(std::size_t reference, std::size_t rival) const {
    return fight(looked_at(reference), looked_at(rival), risk());
  }

  [[nodiscard]] bool is_hopeless(std::size_t i, std::size_t leader) const {
    std::size_t common = 0;
    double closest = std::numeric_limits<double>::infinity();
    for (std::size_t round = 0; round < rounds_; ++round) {
      const double own = rounds_of(i)[round];
      const double best = rounds_of(leader)[round];
      if (!(own > 0 && best > 0)) continue;
      ++common;
      closest = std::min(closest, own / best);
    }
    return common > 0 && closest >= hopeless_factor(common);
  }

  [[nodiscard]] bool is_below(const Duel& duel, double ratio) const {
    return duel.high && *duel.high < ratio;
  }

  [[nodiscard]] bool cannot_win(std::size_t i, const RaceField& field) const {
    if (!field.leader || *field.leader == i) return false;
    if (is_hopeless(i, *field.leader)) return true;
    if (is_below(duel(*field.leader, i), 1 / (1 + policy_.minimum_margin))) return true;
    return field.baseline && is_below(duel(*field.baseline, i), 1 + policy_.minimum_margin);
  }

  [[nodiscard]] bool is_decided(const RaceField& field, const std::vector<bool>& may_leave) const {
    std::vector<std::size_t> rivals;
    for (const std::size_t i : field.members)
      if (i != field.baseline && is_running(i) && !may_leave[i]) rivals.push_back(i);
    const bool has_rival =
        std::ranges::any_of(field.members, [&](std::size_t i) { return !raced_[i].is_baseline; });
    if (!has_rival && field.twin) rivals.push_back(*field.twin);
    const double margin = 1 + policy_.minimum_margin;
    const auto none_beats = [&](std::size_t champion) {
      return std::ranges::all_of(rivals, [&](std::size_t i) {
        return i == champion || is_below(duel(champion, i), margin);
      });
    };
    if (!field.baseline) return !field.leader || none_beats(*field.leader);
    if (none_beats(*field.baseline)) return true;
    const std::size_t champion = has_rival ? *field.leader : rivals.front();
    if (champion == *field.baseline) return false;
    const double noise =
        has_rival && field.twin ? twin_noise(duel(*field.baseline, *field.twin)) : 1;
    return colltune::judge(duel(*field.baseline, champion), policy_, noise) == Standing::proven &&
           none_beats(champion);
  }

  std::span<const RacedTrial> raced_;
  const DecisionPolicy& policy_;
  std::size_t rounds_ = 0;
  std::size_t look_ = 0;
  RaceField any_;
  std::vector<RaceField> families_;
};

}  // namespace

bool is_look(std::size_t rounds) { return rounds < first_look || last_look(rounds) == rounds; }

RaceState judge_race(std::span<const RacedTrial> raced, const DecisionPolicy& policy) {
  return Race(raced, policy).judge();
}

}  // namespace colltune
