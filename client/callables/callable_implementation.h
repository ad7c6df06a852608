// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "callable_plugin.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// What a rank's own checks refuse: by implementation, then by question (problem and parameters),
/// the reason.
using Refusals = std::map<std::string, std::map<std::string, std::string>>;

/// An implementation of the program's, over the plug-in's adapter: in a family of its own, and
/// available where a rank registered it and its check, asked beforehand on that rank, agrees. It
/// runs on all ranks of the sweep only, since the function may use a communicator of its own.
class CallableImplementation final : public Implementation {
 public:
  struct Facts {
    std::string entry_name;  ///< as described
    std::string family;
    int ranks = 1;  ///< of the sweep
    /// Which of the two it is made for: null, to be planned and measured with `refused`; or to ask
    /// this rank's check and note there what it refuses.
    Refusals* asks_into = nullptr;
    Refusals refused{};
  };
  CallableImplementation(std::unique_ptr<const Implementation> adapter,
                         const CallablePlugin& plugin, Facts facts);

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    return adapter_->variants(problem, topology, capability);
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override;
  Limits limits(const Variant& variant) const override { return adapter_->limits(variant); }
  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return adapter_->protocol(problem, variant);
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    return adapter_->cost(problem, topology, variant);
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return adapter_->numerics(problem, variant);
  }
  CallTraits traits(const Problem& problem, const Topology& topology,
                    const Variant& variant) const override {
    return adapter_->traits(problem, topology, variant);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    return adapter_->prepare(communicator, call, variant, deadline);
  }
  /// Adds what the adapter adds, and the refusals, where this rank registered it.
  void detect(Communicator& communicator, Capability& capability) const override;

 private:
  void ask(const Problem& problem, const Topology& topology, const Variant& variant) const;

  std::unique_ptr<const Implementation> adapter_;
  const CallablePlugin& plugin_;
  Facts facts_of_callable_;
};

}  // namespace colltune
