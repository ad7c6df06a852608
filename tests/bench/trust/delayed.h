// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "colltune/kernels/implementation.h"

namespace colltune::trust {

/// How many times as long a call of the `number`-th operation that this process prepares of an
/// implementation (from 1) is made to take.
using Factor = std::function<double(int number)>;

/// What a delayed implementation is called and what it stands for.
struct Disguise {
  std::string name;
  bool is_baseline = false;
  Factor factor;
};

/// `inner` with another name, each call of which takes longer: after the call it spins until the
/// time since its start, times the factor, is over. Factor 1 reads the clock as often as any other,
/// so that two disguises of the same implementation differ by their factors alone.
[[nodiscard]] std::unique_ptr<const Implementation> make_delayed(
    std::shared_ptr<const Implementation> inner, Disguise disguise);

}  // namespace colltune::trust
