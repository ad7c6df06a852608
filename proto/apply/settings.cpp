// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/apply/settings.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "colltune/apply/open_mpi_algorithms.h"
#include "colltune/apply/open_mpi_han.h"
#include "colltune/nccl/choice.h"
#include "colltune/nccl/selection.h"
#include "colltune/vocabulary/composition.h"

namespace colltune {
namespace {

constexpr std::string_view only_here = "not outside colltune-agent: ";

ApplySettings not_outside(std::string_view why) {
  return {.by = ApplyBy::colltune, .how = std::string(only_here) + std::string(why)};
}

ApplySettings nothing_to_set(std::string_view whose) {
  return {.by = ApplyBy::nothing,
          .how = "nothing to set: it is " + std::string(whose) + " own choice"};
}

/// The parameter's setting as text; empty if the variant has none of that name.
std::string text_of(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name) return to_string(parameter.value);
  return {};
}

// ---- MPI ---------------------------------------------------------------------------------------

ApplySettings for_open_mpi(const OpenMpiCollective& collective, const Variant& variant,
                           std::optional<OpenMpiRelease> release) {
  // Later releases keep the numbers of earlier ones.
  const auto choice =
      open_mpi_choice_of(collective, variant, release.value_or(OpenMpiRelease::v6_0));
  if (!choice)
    return not_outside(
        "no release of Open MPI that colltune knows numbers this algorithm; "
        "ompi_info --param coll tuned --level 9 lists those of yours");
  const std::string variable = "OMPI_MCA_coll_tuned_" + std::string(collective.name) + "_algorithm";
  ApplySettings settings{.by = ApplyBy::environment,
                         .variables = {"OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                                       variable + "=" + std::to_string(choice->algorithm)}};
  if (choice->segment_size)
    settings.variables.push_back(variable +
                                 "_segmentsize=" + std::to_string(*choice->segment_size));
  if (choice->fanout)
    settings.variables.push_back(variable + "_chain_fanout=" + std::to_string(*choice->fanout));
  if (release && *release >= OpenMpiRelease::v5_0)
    settings.variables.emplace_back("OMPI_MCA_coll_han_priority=0");
  settings.how = "in the environment of mpirun; for " + std::string(collective.call) +
                 " of all sizes and communicators. colltune export openmpi writes it by size";
  if (!release)
    settings.how +=
        ". From Open MPI 5.0 on also OMPI_MCA_coll_han_priority=0, else coll/han goes "
        "before coll/tuned";
  return settings;
}

/// coll/han for one collective. The others are left to the component before it: coll/self is no
/// component of communicators of several ranks.
ApplySettings for_han(const HanCollective& collective, std::optional<OpenMpiRelease> release) {
  if (release && *release != OpenMpiRelease::v4_1)
    return not_outside("colltune knows coll/han's variables of Open MPI 4.1 alone");
  ApplySettings settings{
      .by = ApplyBy::environment,
      .variables = {"OMPI_MCA_coll_han_priority=" + std::to_string(han_priority_to_use)}};
  for (const HanCollective& other : han_collectives())
    if (other.number != collective.number && other.is_between_hosts)
      settings.variables.push_back("OMPI_MCA_coll_han_" + std::string(other.name) +
                                   "_dynamic_global_communicator_module=" +
                                   std::to_string(static_cast<int>(HanComponent::self)));
  settings.how = "in the environment of mpirun, Open MPI 4.1; for " + std::string(collective.call) +
                 " of all sizes and of all communicators across hosts. colltune export openmpi-han "
                 "writes it by size";
  return settings;
}

template <class Enum>
std::optional<Enum> find_name(std::string_view text) {
  for (const auto& named : enum_names(Enum{}))
    if (named.name == text) return named.value;
  return std::nullopt;
}

// ---- NCCL --------------------------------------------------------------------------------------

/// As NCCL_ALGO names a collective: "allreduce".
std::string function_name(Collective collective) {
  std::string name(name_of(collective));
  std::erase(name, '_');
  return name;
}

/// Appends what requests so many CTAs. Returns whether there is such a request.
bool add_ctas(const std::string& ctas, ApplySettings& settings) {
  if (ctas.empty() || ctas == "0") return false;
  settings.variables.push_back("NCCL_MIN_CTAS=" + ctas);
  settings.variables.push_back("NCCL_MAX_CTAS=" + ctas);
  return true;
}

ApplySettings for_forced(const Variant& variant, Collective collective) {
  const std::string prefix = function_name(collective) + ":";
  ApplySettings settings{.by = ApplyBy::environment,
                         .variables = {"NCCL_ALGO=" + prefix + text_of(variant, "algorithm"),
                                       "NCCL_PROTO=" + prefix + text_of(variant, "protocol")}};
  const bool has_ctas = add_ctas(text_of(variant, "channels"), settings);
  settings.how = "from NCCL 2.24 on, for " + std::string(name_of(collective)) +
                 " of all sizes and communicators; where NCCL has not got the pair it fails, and "
                 "takes no other one";
  if (has_ctas) settings.how += "; the number of CTAs is that of all collectives";
  settings.how +=
      ". colltune's tuner (libnccl-tuner-colltune.so) chooses by size, and leaves all "
      "else alone";
  return settings;
}

ApplySettings for_configured(const Variant& variant) {
  ApplySettings settings{.by = ApplyBy::environment};
  std::string program;
  if (const std::string ctas = text_of(variant, "ctas"); add_ctas(ctas, settings))
    program += "minCTAs = maxCTAs = " + ctas;
  if (text_of(variant, "policy") == "efficiency") {
    settings.variables.emplace_back("NCCL_CTA_POLICY=EFFICIENCY");
    program += std::string(program.empty() ? "" : ", ") + "CTAPolicy = NCCL_CTA_POLICY_EFFICIENCY";
    settings.how =
        "from NCCL 2.28 on, and only where no tuner is loaded "
        "(NCCL_TUNER_PLUGIN=none): ";
  }
  settings.how +=
      "for all collectives of all communicators; a program sets it for one "
      "communicator: ncclConfig_t with " +
      program + ", ncclCommInitRankConfig";
  return settings;
}

ApplySettings for_symmetric(const Variant& variant, Collective collective) {
  ApplySettings settings{
      .by = ApplyBy::program,
      .how =
          "the program takes its buffers from ncclMemAlloc and registers them on all ranks, "
          "ncclCommWindowRegister(…, NCCL_WIN_COLL_SYMMETRIC); ranks of one node, NCCL 2.27 on"};
  if (const std::string kernel = text_of(variant, "kernel"); !kernel.empty())
    settings.how +=
        "; and calls the function with Config at the end of its name, on all ranks with one "
        "ncclCollConfig_t: algSelection = " +
        nccl::selection_of_kernel(collective, kernel) + " (NCCL 2.31 on)";
  if (text_of(variant, "policy") == "zero")
    settings.how +=
        "; and makes its communicator with CTAPolicy = NCCL_CTA_POLICY_ZERO "
        "(ncclConfig_t, NCCL 2.28 on)";
  return settings;
}

ApplySettings for_selected(const Variant& variant) {
  const auto algorithm = find_name<nccl::Algorithm>(text_of(variant, "algorithm"));
  const auto protocol = find_name<nccl::Protocol>(text_of(variant, "protocol"));
  if (!algorithm || !protocol) return not_outside("it names nothing that NCCL has");
  return {.by = ApplyBy::program,
          .how =
              "the program calls the function with Config at the end of its name, on all ranks "
              "with one ncclCollConfig_t (NCCL 2.31 on): algSelection = " +
              nccl::selection_of(*algorithm, *protocol) +
              ", minCTAs = maxCTAs = " + text_of(variant, "ctas") +
              ". A tuner gives no more channels than NCCL takes by itself"};
}

ApplySettings for_nccl(const RankedVariant& ranked, Collective collective) {
  if (ranked.is_baseline) return nothing_to_set("NCCL's");
  const Variant& variant = ranked.variant;
  const std::string_view name = variant.implementation;
  if (name.ends_with("_forced")) return for_forced(variant, collective);
  if (name.ends_with("_configured")) return for_configured(variant);
  if (name.ends_with("_selected")) return for_selected(variant);
  if (name.ends_with("_symmetric")) return for_symmetric(variant, collective);
  if (name.ends_with("_premultiplied"))
    return {.by = ApplyBy::program,
            .how =
                "the program makes an operator that multiplies by 1/ranks, "
                "ncclRedOpCreatePreMulSum, and reduces with it in place of ncclAvg"};
  return not_outside("colltune knows no setting of NCCL for it");
}

// ---- colltune's own kernels
// ----------------------------------------------------------------------

ApplySettings for_component(const Variant& variant, const Problem& problem,
                            std::optional<OpenMpiRelease> release) {
  if (!variant.implementation.starts_with("cpu."))
    return not_outside("colltune's own kernels for devices run in no library");
  if (problem.registered) return not_outside("no library has calls with registered buffers");
  if (release && *release != OpenMpiRelease::v4_1)
    return not_outside("colltune's component is for Open MPI " +
                       std::string(name_of(OpenMpiRelease::v4_1)));
  return {
      .by = ApplyBy::component,
      .how =
          "programs run it unchanged in Open MPI 4.1: colltune export table -o cluster.ctt, then "
          "COLLTUNE_TABLE=cluster.ctt and colltune's component in the environment of mpirun "
          "(client/open_mpi/README.md); for ordinary calls, in place or not"};
}

}  // namespace

ApplySettings settings_to_apply(const RankedVariant& ranked, const Problem& problem,
                                const Environment* environment) {
  if (!parts_named_by(ranked.variant).empty())
    return not_outside("it is composed of several variants");
  if (problem.mesh) return not_outside("no library has a call for mesh reductions");
  const auto release =
      environment == nullptr ? std::nullopt : open_mpi_release_of(environment->mpi_library);
  if (ranked.family == "colltune") return for_component(ranked.variant, problem, release);
  const bool is_mpi = ranked.family == "mpi";
  if (ranked.is_emulated)
    return not_outside((is_mpi ? std::string("MPI") : "family " + ranked.family) +
                       " lacks the type or operator, and colltune-agent composes the call of what "
                       "it has");
  if (is_mpi) {
    if (ranked.is_baseline) return nothing_to_set("the MPI library's");
    if (const auto* const collective = find_open_mpi_collective(ranked.variant.implementation))
      return for_open_mpi(*collective, ranked.variant, release);
    if (const auto* const collective = find_han_collective(ranked.variant.implementation))
      return for_han(*collective, release);
    return not_outside("colltune knows no setting of MPI for it");
  }
  if (ranked.family == "nccl") return for_nccl(ranked, problem.collective);
  return {.by = ApplyBy::program,
          .how = "as the documentation of plug-in " + ranked.family +
                 " says; colltune-agent runs it by --plugin"};
}

std::vector<ApplySettings> settings_to_apply(const Decision& decision,
                                             const Environment* environment) {
  std::vector<ApplySettings> all;
  all.reserve(decision.ranked.size());
  for (const RankedVariant& ranked : decision.ranked)
    all.push_back(settings_to_apply(ranked, decision.key.problem, environment));
  return all;
}

}  // namespace colltune
