// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Averages of floating-point numbers as sums of shares. An operator made for the communicator
// (ncclRedOpCreatePreMulSum) multiplies each input by 1/n, in its own type, before the addition. No
// partial sum overflows the type; each input is rounded once more than in a sum.

#include "nccl_calls/entry_points.h"
#include "nccl_calls/native.h"
#include "nccl_calls/own_choice.h"

namespace colltune::nccl {
namespace {

std::vector<std::vector<Parameter>> list_premultiplied(const Problem&, const Topology&,
                                                       const Capability&) {
  return {{}};
}

std::string why_not_here(const Problem& problem, const Topology& topology, const Capability&,
                         const std::vector<Parameter>& parameters) {
  if (!parameters.empty()) return "it has no parameters";
  if (const std::string_view why = why_not_premultiplied(problem); !why.empty())
    return std::string(why);
  if (topology.ranks < 2) return "a single rank copies";
  return {};
}

}  // namespace

Implementations make_premultiplied(const std::shared_ptr<const Runtime>& runtime) {
  return make_own_choice(
      {.suffix = "_premultiplied",
       .description = "NCCL's own choice for an average as the sum of each rank's n-th part",
       .collectives = {Collective::all_reduce, Collective::reduce, Collective::reduce_scatter},
       .list = &list_premultiplied,
       .why_not = &why_not_here,
       .settings =
           [](Collective, const std::vector<Parameter>&) {
             return CallSettings{.is_premultiplied = true};
           }},
      runtime);
}

Implementations make_premultiplied() {
  return make_premultiplied(std::make_shared<const Runtime>(&find_places));
}

}  // namespace colltune::nccl
