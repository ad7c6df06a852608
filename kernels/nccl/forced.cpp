// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's algorithms, protocols and channels, each forced in the running launch. NCCL asks its tuner
// about every call of the five collectives that have a choice, and libnccl-tuner-colltune.so
// answers what it was told. The algorithms: rings (Patarasuk, Yuan 2009), double binary trees
// (Sanders, Speck, Träff 2009), reductions in NVLink switches (nvls) and network switches
// (collnet), and PAT (Jeaugey 2025).

#include <algorithm>
#include <cmath>
#include <optional>

#include "colltune/nccl/forced_variant.h"
#include "nccl_calls/agreement.h"
#include "nccl_calls/entry_points.h"
#include "nccl_calls/library_call.h"
#include "nccl_calls/native.h"
#include "nccl_calls/nccl_rank.h"
#include "nccl_library/entries.h"

namespace colltune::nccl {
namespace {

// The lowest compute capabilities that support them.
constexpr std::int64_t ll128_compute_capability = 7;
constexpr std::int64_t nvls_compute_capability = 9;

double steps_of(const Problem& problem, Algorithm algorithm, int ranks) {
  const bool is_twice = problem.collective == Collective::all_reduce;
  switch (algorithm) {
    case Algorithm::ring:
      return (is_twice ? 2.0 : 1.0) * (ranks - 1);
    case Algorithm::tree:
    case Algorithm::pat:
      return (is_twice ? 2.0 : 1.0) * std::ceil(std::log2(ranks));
    case Algorithm::nvls:
    case Algorithm::collnet_direct:
      return is_twice ? 2.0 : 1.0;  // to the switch and back
    case Algorithm::collnet_chain:
    case Algorithm::nvls_tree:
      return 2.0 * std::ceil(std::log2(ranks));
  }
  return 0;
}

class Forced final : public Implementation {
 public:
  Forced(Function function, std::shared_ptr<const Runtime> runtime)
      : Implementation({.name = forced_name(function),
                        .description =
                            "one algorithm, protocol and number of channels of NCCL's, forced (its "
                            "tuner interface)",
                        .collective = collective_of(function),
                        .family = std::string(family_name),
                        .runs_on_device = true,
                        .meets_other_builds = true}),
        function_(function),
        runtime_(std::move(runtime)) {}

  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    std::vector<Variant> all;
    const bool asks_for_channels = why_not_channels(capability).empty();
    for (const Entry& entry : entries_of(function_))
      if (why_not_entry(entry, topology, capability).empty())
        for (const int channels : channels_to_try(function_, entry, problem.message_size.value))
          if (channels == 0 || asks_for_channels)
            all.push_back(variant_of({entry.algorithm, entry.protocol, channels}));
    // Keeps one, so that `supports` can report why there is none.
    if (all.empty()) all.push_back(variant_of({Algorithm::ring, Protocol::simple, 0}));
    return all;
  }

  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    if (Support basic = supports_native_call(problem, topology, capability, collective()); !basic)
      return basic;
    if (const std::string_view why = capability.value("nccl.tuner.unavailable"); !why.empty())
      return Support::no(std::string(why));
    if (std::string why = why_outside(limits(variant), problem, topology.ranks); !why.empty())
      return Support::no(std::move(why));
    const auto choice = choice_of(variant);
    if (!choice)
      return Support::no(
          "its parameters are algorithm, channels (0: NCCL decides, up to 64) and protocol, with "
          "NCCL's words in lower case");
    const Entry entry{choice->algorithm, choice->protocol};
    if (!std::ranges::count(entries_of(function_), entry))
      return Support::no("NCCL has no such algorithm and protocol for " +
                         std::string(name_of(collective())));
    if (std::string why = why_not_entry(entry, topology, capability); !why.empty())
      return Support::no(std::move(why));
    if (choice->channels > 0 && takes_channels_on_trust(entry.algorithm))
      return Support::no("NCCL does not check the channels of CollNet: only channels=0");
    if (choice->channels > 0)
      if (std::string why = why_not_channels(capability); !why.empty())
        return Support::no(std::move(why));
    if (const int most = most_channels_of(function_, entry.protocol, problem.message_size.value);
        choice->channels > most)
      return Support::no("the message is too short: NCCL gives it " + std::to_string(most) +
                         " channel(s) at most");
    return Support::yes();
  }

