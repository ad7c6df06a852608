// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Open MPI's component coll/han, which composes a collective of one inside each host and one
// between the hosts (Luo et al., HAN: a Hierarchical AutotuNed Collective Communication Framework,
// 2020). In 4.1 its priority is 0, below coll/tuned's, so that no call runs it unless a user asks
// for it. The info key ompi_comm_coll_preference puts it before the others on one communicator.
// Everything else that it can be told (segment sizes, the components inside) is read once per
// process, and stays as the user has it.

#include <algorithm>
#include <array>
#include <cmath>

#include "colltune/kernels/implementation.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "mpi_library/control_variable.h"
#include "mpi_library/mpi_call.h"

namespace colltune::mpi {
namespace {

constexpr const char* component = "han";
/// Why this launch cannot force it; empty if it can.
constexpr std::string_view han_feature = "mpi.han";

/// Those that it has algorithms for, besides the barrier.
constexpr std::array<Collective, 6> collectives{Collective::all_reduce, Collective::all_gather,
                                                Collective::broadcast,  Collective::reduce,
                                                Collective::gather,     Collective::scatter};

constexpr std::string_view one_host = "coll/han does not serve ranks that all are on one host";

/// Needs a session.
std::string why_not_forced(const Communicator& launch, const ControlVariable& priority) {
  if (const auto tuned = ControlVariable::find("coll_tuned_priority");
      tuned && priority.read() >= tuned->read())
    return "the library runs it by itself here (coll_han_priority=" +
           std::to_string(priority.read()) + "): the baseline is it";
  if (priority.read() < 0) return "it is switched off here (coll_han_priority)";
  if (const auto rules = ControlVariable::find("coll_han_use_dynamic_file_rules");
      rules && rules->read() != 0)
    return "the user's file of rules for it is in force (coll_han_use_dynamic_file_rules)";
  // Nodes may be pretended; the component looks at hosts.
  if (!spans_hosts(launch)) return std::string(one_host);
  return {};
}

class OpenMpiHan final : public Implementation {
 public:
  explicit OpenMpiHan(Collective collective)
      : Implementation({.name = "mpi." + std::string(name_of(collective)) + "_han",
                        .description =
                            "Open MPI's coll/han, forced (info key ompi_comm_coll_preference): "
                            "several hosts",
                        .collective = collective,
                        .family = "mpi",
                        .meets_other_builds = true}) {}

  std::vector<Variant> variants(const Problem&, const Topology&, const Capability&) const override {
    return {{name(), {}}};
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override;
  Limits limits(const Variant&) const override { return {.min_ranks = 2}; }
  std::string protocol(const Problem&, const Variant&) const override { return "mpi;" + name(); }

  /// A step per power of two of a host's ranks, before and after the hosts' own, which move the
  /// bytes that nccl-tests' bus bandwidth counts.
  Cost cost(const Problem& problem, const Topology& topology, const Variant&) const override {
    const auto size = static_cast<double>(problem.message_size.value);
    const double inside = std::ceil(std::log2(std::max(1, topology.ranks_per_node)));
    const double across = std::ceil(std::log2(std::max(1, topology.nodes)));
    const bool reduces = problem.reduce_op != ReduceOp::none;
    return {.steps = 2 * inside + across,
            .bytes_per_rank = size + bus_bandwidth_factor(collective(), topology.nodes) * size,
            .reduced_bytes = reduces ? size : 0};
  }
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return numerics_of_mpi_call(problem);
  }
  CallTraits traits(const Problem& problem, const Topology&, const Variant&) const override {
    return traits_of_mpi_call(problem);
  }
  void detect(Communicator& communicator, Capability& capability) const override;
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override;
};

Support OpenMpiHan::can_run(const Problem& problem, const Topology& topology,
                            const Capability& capability, const Variant& variant) const {
  if (Support basic = supports_mpi_call(problem, topology, capability, collective()); !basic)
    return basic;
  if (!variant.parameters.empty()) return Support::no("it takes no parameter");
  if (!capability.has(han_feature)) return Support::no("this MPI library has no coll/han");
  if (const std::string_view why = capability.value(han_feature); !why.empty())
    return Support::no(std::string(why));
  if (topology.nodes < 2) return Support::no(std::string(one_host));
  // Its first call finds it out, and gives all further ones to the component before it (4.1.4).
  if (collective() != Collective::all_reduce &&
      topology.ranks != topology.nodes * topology.ranks_per_node)
    return Support::no("coll/han steps aside where hosts have unlike numbers of ranks");
  return Support::yes();
}

void OpenMpiHan::detect(Communicator& communicator, Capability& capability) const {
  detect_mpi_library(communicator, capability);
  if (communicator.native_mpi() == nullptr) return;
  const MpiToolSession session;
  if (const auto priority = ControlVariable::find("coll_han_priority"))
    capability.features[std::string(han_feature)] = why_not_forced(communicator, *priority);
}

std::unique_ptr<Operation> OpenMpiHan::prepare(Communicator& communicator, const Call& call,
                                               const Variant&, Deadline deadline) const {
  // All ranks see the same hosts.
  if (!spans_hosts(communicator)) throw UnavailableHere(std::string(one_host));
  std::unique_ptr<Communicator> preferring =
      duplicate_preferring(communicator, component, deadline);
  const Communicator& made = *preferring;
  return make_mpi_operation(made, call, ReduceScatterCall::block, std::move(preferring));
}

}  // namespace

Implementations make_open_mpi_han() {
  Implementations made;
  for (const Collective collective : collectives)
    made.push_back(std::make_unique<OpenMpiHan>(collective));
  return made;
}

}  // namespace colltune::mpi
