// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/implementation.h"

namespace colltune::test {

/// What a test calls by itself, and no planner asks: it says what every implementation must, and a
/// test adds how it is prepared and what else matters there.
class StubImplementation : public Implementation {
 public:
  explicit StubImplementation(Collective collective, std::string name = "test.stub",
                              bool runs_on_device = false)
      : Implementation({.name = std::move(name),
                        .description = "made by a test",
                        .collective = collective,
                        .family = "test",
                        .runs_on_device = runs_on_device}) {}
  [[nodiscard]] std::vector<Variant> variants(const Problem&, const Topology&,
                                              const Capability&) const override {
    return {};
  }
  [[nodiscard]] Support can_run(const Problem&, const Topology&, const Capability&,
                                const Variant&) const override {
    return Support::yes();
  }
  [[nodiscard]] Limits limits(const Variant&) const override { return {}; }
  [[nodiscard]] std::string protocol(const Problem&, const Variant&) const override {
    return "made by a test";
  }
  [[nodiscard]] Cost cost(const Problem&, const Topology&, const Variant&) const override {
    return {};
  }
  [[nodiscard]] Numerics numerics(const Problem&, const Variant&) const override { return {}; }
};

}  // namespace colltune::test
