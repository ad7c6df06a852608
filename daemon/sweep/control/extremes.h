// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// A number that each rank may or may not have; all ranks learn one extreme of the numbers. Empty
/// if no rank has one.
class Extreme {
 public:
  [[nodiscard]] std::optional<std::int64_t> value() const {
    if (word_ == nobody) return std::nullopt;
    return sign_ * word_;
  }
  [[nodiscard]] std::int64_t value_or(std::int64_t otherwise) const {
    return value().value_or(otherwise);
  }
  Extreme& operator=(std::int64_t value) {
    word_ = sign_ * value;
    return *this;
  }

 protected:
  explicit Extreme(int sign) : sign_(sign) {}

 private:
  friend class ExtremesExchange;
  // A MAX reduction prefers any other number to this one, so it stands for "none".
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::min();
  int sign_;
  std::int64_t word_ = nobody;
};

/// All ranks learn the highest of their numbers.
class Highest final : public Extreme {
 public:
  Highest() : Extreme(1) {}
  using Extreme::operator=;
};

/// All ranks learn the lowest of their numbers.
class Lowest final : public Extreme {
 public:
  Lowest() : Extreme(-1) {}
  using Extreme::operator=;
};

/// One exchange of extremes. What this rank adds is combined with what the other ranks add at the
/// same position. Used once. What is added must outlive the exchange and must not move.
class ExtremesExchange {
 public:
  void add(Extreme& one) { extremes_.push_back(&one); }
  /// Adds each extreme of a struct that passes them to `add` in `each_extreme`; the order must be
  /// the same on all ranks.
  template <class Described>
    requires requires(Described& one, void (*visit)(Extreme&)) { one.each_extreme(visit); }
  void add(Described& described) {
    described.each_extreme([this](Extreme& one) { add(one); });
  }
  /// Each of the numbers becomes the highest of all ranks.
  void add_highest(std::span<std::int64_t> numbers) { numbers_.push_back(numbers); }

  /// Collective: every rank must have added the same number of each.
  void exchange(ControlPlane& control);

 private:
  std::vector<Extreme*> extremes_;
  std::vector<std::span<std::int64_t>> numbers_;
};

}  // namespace colltune
