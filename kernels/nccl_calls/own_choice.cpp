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
      : form_(std::move(form)),
        collective_(collective),
        name_("nccl." + std::string(name_of(collective)) + std::string(form_.suffix)),
        runtime_(std::move(runtime)) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override { return form_.description; }
  Collective collective() const override { return collective_; }
  std::string_view family() const override { return family_name; }
  bool runs_on_device() const override { return true; }
  bool is_baseline() const override { return form_.is_baseline; }

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    std::vector<Variant> all;
    for (auto& parameters : form_.list(problem, topology, capability))
      all.push_back({name_, std::move(parameters)});
    return all;
  }
  Support supports(const Problem& problem, const Topology& topology, const Capability& capability,
                   const Variant& variant) const override {
    if (Support basic = supports_native_call(problem, topology, capability, collective_); !basic)
      return basic;
    if (std::string why = form_.why_not(problem, topology, capability, variant.parameters);
        !why.empty())
      return Support::no(std::move(why));
    return Support::yes();
  }
  Limits limits(const Variant&) const override { return {}; }
  bool meets_other_builds() const override { return true; }
  std::string protocol(const Problem&, const Variant& variant) const override {
    return "nccl;" + to_string(variant);
  }
  /// No algorithm reaches all ranks in fewer than log2 n steps.
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    return cost_of_native_call(problem, topology.ranks, std::ceil(std::log2(topology.ranks)));
  }
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return numerics_of_native_call(problem);
  }
  std::string why_not_bound(const Problem& problem, const Variant&) const override {
    return why_not_bound_native(problem);
  }
  void detect(Communicator& communicator, Capability& capability) const override {
    detect_nccl(*runtime_, communicator, capability);
  }
  BufferSource* buffer_source() const override { return form_.windows.get(); }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    const CallSettings settings = form_.settings(variant.parameters);
    auto member = NcclRank::of(communicator, runtime_->open(), settings.communicator, deadline);
    NativeCall native = native_call(communicator, call);
    native.is_premultiplied = settings.is_premultiplied;
    Windows windows;
    if (form_.windows)
      windows = open_windows(communicator, member, *form_.windows, call.buffers, deadline);
    if (!windows.empty() && shape_of(collective_).has_root) {
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
          made = std::make_unique<LibraryCall>(member, native, std::nullopt, std::move(windows));
        },
        deadline + vote_time);
    if (call.problem.graph_capture) capture_together(communicator, member, *made, deadline);
    return made;
  }

 private:
  OwnChoice form_;
  Collective collective_;
  std::string name_;
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
