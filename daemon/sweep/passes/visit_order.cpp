// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "visit_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "colltune/decide/contenders.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

// The first pass runs all variants to find those that may win. Which of them wins is decided by the
// further passes, which see many of the machine's states.
constexpr double first_part = 0.25;
// Of all passes that run all variants, where there are more.
constexpr double full_part = 0.5;
// The share of a further pass that may be spent on anything other than its rounds.
constexpr double most_overhead = 0.5;

// However unlike the cells' weights are, the least of them still get enough for a decision, and the
// heaviest no more than it can use.
constexpr double least_favour = 0.25;
constexpr double most_favour = 4;

/// What a visit may cost relative to other visits of its pass: a fixed part for each variant, and a
/// part that grows with the message and with the runs by which a variant takes the buffers over.
double cost_of(const Cell& cell, std::size_t variants, InputMode mode) {
  constexpr double fixed_ns = 4e6;      // a few thousand small calls
  constexpr double ns_per_byte = 10.0;  // of a visit: a dozen rounds at about 1 GB/s
  constexpr double call_ns_per_byte = 0.5;
  const auto bytes = static_cast<double>(cell.key.problem.message_size.value);
  const int takeover =
      takeover_runs(cell.key, mode, nanoseconds(std::llround(bytes * call_ns_per_byte)));
  return static_cast<double>(variants) * (fixed_ns + ns_per_byte * bytes * (1 + takeover / 2.0));
}

/// The most contenders that a cell can have after one pass; known before anything is measured.
std::size_t most_contenders_of(const Cell& cell) {
  std::size_t contenders = 0;
  std::map<std::string_view, std::size_t> rivals;
  for (const PlannedVariant& variant : cell.variants)
    if (variant.is_baseline || variant.is_twin || ++rivals[variant.family] <= most_contenders(1))
      ++contenders;
  return contenders;
}

/// By how much each cell's weight raises or lowers its visits' allotments of the budget; 1 where
/// all weights are alike.
std::vector<double> favours_of(const SweepPlan& plan) {
  double sum = 0;
  for (const Cell& cell : plan.cells) sum += cell.weight;
  const double mean = sum / static_cast<double>(plan.cells.size());
  std::vector<double> favours;
  for (const Cell& cell : plan.cells)
    favours.push_back(std::clamp(cell.weight / mean, least_favour, most_favour));
  return favours;
}

nanoseconds fraction_of(nanoseconds time, double fraction) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * fraction));
}

}  // namespace

VisitOrder::VisitOrder(const SweepPlan& plan, std::span<const Measurement> stored)
    : plan_(plan),
      favours_(favours_of(plan)),
      of_cell_(plan.cells.size()),
      passes_(plan.passes),
      full_passes_(plan.full_passes) {
  std::map<TuningKey, std::size_t> cells;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) cells.emplace(plan.cells[i].key, i);
  for (const Measurement& measurement : stored) {
    if (const auto cell = cells.find(measurement.key); cell != cells.end()) {
      of_cell_[cell->second].push_back(measurements_.size());
      if (done_.emplace(measurement.pass, cell->second).second) ++visits_done_;
    }
    measurements_.push_back(measurement);
  }
  begin_pass(0);
}

std::vector<Measurement> VisitOrder::measured(std::size_t cell) const {
  std::set<TrialName> planned;
  for (const PlannedVariant& variant : plan_.cells[cell].variants)
    planned.insert({.variant = variant.variant, .is_twin = variant.is_twin});
  std::vector<Measurement> found;
  for (const std::size_t i : of_cell_[cell])
    if (planned.contains(name_of_trial(measurements_[i]))) found.push_back(measurements_[i]);
  return found;
}

std::vector<std::size_t> VisitOrder::runners(std::size_t cell) const {
  const auto names =
      pass_ < full_passes_ ? sound_of(measured(cell)) : contenders_of(measured(cell));
  const auto& variants = plan_.cells[cell].variants;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < variants.size(); ++i)
    if (names.contains({.variant = variants[i].variant, .is_twin = variants[i].is_twin}))
      found.push_back(i);
  return found;
}

void VisitOrder::begin_pass(int pass) {
  pass_ = pass;
  to_do_.clear();
  cost_of_pass_ = 0;
  claims_of_pass_ = 0;
  for (std::size_t i = 0; i < plan_.cells.size(); ++i) {
    const Cell& cell = plan_.cells[i];
    if (done_.contains({pass, i}) || (pass > 0 && cell.is_holdout)) continue;
    Planned visit{.cell = i, .variants = {}};
    if (pass > 0) {
      visit.variants = runners(i);
      if (visit.variants.empty()) continue;  // no variant of the cell works any more
    }
    visit.cost =
        cost_of(cell, pass == 0 ? cell.variants.size() : visit.variants.size(), plan_.input_mode);
    visit.claim = visit.cost * favours_[i];
    cost_of_pass_ += visit.cost;
    claims_of_pass_ += visit.claim;
    to_do_.push_back(std::move(visit));
  }
  claims_left_ = claims_of_pass_;
}

