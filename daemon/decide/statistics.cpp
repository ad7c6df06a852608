// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace colltune {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  return copy;
}

/// The k-th smallest value exceeds the median with the probability P(Binomial(n, 1/2) < k). Both
/// functions return k - 1 for the largest k for which that is at most `risk`: the number of values
/// outside the bound.
std::optional<std::size_t> exact_left_out(std::size_t n, double risk) {
  double term = std::exp2(-static_cast<double>(n));  // P(Binomial = 0)
  double below = 0;
  for (std::size_t k = 0; k <= n; ++k) {
    below += term;
    if (below > risk) return k == 0 ? std::nullopt : std::optional(k - 1);
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return std::nullopt;
}

/// z with P(Normal > z) = risk, by bisection.
double normal_quantile(double risk) {
  double low = 0;
  double high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > risk ? low : high) = middle;
  }
  return high;
}

std::optional<std::size_t> left_out_on_one_side(std::size_t n, double risk) {
  constexpr std::size_t most_exact = 500;  // beyond this the normal distribution is as good
  if (n <= most_exact) return exact_left_out(n, risk);
  const double size = static_cast<double>(n);
  const double k = (size - normal_quantile(risk) * std::sqrt(size)) / 2;
  return k < 1 ? std::nullopt : std::optional(static_cast<std::size_t>(k) - 1);
}

/// Weighted values in ascending order.
class WeightedOrder {
 public:
  explicit WeightedOrder(std::vector<WeightedValue> values) : values_(std::move(values)) {
    std::ranges::sort(values_, {}, &WeightedValue::value);
    double squares = 0;
    for (const WeightedValue& one : values_) {
      weight_ += one.weight;
      squares += one.weight * one.weight;
    }
    worth_ = weight_ * weight_ / squares;
  }

  /// How many equal values these are worth; a rounding error must not cost one of them.
  [[nodiscard]] std::size_t worth() const {
    return static_cast<std::size_t>(worth_ * (1 + rounding));
  }
  /// The first value, counted from the smallest or from the largest, that has the weight of
  /// `outside` equal values outside of it and is not one of these values itself.
  [[nodiscard]] double after(std::size_t outside, bool from_largest) const {
    const double weight_outside = static_cast<double>(outside) * weight_ / worth_;
    double sum = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const WeightedValue& one = values_[from_largest ? values_.size() - 1 - i : i];
      sum += one.weight;
      if (sum > weight_outside * (1 + rounding)) return one.value;
    }
    return (from_largest ? values_.front() : values_.back()).value;
  }
  [[nodiscard]] double median() const {
    const double half = weight_ / 2;
    double sum = 0;
    for (std::size_t i = 0; i + 1 < values_.size(); ++i) {
      sum += values_[i].weight;
      if (std::abs(sum - half) <= rounding * half)
        return (values_[i].value + values_[i + 1].value) / 2;
      if (sum > half) return values_[i].value;
    }
    return values_.back().value;
  }

 private:
  static constexpr double rounding = 1e-9;
  std::vector<WeightedValue> values_;
  double weight_ = 0;
  double worth_ = 0;
};

}  // namespace

double median_of(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::ranges::nth_element(copy, middle);
  if (copy.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(copy.begin(), middle)) / 2;
}

double trimmed_mean(std::vector<double> values, double trimmed) {
  std::ranges::sort(values);
  const auto left_out = static_cast<std::size_t>(trimmed * static_cast<double>(values.size()));
  const auto kept = std::span(values).subspan(left_out, values.size() - 2 * left_out);
  return std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

double weighted_median(std::vector<WeightedValue> values) {
  return WeightedOrder(std::move(values)).median();
}

std::optional<std::size_t> samples_outside_interval(std::size_t n, double confidence) {
  return left_out_on_one_side(n, (1 - confidence) / 2);
}

MedianInterval median_interval(std::span<const double> values, double confidence) {
  const std::vector<double> order = sorted(values);
  const std::size_t outside = samples_outside_interval(order.size(), confidence).value_or(0);
  const std::size_t middle = order.size() / 2;
  const double median =
      order.size() % 2 == 1 ? order[middle] : (order[middle - 1] + order[middle]) / 2;
  return {.median = median, .low = order[outside], .high = order[order.size() - 1 - outside]};
}

MedianInterval median_interval(std::vector<WeightedValue> values, double confidence) {
  const WeightedOrder order(std::move(values));
  const std::size_t outside = samples_outside_interval(order.worth(), confidence).value_or(0);
  return {.median = order.median(),
          .low = order.after(outside, false),
          .high = order.after(outside, true)};
}

MedianBounds median_bounds(std::vector<WeightedValue> values, double confidence) {
  const WeightedOrder order(std::move(values));
  const auto outside = left_out_on_one_side(order.worth(), 1 - confidence);
  if (!outside) return {};
  return {.low = order.after(*outside, false), .high = order.after(*outside, true)};
}

std::optional<double> median_lower_bound(std::span<const double> values, double confidence) {
  const auto outside = left_out_on_one_side(values.size(), 1 - confidence);
  if (!outside) return std::nullopt;
  return sorted(values)[*outside];
}

std::optional<double> median_upper_bound(std::span<const double> values, double confidence) {
  const auto outside = left_out_on_one_side(values.size(), 1 - confidence);
  if (!outside) return std::nullopt;
  return sorted(values)[values.size() - 1 - *outside];
}

double rate_upper_bound(std::size_t events, std::size_t trials, double confidence) {
  if (events >= trials) return 1;
  const auto chance_of_so_few = [&](double rate) {
    double sum = 0;
    for (std::size_t k = 0; k <= events; ++k) {
      const double log_ways = std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) -
                              std::lgamma(static_cast<double>(trials - k) + 1);
      sum += std::exp(log_ways + static_cast<double>(k) * std::log(rate) +
                      static_cast<double>(trials - k) * std::log1p(-rate));
    }
    return sum;
  };
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (chance_of_so_few(middle) > 1 - confidence ? low : high) = middle;
  }
  return high;
}

}  // namespace colltune
