// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "model_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/decide/curves.h"
#include "colltune/json/json.h"
#include "models/held_out_choice.h"
#include "reports/report_data.h"
#include "source/database.h"
#include "text/figures.h"
#include "text/text_table.h"

namespace colltune {
namespace {

/// The errors of a number of predictions.
struct ErrorFigures {
  std::size_t times = 0;
  double median = 0;
  double most = 0;  ///< the 90th percentile
  double median_today = 0;
  double most_today = 0;
  std::size_t with_interval = 0;
  double covered = 0;  ///< share of those with an interval
  double width = 0;    ///< the median of high / low
};

/// The value below which the share `at` of the values lies; 0 without values.
double quantile(std::vector<double> values, double at) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double position = at * static_cast<double>(values.size() - 1);
  const auto lower = static_cast<std::size_t>(position);
  const std::size_t upper = std::min(lower + 1, values.size() - 1);
  return values[lower] + (position - static_cast<double>(lower)) * (values[upper] - values[lower]);
}

ErrorFigures figures_of(const std::vector<LeftOutTime>& all) {
  std::vector<double> errors, today, widths;
  std::size_t covered = 0;
  for (const LeftOutTime& one : all) {
    errors.push_back(one.error());
    today.push_back(one.error_today());
    if (!one.has_interval) continue;
    widths.push_back(one.fitted.high / one.fitted.low);
    covered += one.is_covered() ? 1 : 0;
  }
  return {.times = all.size(),
          .median = quantile(errors, 0.5),
          .most = quantile(errors, 0.9),
          .median_today = quantile(today, 0.5),
          .most_today = quantile(today, 0.9),
          .with_interval = widths.size(),
          .covered = widths.empty()
                         ? 0
                         : static_cast<double>(covered) / static_cast<double>(widths.size()),
          .width = quantile(widths, 0.5)};
}

/// How far the times by half of their passes are from those by the other half.
struct HalvesApart {
  std::size_t times = 0;  ///< of several passes
  std::size_t all = 0;
  double median = 0;
  double most = 0;  ///< the 90th percentile
};

HalvesApart halves_apart(std::span<const SweptCurve> curves,
                         std::span<const Measurement> measurements) {
  HalvesApart apart;
  for (const SweptCurve& curve : curves) apart.all += curve.points.size();
  const auto halves = curves_by_halves(measurements);
  std::map<std::pair<TuningKey, Variant>, const SweptCurve*> others;
  for (const SweptCurve& curve : halves[1]) others[{curve.key, curve.variant}] = &curve;
  std::vector<double> differences;
  for (const SweptCurve& curve : halves[0]) {
    const auto other = others.find({curve.key, curve.variant});
    if (other == others.end()) continue;
    for (const CurvePoint& point : curve.points)
      if (const double time = measured_at(*other->second, point.size); time > 0)
        differences.push_back(std::max(time, point.time) / std::min(time, point.time) - 1);
  }
  apart.times = differences.size();
  apart.median = quantile(differences, 0.5);
  apart.most = quantile(differences, 0.9);
  return apart;
}

/// What was left out together.
struct LeftOutCase {
  FitEvidence evidence;
  std::string title;
};
const std::vector<LeftOutCase>& cases() {
  static const std::vector<LeftOutCase> all{
      {FitEvidence::same_problem, "one variant's time left out"},
      {FitEvidence::other_problems, "a size left out for all variants of a problem"},
      {FitEvidence::own_curve, "a size left out everywhere"}};
  return all;
}

std::string_view name_of_position(SizePosition position) {
  switch (position) {
    case SizePosition::between:
      return "between sizes";
    case SizePosition::below:
      return "below all sizes";
    case SizePosition::beyond:
      return "beyond all sizes";
  }
  throw Error(StatusCode::internal, "unknown position of a size");
}

/// The figures of one case: all, by position of the size, by collective.
struct CaseFigures {
  LeftOutCase what;
  ErrorFigures all;
  std::map<SizePosition, ErrorFigures> positions;
  std::map<bool, ErrorFigures> of_several;  ///< by whether the time is of several passes
  std::map<std::string, ErrorFigures> collectives;
};

/// How many passes the left-out time is of.
std::size_t passes_of(const SweptCurve& curve, Bytes size) {
  const auto found = std::ranges::find(curve.points, size, &CurvePoint::size);
  return curve.passes.at(static_cast<std::size_t>(found - curve.points.begin()));
}

CaseFigures judge(const LeftOutCase& what, const CurveSet& set,
                  const std::vector<SweptCurve>& curves) {
  const std::vector<LeftOutTime> left_out = set.leave_out(what.evidence);
  std::map<SizePosition, std::vector<LeftOutTime>> positions;
  std::map<bool, std::vector<LeftOutTime>> of_several;
  std::map<std::string, std::vector<LeftOutTime>> collectives;
  for (const LeftOutTime& one : left_out) {
    positions[one.fitted.position].push_back(one);
    of_several[passes_of(curves[one.curve], one.size) > 1].push_back(one);
    collectives[std::string(operation_name(curves[one.curve].key.problem))].push_back(one);
  }
  CaseFigures figures{.what = what,
                      .all = figures_of(left_out),
                      .positions = {},
                      .of_several = {},
                      .collectives = {}};
  for (const auto& [position, of_position] : positions)
    figures.positions.emplace(position, figures_of(of_position));
  for (const auto& [several, of_these] : of_several)
    figures.of_several.emplace(several, figures_of(of_these));
  for (const auto& [collective, of_collective] : collectives)
    figures.collectives.emplace(collective, figures_of(of_collective));
  return figures;
}

std::vector<std::string> cells(const std::string& name, const ErrorFigures& figures) {
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  const bool has_intervals = figures.with_interval > 0;
  return {name,
          std::to_string(figures.times),
          percent(figures.median),
          percent(figures.most),
          percent(figures.median_today),
          percent(figures.most_today),
          has_intervals ? percent(figures.covered) : "-",
          has_intervals ? fmt::format("{:.2f}", figures.width) : "-"};
}

std::string halves_text(const HalvesApart& apart) {
  if (apart.times == 0) return "All times are of one pass: how well they are known is not.\n";
  return fmt::format(
      "How well the times are known: {} of {} are of several passes; by one half of\nthese and by "
      "the other they differ by {:.1f} % in the median, {:.1f} % in 90 of 100.\n",
      apart.times, apart.all, 100 * apart.median, 100 * apart.most);
}

std::string case_text(const CaseFigures& figures) {
  using Align = TextTable::Align;
  TextTable table({{"times of"},
                   {"number", Align::right},
                   {"median", Align::right},
                   {"90 in 100", Align::right},
                   {"today", Align::right},
                   {"90 in 100", Align::right},
                   {"covered", Align::right},
                   {"width", Align::right}});
  table.add_row(cells("all", figures.all));
  for (const auto& [position, of_position] : figures.positions)
    table.add_row(cells(std::string(name_of_position(position)), of_position));
  for (const auto& [several, of_these] : figures.of_several)
    table.add_row(cells(several ? "several passes" : "one pass", of_these));
  for (const auto& [collective, of_collective] : figures.collectives)
    table.add_row(cells(collective, of_collective));
  return fmt::format("{} ({})\n{}", figures.what.title, model_name(figures.what.evidence),
                     table.text(0));
}

/// Who chooses.
struct Chooser {
  const char* title;
  const char* name;  ///< in JSON
  double HeldOutChoice::*time;
  double HeldOutChoice::*by_halves;
};
constexpr std::array choosers{
    Chooser{"the table's answer", "table", &HeldOutChoice::time_with_fits,
            &HeldOutChoice::by_halves_with_fits},
    Chooser{"  without its fits", "table_without_fits", &HeldOutChoice::time_by_table,
            &HeldOutChoice::by_halves_of_table},
    Chooser{"least fitted time", "fitted", &HeldOutChoice::time_by_fit,
            &HeldOutChoice::by_halves_of_fit},
    Chooser{"  beyond intervals", "fitted_beyond_intervals", &HeldOutChoice::time_by_clear_fit,
            &HeldOutChoice::by_halves_of_clear_fit},
    Chooser{"always the baseline", "baseline", &HeldOutChoice::time_of_baseline,
            &HeldOutChoice::by_halves_of_baseline},
    Chooser{"the decision itself", "decision", &HeldOutChoice::time_by_decision,
            &HeldOutChoice::by_halves_of_decision}};

std::string choices_text(const std::vector<HeldOutChoice>& choices) {
  using Align = TextTable::Align;
  TextTable table({{"choice of"},
                   {"within 10 % of the best", Align::right},
                   {"share", Align::right},
                   {"by halves", Align::right},
                   {"share", Align::right}});
  for (const Chooser& one : choosers) {
    const ChoiceShare share = share_within(choices, one.time);
    const ChoiceShare by_halves = share_by_halves(choices, one.by_halves);
    const auto cells_of = [](const ChoiceShare& of) {
      return std::pair(fmt::format("{} of {}", of.within, of.judged),
                       fmt::format("{:.1f} %", 100 * of.share()));
    };
    table.add_row({one.title, cells_of(share).first, cells_of(share).second,
                   cells_of(by_halves).first, cells_of(by_halves).second});
  }
  return "choice for a size left out for all variants of its problem; by halves: half\n"
         "of the passes choose the best, the other half times it and the choice\n" +
         table.text(0);
}

nlohmann::json to_json(const ErrorFigures& figures) {
  nlohmann::json json{
      {"times", figures.times},
      {"median_error", figures.median},
      {"percentile_90_error", figures.most},
      {"today",
       {{"median_error", figures.median_today}, {"percentile_90_error", figures.most_today}}},
      {"with_interval", figures.with_interval}};
  if (figures.with_interval > 0) {
    json["covered"] = figures.covered;
    json["median_width"] = figures.width;
  }
  return json;
}

nlohmann::json to_json(const CaseFigures& figures) {
  nlohmann::json json{{"left_out", figures.what.title},
                      {"model", model_name(figures.what.evidence)},
                      {"all", to_json(figures.all)}};
  for (const auto& [position, of_position] : figures.positions)
    json["positions"][std::string(name_of_position(position))] = to_json(of_position);
  for (const auto& [several, of_these] : figures.of_several)
    json["passes"][several ? "several" : "one"] = to_json(of_these);
  for (const auto& [collective, of_collective] : figures.collectives)
    json["collectives"][collective] = to_json(of_collective);
  return json;
}

nlohmann::json to_json(const std::vector<HeldOutChoice>& choices) {
  nlohmann::json json{{"keys", nlohmann::json::array()}};
  for (const Chooser& one : choosers) {
    const ChoiceShare share = share_within(choices, one.time);
    const ChoiceShare by_halves = share_by_halves(choices, one.by_halves);
    json[one.name] = {{"judged", share.judged},
                      {"within_ten_percent", share.within},
                      {"judged_by_halves", by_halves.judged},
                      {"within_ten_percent_by_halves", by_halves.within}};
  }
  for (const HeldOutChoice& choice : choices)
    json["keys"].push_back({{"key", to_json_value(choice.key)},
                            {"best", to_string(choice.best)},
                            {"best_ns", choice.best_time},
                            {"table", to_string(choice.with_fits)},
                            {"table_ns", choice.time_with_fits},
                            {"table_by_halves", choice.by_halves_with_fits},
                            {"table_without_fits", to_string(choice.by_table)},
                            {"table_without_fits_ns", choice.time_by_table},
                            {"fitted", to_string(choice.by_fit)},
                            {"fitted_ns", choice.time_by_fit}});
  return json;
}

}  // namespace