  Limits limits(const Variant&) const override {
    Limits limits;
    limits.min_ranks = 2;  // for one rank NCCL copies, and asks no tuner
    return limits;
  }
  std::string protocol(const Problem&, const Variant& variant) const override {
    return "nccl;" + to_string(variant);
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    const auto choice = choice_of(variant).value_or(Choice{});
    const double steps = steps_of(problem, choice.algorithm, topology.ranks);
    return choice.algorithm == Algorithm::nvls
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
    const auto choice = choice_of(variant);
    if (!choice)
      throw Error(StatusCode::internal, to_string(variant) + " was not made by " + name());
    auto member = NcclRank::of(communicator, runtime_->open(), {}, deadline);
    if (!member->why_not_forced().empty())  // the same on all ranks
      throw UnavailableHere(member->why_not_forced());
    require_entry(communicator, *member, call.problem, *choice, deadline);
    std::unique_ptr<LibraryCall> made;
    act_together(
        communicator, "could not prepare a call of NCCL's",
        [&] {
          made = std::make_unique<LibraryCall>(member, NativeCall::of(call, communicator.size()),
                                               choice, Windows{}, call);
        },
        deadline + vote_time);
    if (call.problem.graph_capture) capture_together(communicator, member, *made, deadline);
    return made;
  }

 private:
  [[nodiscard]] Variant variant_of(const Choice& choice) const {
    return {name(),
            {{"algorithm", std::string(name_of(choice.algorithm))},
             {"channels", std::int64_t{choice.channels}},
             {"protocol", std::string(name_of(choice.protocol))}}};
  }

  /// Why NCCL cannot have the entry on such a rank; empty if it may.
  [[nodiscard]] std::string why_not_entry(const Entry& entry, const Topology& topology,
                                          const Capability& capability) const {
    if (std::string why = why_not_there(entry, topology_of_nccl(topology, capability));
        !why.empty())
      return why;
    const auto excludes = [&](std::string_view variable, std::string_view word) {
      return !is_allowed_by(environment_value(capability, variable), function_, word);
    };
    if (excludes("NCCL_ALGO", name_of(entry.algorithm)))
      return "NCCL_ALGO in the environment excludes it";
    if (excludes("NCCL_PROTO", name_of(entry.protocol)))
      return "NCCL_PROTO in the environment excludes it";
    const std::int64_t compute = capability.number("cuda.compute_capability");
    if (compute == 0) return {};
    if (entry.protocol == Protocol::ll128 && compute < ll128_compute_capability)
      return "NCCL has LL128 from sm_70 on";
    const bool is_nvls =
        entry.algorithm == Algorithm::nvls || entry.algorithm == Algorithm::nvls_tree;
    if (is_nvls && compute < nvls_compute_capability) return "NCCL has NVLS from sm_90 on";
    return {};
  }

  /// Throws UnavailableHere on all ranks if NCCL cannot choose the entry on one of them. If it were
  /// forced on the others alone, they would wait for a rank that runs something else.
  void require_entry(Communicator& communicator, NcclRank& member, const Problem& problem,
                     const Choice& choice, Deadline deadline) const {
    const auto available =
        member.available(function_, problem.data_type, problem.reduce_op, deadline);
    const auto bit = static_cast<unsigned>(choice.algorithm) * protocol_count +
                     static_cast<unsigned>(choice.protocol);
    const bool is_missing = !available || (*available >> bit & 1U) == 0;
    const int first = first_rank_where(communicator, is_missing, deadline);
    if (first < 0) return;
    throw UnavailableHere("NCCL marks " + std::string(name_of(choice.algorithm)) + " with " +
                          std::string(name_of(choice.protocol)) +
                          " as unavailable for such calls on rank " + std::to_string(first));
  }

  Function function_;
  std::shared_ptr<const Runtime> runtime_;
};

}  // namespace

Implementations make_forced(const std::shared_ptr<const Runtime>& runtime) {
  Implementations made;
  for (int function = 0; function < function_count; ++function)
    made.push_back(std::make_unique<Forced>(static_cast<Function>(function), runtime));
  return made;
}

Implementations make_forced() { return make_forced(std::make_shared<const Runtime>(&find_places)); }

}  // namespace colltune::nccl
