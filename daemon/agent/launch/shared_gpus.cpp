// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_gpus.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "agreement.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

void refuse_pretended_hosts(const SweepPlan& plan) {
  for (const PlannedWorld& world : plan.worlds)
    if (world.topology.ranks > 1 && world.topology.placement != Placement::shared_device)
      throw Error(
          StatusCode::failed_precondition,
          fmt::format("--share-gpus: the {} ranks of a world share no GPU; leave the option "
                      "out, or start more ranks than there are GPUs",
                      world.topology.ranks));
}

void refuse_alike_hosts(ControlPlane& control) {
  const char* const own = std::getenv("NCCL_HOSTID");
  const std::string host = own == nullptr ? "" : own;
  const std::vector<Payload> hosts = control.gather(Payload(host.begin(), host.end()));
  run_on_rank_zero(control, [&] {
    std::map<Payload, std::size_t> first_with;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank)
      if (const auto [first, is_new] = first_with.emplace(hosts[rank], rank); !is_new)
        throw Error(
            StatusCode::failed_precondition,
            fmt::format(
                "--share-gpus: ranks {} and {} have the same NCCL_HOSTID '{}': leave it out "
                "of the environment, or give each rank another one",
                first->second, rank, std::string(hosts[rank].begin(), hosts[rank].end())));
  });
}

}  // namespace colltune
