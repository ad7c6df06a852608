// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's own choice for every collective: what GPU users have without colltune, and the baseline of
// family "nccl". all_to_all, gather and scatter exist from NCCL 2.28 on.

#include "nccl_calls/entry_points.h"
#include "nccl_calls/native.h"
#include "nccl_calls/own_choice.h"

namespace colltune::nccl {
namespace {

std::vector<std::vector<Parameter>> list_library_choice(const Problem&, const Topology&,
                                                        const Capability&) {
  return {{}};
}

std::string why_not_library_choice(const Problem&, const Topology&, const Capability&,
                                   const std::vector<Parameter>& parameters) {
  return parameters.empty() ? "" : "it has no parameters";
}

}  // namespace

Implementations make_library_choice(const std::shared_ptr<const Runtime>& runtime) {
  return make_own_choice(
      {.suffix = "",
       .description = "NCCL's own choice of algorithm, protocol and channels: the baseline on GPUs",
       .is_baseline = true,
       .collectives = all_collectives(),
       .list = &list_library_choice,
       .why_not = &why_not_library_choice,
       .settings = [](Collective, const std::vector<Parameter>&) { return CallSettings{}; }},
      runtime);
}

Implementations make_library_choice() {
  return make_library_choice(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
