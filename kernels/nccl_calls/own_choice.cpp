// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "own_choice.h"

#include <cmath>
#include <optional>
#include <utility>

#include "agreement.h"
#include "library_call.h"
#include "native.h"

namespace colltune::nccl {
namespace {

class OwnChoiceEntry final : public Implementation {
 public:
  OwnChoiceEntry(OwnChoice form, Collective collective, std::shared_ptr<const Runtime> runtime)
      : Implementation(
            {.name = "nccl." + std::string(name_of(collective)) + std::string(form.suffix),
             .description = std::string(form.description),
             .collective = collective,
             .family = std::string(family_name),
             .runs_on_device = true,
             .is_baseline = form.is_baseline,
             .meets_other_builds = true,
             .buffer_source = form.windows.get()}),
        form_(std::move(form)),
        runtime_(std::move(runtime)) {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    std::vector<Variant> all;
    for (auto& parameters : form_.list(problem, topology, capability))
      all.push_back({name(), std::move(parameters)});
    return all;
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    if (Support basic = supports_native_call(problem, topology, capability, collective()); !basic)
      return basic;
    if (std::string why = form_.why_not(problem, topology, capability, variant.parameters);
        !why.empty())
      return Support::no(std::move(why));
    return Support::yes();
  }
  Limits limits(const Variant&) const override { return {}; }
  std::string protocol(const Problem&, const Variant& variant) const override {
    return "nccl;" + to_string(variant);
  }
  /// No algorithm of its own reaches all ranks in fewer than log2 n steps. Where it may reduce in
  /// the switch, the bytes are those of that, which is what it does with long messages.
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const double steps = std::ceil(std::log2(topology.ranks));
    return is_reduced_in_switch(problem, topology)
               ? cost_in_switch(problem, topology.ranks, steps)
               : cost_of_native_call(problem, topology.ranks, steps);
  }
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return numerics_of_native_call(problem);
  }
  CallTraits traits(const Problem& problem, const Topology&, const Variant&) const override {
    return traits_of_native_call(problem);
  }
  void detect(Communicator& communicator, Capability& capability) const override {
    detect_nccl(*runtime_, communicator, capability);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    const CallSettings settings = form_.settings(collective(), variant.parameters);
    auto member = NcclRank::of(communicator, runtime_->open(), settings.communicator, deadline);
    NativeCall native = NativeCall::of(call, communicator.size());
    native.is_premultiplied = settings.is_premultiplied;
    native.selection = settings.selection;
    Windows windows;
    if (form_.windows)
      windows = open_windows(communicator, member, *form_.windows, call.buffers, deadline);
    if (!windows.empty() && shape_of(collective()).has_root) {
      native.send = place_in_window(communicator, *windows.front(), call.buffers.send, deadline);
      native.receive =
          place_in_window(communicator, *windows.front(), call.buffers.receive, deadline);
    }
    // Buffers in windows are registered by the windows.
    native.registers = native.registers && !form_.windows;
    std::unique_ptr<LibraryCall> made;
    act_together(
        communicator, "could not prepare a call of NCCL's",
        [&] {
          made =
              std::make_unique<LibraryCall>(member, native, std::nullopt, std::move(windows), call);
        },
        deadline + vote_time);
    if (call.problem.graph_capture) capture_together(communicator, member, *made, deadline);
    return made;
  }

 private:
  OwnChoice form_;
  std::shared_ptr<const Runtime> runtime_;
};

}  // namespace

Implementations make_own_choice(const OwnChoice& form,
                                const std::shared_ptr<const Runtime>& runtime) {
  Implementations made;
  for (const Collective collective : form.collectives)
    made.push_back(std::make_unique<OwnChoiceEntry>(form, collective, runtime));
  return made;
}

}  // namespace colltune::nccl
