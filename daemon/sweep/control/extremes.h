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

/// A number that each rank may have, and of which all ranks learn one extreme. None has it: empty.
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
  // Of the numbers that ranks share by MAX, the one that any other beats.
  static constexpr std::int64_t nobody = std::numeric_limits<std::int64_t>::min();
  int sign_;
  std::int64_t word_ = nobody;
};

/// The highest of the ranks' numbers counts.
class Highest final : public Extreme {
 public:
  Highest() : Extreme(1) {}
  using Extreme::operator=;
};

/// The lowest of the ranks' numbers counts.
class Lowest final : public Extreme {
 public:
  Lowest() : Extreme(-1) {}
  using Extreme::operator=;
};

/// One exchange of extremes: what was added on this rank meets what was added at the same place on
/// the others. Used once. What is added outlives it and stays where it is.
class ExtremesExchange {
 public:
  void add(Extreme& one) { extremes_.push_back(&one); }
  /// A struct that hands each of its extremes to `add` in `each_extreme`, in the same order on all
  /// ranks.
  template <class Described>
    requires requires(Described& one, void (*visit)(Extreme&)) { one.each_extreme(visit); }
  void add(Described& described) {
    described.each_extreme([this](Extreme& one) { add(one); });
  }
  /// Each of the numbers becomes the highest of all ranks.
  void add_highest(std::span<std::int64_t> numbers) { numbers_.push_back(numbers); }

  /// Collective: all ranks have added as many of each.
  void exchange(ControlPlane& control);

 private:
  std::vector<Extreme*> extremes_;
  std::vector<std::span<std::int64_t>> numbers_;
};

}  // namespace colltune