void run_report_model(const ReportOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  const ReportedSweep sweep =
      read_sweep(reader, find_sweep(reader, options.database, options.sweep));
  const std::vector<SweptCurve> curves = curves_of(sweep.measurements);
  const CurveSet set(to_variant_curves(curves));
  std::vector<CaseFigures> judged;
  for (const LeftOutCase& what : cases()) judged.push_back(judge(what, set, curves));
  const std::vector<HeldOutChoice> choices = held_out_choices(sweep, curves, set);
  if (judged.front().all.times == 0 && choices.empty())
    throw Error(StatusCode::not_found,
                options.database + ": no variant of sweep " + sweep.record.uuid +
                    " was measured at three sizes, so nothing can be left out; sweep more sizes");
  const HalvesApart apart = halves_apart(curves, sweep.measurements);
  if (options.json) {
    nlohmann::json json{{"sweep_uuid", sweep.record.uuid},
                        {"curves", curves.size()},
                        {"halves",
                         {{"times", apart.times},
                          {"all_times", apart.all},
                          {"median_difference", apart.median},
                          {"percentile_90_difference", apart.most}}},
                        {"cases", nlohmann::json::array()},
                        {"choices", to_json(choices)}};
    for (const CaseFigures& figures : judged) json["cases"].push_back(to_json(figures));
    out << json.dump(1) << '\n';
    return;
  }
  out << fmt::format(
      "Measured times of sweep {}, each predicted without it:\n{} variants and problems; those "
      "measured at three sizes or more. 'today' is the\ninterpolation that lookups use; 'width' "
      "is high / low of the 90 % interval.\n",
      short_form(sweep.record.uuid), curves.size());
  out << halves_text(apart);
  for (const CaseFigures& figures : judged) out << '\n' << case_text(figures);
  if (!choices.empty()) out << '\n' << choices_text(choices);
}

}  // namespace colltune
