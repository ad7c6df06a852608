// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "crossover_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <vector>

#include "colltune/decide/curves.h"
#include "colltune/json/json.h"
#include "colltune/model/fitted/crossover.h"
#include "reports/report_data.h"
#include "source/database.h"
#include "text/figures.h"
#include "text/text_table.h"

namespace colltune {
namespace {

/// A problem without its size, in one world, and its curves.
using Problems = std::map<TuningKey, std::vector<std::size_t>>;

/// Two variants of a problem, and what is known of them.
struct Meeting {
  TuningKey key;
  CurvePair pair;
  CommonSizes common;
  std::optional<Bytes> threshold;
  ThresholdLoss loss;  ///< of `threshold`
};

std::string problem_text(const TuningKey& key) {
  std::string text(operation_name(key.problem));
  text += ' ' + std::string(name_of(key.problem.data_type));
  if (key.problem.reduce_op != ReduceOp::none)
    text += ' ' + std::string(name_of(key.problem.reduce_op));
  return text + " on " + describe(key.topology);
}

std::size_t common_sizes(const SweptCurve& one, const SweptCurve& other) {
  return static_cast<std::size_t>(std::ranges::count_if(one.points, [&](const CurvePoint& point) {
    return std::ranges::find(other.points, point.size, &CurvePoint::size) != other.points.end();
  }));
}

/// The fastest time of a problem at each size.
std::map<Bytes, double> fastest_times(const std::vector<SweptCurve>& curves,
                                      const std::vector<std::size_t>& of_problem) {
  std::map<Bytes, double> fastest;
  for (const std::size_t curve : of_problem)
    for (const CurvePoint& point : curves[curve].points) {
      const auto [at, is_new] = fastest.try_emplace(point.size, point.time);
      if (!is_new) at->second = std::min(at->second, point.time);
    }
  return fastest;
}

/// How good a pair is for a problem; smaller is better.
struct PairRank {
  bool has_one_winner = true;  ///< at the first and at the last common size
  double distance = 0;  ///< of the faster one from the fastest of all, as a sum of logarithms