double VisitOrder::part_of_full_pass() const {
  return full_passes_ == 1 ? first_part : full_part / full_passes_;
}

double VisitOrder::part_of(int pass) const {
  const int full = full_passes_;
  if (passes_ <= full) return 1.0 / passes_;
  const double of_full = part_of_full_pass();
  return pass < full ? of_full : (1 - full * of_full) / (passes_ - full);
}

double VisitOrder::cost_rate() const {
  const Spent& known = spent_later_.cost > 0 ? spent_later_ : spent_first_;
  return known.cost > 0 ? static_cast<double>(known.fixed_cost.count()) / known.cost : 0;
}

int VisitOrder::worthwhile_passes(nanoseconds left, double cost) const {
  if (left.count() <= 0) return 0;
  const double worthwhile = std::floor(static_cast<double>(left.count()) * most_overhead /
                                       std::max(1.0, cost_rate() * cost));
  return static_cast<int>(std::clamp(worthwhile, 0.0, double(plan_.passes)));
}

void VisitOrder::fit_passes(nanoseconds left) {
  if (pass_ > 0 || spent_first_.cost == 0) return;
  // Who takes part in further passes is not known before this one ends, so the most possible are
  // assumed.
  double cost = 0;
  for (const Cell& cell : plan_.cells)
    if (!cell.is_holdout) cost += cost_of(cell, most_contenders_of(cell), plan_.input_mode);
  const double first = part_of_full_pass();
  const double of_first = claims_of_pass_ > 0 ? first * claims_left_ / claims_of_pass_ : 0;
  const double for_further = (1 - first) / (of_first + 1 - first);
  passes_ = std::min(plan_.passes, 1 + worthwhile_passes(fraction_of(left, for_further), cost));
}

void VisitOrder::begin_next_pass(std::optional<nanoseconds> left) {
  begin_pass(pass_ + 1);
  // The cost of a pass is known better now than when the first pass began.
  if (!left || cost_of_pass_ == 0 || cost_rate() == 0) return;
  const auto fit = [&] {
    passes_ = std::min(plan_.passes, pass_ + worthwhile_passes(*left, cost_of_pass_));
    return passes_ > pass_;
  };
  if (!fit() && pass_ < full_passes_) {
    full_passes_ = pass_;  // contenders alone may still fit
    begin_pass(pass_);
    fit();
  }
  if (passes_ == pass_) to_do_.clear();
}

double VisitOrder::parts_left() const {
  double parts = claims_of_pass_ > 0 ? part_of(pass_) * claims_left_ / claims_of_pass_ : 0;
  for (int pass = pass_ + 1; pass < passes_; ++pass) parts += part_of(pass);
  return parts;
}

std::optional<Visit> VisitOrder::next(std::optional<nanoseconds> left) {
  if (left) fit_passes(*left);
  while (to_do_.empty() && pass_ + 1 < passes_) begin_next_pass(left);
  if (to_do_.empty()) return {};
  if (left) {
    if (left->count() <= 0) return {};
    const auto fits = std::ranges::find_if(to_do_, [&](const Planned& visit) {
      return visit.cost * cost_rate() <= static_cast<double>(left->count());
    });
    if (fits == to_do_.end()) return {};
    std::rotate(to_do_.begin(), fits, fits + 1);
  }
  const Planned& planned = to_do_.front();
  Visit visit{.cell = planned.cell, .pass = pass_, .variants = planned.variants};
  if (left) {
    const double part = part_of(pass_) * planned.claim / claims_of_pass_;
    visit.allotment = std::max(nanoseconds(1), fraction_of(*left, part / parts_left()));
  }
  return visit;
}

void VisitOrder::keep(const Visit& visit, std::span<const Measurement> measured,
                      nanoseconds fixed_cost) {
  const double cost = to_do_.front().cost;
  const double claim = to_do_.front().claim;
  to_do_.pop_front();
  ++visits_done_;
  Spent& spent = pass_ == 0 ? spent_first_ : spent_later_;
  spent.fixed_cost += fixed_cost;
  spent.cost += cost;
  claims_left_ -= claim;
  parts_done_ += part_of(pass_) * claim / claims_of_pass_;
  for (const Measurement& measurement : measured) {
    of_cell_[visit.cell].push_back(measurements_.size());
    measurements_.push_back(measurement);
  }
}

std::size_t VisitOrder::visits_left() const {
  const auto in_later_passes = [&](int pass) {
    std::size_t visits = 0;
    for (std::size_t i = 0; i < plan_.cells.size(); ++i)
      visits += plan_.cells[i].is_holdout || done_.contains({pass, i}) ? 0 : 1;
    return visits;
  };
  std::size_t visits = to_do_.size();
  for (int pass = pass_ + 1; pass < passes_; ++pass) visits += in_later_passes(pass);
  return visits;
}

double VisitOrder::left_over_done() const {
  return parts_done_ > 0 ? std::max(0.0, parts_left()) / parts_done_ : 0;
}

}  // namespace colltune
