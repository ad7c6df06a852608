// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's own choice for every collective: what GPU users have without colltune, and the baseline of
// family "nccl". all_to_all, gather and scatter exist from NCCL 2.28 on.

#include <cmath>

#include "nccl/entry_points.h"
#include "nccl/member.h"
#include "nccl/native.h"

namespace colltune::nccl {
namespace {

class LibraryChoice final : public Implementation {
 public:
  LibraryChoice(Collective collective, std::shared_ptr<const Runtime> runtime)
      : collective_(collective),
        name_("nccl." + std::string(name_of(collective))),
        runtime_(std::move(runtime)) {}

  std::string_view name() const override { return name_; }
  std::string_view description() const override {
    return "NCCL's own choice of algorithm, protocol and channels: the baseline on GPUs";
  }
  Collective collective() const override { return collective_; }
  std::string_view family() const override { return family_name; }
  bool runs_on_device() const override { return true; }
  bool is_baseline() const override { return true; }

  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return {{name_, {}}};
  }
  Support supports(const Problem& problem, const Topology& topology, const Capability& capability,
                   const Variant& variant) const override {
    if (!variant.parameters.empty()) return Support::no("it has no parameters");
    return supports_native_call(problem, topology, capability, collective_);
  }
  Limits limits(const Variant&) const override { return {}; }
  bool meets_other_builds() const override { return true; }
  std::string protocol(const Problem&, const Variant&) const override { return "nccl;" + name_; }
  /// log2 n steps are the least that reach all ranks.
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    return cost_of_native_call(problem, topology.ranks, std::ceil(std::log2(topology.ranks)));
  }
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return numerics_of_native_call(problem);
  }
  void detect(Communicator& communicator, Capability& capability) const override {
    detect_nccl(*runtime_, communicator, capability);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call, const Variant&,
                                     Deadline deadline) const override {
    auto member = Member::of(communicator, runtime_->open(), deadline);
    return std::make_unique<LibraryCall>(std::move(member), native_call(communicator, call),
                                         std::nullopt);
  }

 private:
  Collective collective_;
  std::string name_;
  std::shared_ptr<const Runtime> runtime_;
};

}  // namespace

Implementations make_library_choice(const std::shared_ptr<const Runtime>& runtime) {
  Implementations made;
  for (const auto& named : enum_names(Collective{}))
    made.push_back(std::make_unique<LibraryChoice>(named.value, runtime));
  return made;
}

Implementations make_library_choice() {
  return make_library_choice(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