  friend auto operator<=>(const PairRank&, const PairRank&) = default;
};

/// Empty if the two have fewer than two sizes in common.
std::optional<PairRank> rank_pair(const SweptCurve& one, const SweptCurve& other,
                                  const std::map<Bytes, double>& fastest) {
  // Where neither was measured, as if they took this much longer than the fastest.
  constexpr double if_unknown = 4;
  std::size_t common = 0;
  bool wins_first = false, wins_last = false;
  PairRank rank;
  for (const auto& [size, best] : fastest) {
    const double first = measured_at(one, size);
    const double second = measured_at(other, size);
    if (first > 0 && second > 0) {
      wins_last = first < second;
      if (common++ == 0) wins_first = wins_last;
    }
    const double least = first > 0 && second > 0 ? std::min(first, second) : first + second;
    rank.distance += least > 0 ? std::log(least / best) : std::log(if_unknown);
  }
  rank.has_one_winner = wins_first == wins_last;
  if (common < 2) return {};
  return rank;
}

/// The two variants that together come nearest to the fastest of all at each size; first of those
/// pairs that change places from their first common size to their last. Empty if no two have two
/// sizes in common.
std::optional<CurvePair> best_pair(const std::vector<SweptCurve>& curves,
                                   const std::vector<std::size_t>& of_problem) {
  const auto fastest = fastest_times(curves, of_problem);
  std::optional<CurvePair> best;
  PairRank of_best;
  for (std::size_t i = 0; i < of_problem.size(); ++i)
    for (std::size_t j = i + 1; j < of_problem.size(); ++j) {
      const auto rank = rank_pair(curves[of_problem[i]], curves[of_problem[j]], fastest);
      if (!rank || (best && *rank >= of_best)) continue;
      best = {of_problem[i], of_problem[j]};
      of_best = *rank;
    }
  return best;
}

std::optional<CurvePair> named_pair(const std::vector<SweptCurve>& curves,
                                    const std::vector<std::size_t>& of_problem,
                                    const CrossoverOptions& options) {
  std::optional<std::size_t> first, second;
  for (const std::size_t curve : of_problem) {
    const std::string name = to_string(curves[curve].variant);
    if (name == options.first) first = curve;
    if (name == options.second) second = curve;
  }
  if (!first || !second || common_sizes(curves[*first], curves[*second]) < 2) return {};
  return CurvePair{*first, *second};
}

void check(const CrossoverOptions& options) {
  if (options.first.empty() != options.second.empty())
    throw Error(StatusCode::invalid_argument,
                "--first and --second: give both variants, or neither for the two best");
  if (!options.first.empty() && options.first == options.second)
    throw Error(StatusCode::invalid_argument, "--first and --second name the same variant");
  for (const std::string* const name : {&options.first, &options.second})
    if (!name->empty()) (void)parse_variant(*name);
}

std::vector<Meeting> find_meetings(const CrossoverOptions& options,
                                   const std::vector<SweptCurve>& curves, const CurveSet& set) {
  Problems problems;
  std::set<std::string> operations;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string operation(operation_name(curves[i].key.problem));
    operations.insert(operation);
    if (options.collective.empty() || options.collective == operation)
      problems[curves[i].key].push_back(i);
  }
  if (problems.empty()) {
    std::string known;
    for (const std::string& one : operations) known += (known.empty() ? "" : ", ") + one;
    throw Error(StatusCode::not_found,
                "--collective '" + options.collective + "' was not measured; what was: " + known);
  }
  std::vector<Meeting> meetings;
  for (const auto& [key, of_problem] : problems) {
    const auto pair = options.first.empty() ? best_pair(curves, of_problem)
                                            : named_pair(curves, of_problem, options);
    if (!pair) continue;
    Meeting meeting{.key = key, .pair = *pair, .common = find_crossings(set, *pair)};
    if (!options.threshold.empty()) {
      meeting.threshold = parse_bytes(options.threshold);
      meeting.loss = loss_of_threshold(set, *pair, *meeting.threshold);
    }
    meetings.push_back(std::move(meeting));
  }
  return meetings;
}

/// The crossing that is nearest to the threshold, by ratio.
const CurveCrossing* nearest_crossing(const Meeting& meeting) {
  const auto distance = [&](const CurveCrossing& crossing) {
    const auto size = static_cast<double>(crossing.size.value);
    const auto threshold =
        static_cast<double>(std::max<std::uint64_t>(meeting.threshold->value, 1));
    return std::max(size / threshold, threshold / size);
  };
  const auto& all = meeting.common.crossings;
  const auto nearest = std::ranges::min_element(all, {}, distance);
  return nearest == all.end() ? nullptr : &*nearest;
}

std::string threshold_text(const Meeting& meeting) {
  const CurveCrossing* const nearest = nearest_crossing(meeting);
  std::string text = fmt::format("threshold {}: ", format_bytes(*meeting.threshold));
  text += nearest == nullptr ? std::string("they do not meet between these sizes\n")
                             : fmt::format("{:.2f} times the size where they meet\n",
                                           static_cast<double>(meeting.threshold->value) /
                                               static_cast<double>(nearest->size.value));
  const ThresholdLoss& loss = meeting.loss;
  return text + fmt::format("  it loses {:.1f} % in the mean, at worst {:.1f} % at {} ({} us)\n",
                            100 * loss.mean, 100 * loss.worst, format_bytes(loss.worst_size),
                            microseconds(std::chrono::nanoseconds(std::llround(loss.worst_time))));
}

std::string meeting_text(const Meeting& meeting, const std::vector<SweptCurve>& curves,
                         std::size_t width) {
  using Align = TextTable::Align;
  TextTable table(
      {{"from", Align::right}, {"to", Align::right}, {"they meet within (90 %)"}, {"faster"}});
  const auto name = [&](bool is_first) {
    return to_string(curves[is_first ? meeting.pair.first : meeting.pair.second].variant);
  };
  Bytes from = meeting.common.first;
  for (const CurveCrossing& crossing : meeting.common.crossings) {
    table.add_row({format_bytes(from), format_bytes(crossing.size),
                   format_bytes(crossing.low) + " to " + format_bytes(crossing.high),
                   name(crossing.is_first_faster_below)});
    from = crossing.size;
  }
  const auto& crossings = meeting.common.crossings;
  const bool is_first_last =
      crossings.empty() ? meeting.common.is_first_faster : !crossings.back().is_first_faster_below;
  table.add_row({format_bytes(from), format_bytes(meeting.common.last), "-", name(is_first_last)});
  std::string text = problem_text(meeting.key) + '\n' + table.text(width);
  if (crossings.empty()) text += "slower at all of these sizes:\n  " + name(!is_first_last) + '\n';
  if (meeting.threshold) text += threshold_text(meeting);
  return text;
}

nlohmann::json to_json(const Meeting& meeting, const std::vector<SweptCurve>& curves) {
  nlohmann::json json{{"problem", problem_text(meeting.key)},
                      {"key", to_json_value(meeting.key)},
                      {"first", to_string(curves[meeting.pair.first].variant)},
                      {"second", to_string(curves[meeting.pair.second].variant)},
                      {"from_bytes", meeting.common.first.value},
                      {"to_bytes", meeting.common.last.value},
                      {"is_first_faster", meeting.common.is_first_faster},
                      {"crossings", nlohmann::json::array()}};
  for (const CurveCrossing& crossing : meeting.common.crossings)
    json["crossings"].push_back({{"bytes", crossing.size.value},
                                 {"low_bytes", crossing.low.value},
                                 {"high_bytes", crossing.high.value},
                                 {"is_first_faster_below", crossing.is_first_faster_below}});
  if (meeting.threshold)
    json["threshold"] = {{"bytes", meeting.threshold->value},
                         {"mean_loss", meeting.loss.mean},
                         {"worst_loss", meeting.loss.worst},
                         {"worst_bytes", meeting.loss.worst_size.value},
                         {"worst_ns", meeting.loss.worst_time}};
  return json;
}

}  // namespace

void run_crossover(const CrossoverOptions& options, std::ostream& out) {
  check(options);
  const StoreReader reader = open_database(options.database);
  const ReportedSweep sweep =
      read_sweep(reader, find_sweep(reader, options.database, options.sweep));
  const std::vector<SweptCurve> curves = curves_of(sweep.measurements);
  const CurveSet set(to_variant_curves(curves));
  const std::vector<Meeting> meetings = find_meetings(options, curves, set);
  if (meetings.empty())
    throw Error(StatusCode::not_found,
                options.first.empty()
                    ? options.database +
                          ": no two variants of a problem were measured at two "
                          "common sizes in sweep " +
                          sweep.record.uuid
                    : options.database + ": sweep " + sweep.record.uuid + " did not measure both " +
                          options.first + " and " + options.second +
                          " at two common sizes of a problem; colltune show measurements lists "
                          "what it measured");
  if (options.json) {
    nlohmann::json json = nlohmann::json::array();
    for (const Meeting& meeting : meetings) json.push_back(to_json(meeting, curves));
    out << json.dump(1) << '\n';
    return;
  }
  bool is_first = true;
  for (const Meeting& meeting : meetings) {
    out << (is_first ? "" : "\n") << meeting_text(meeting, curves, table_width(options.is_wide));
    is_first = false;
  }
}

}  // namespace colltune
