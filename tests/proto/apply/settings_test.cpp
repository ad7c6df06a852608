// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/apply/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/apply/open_mpi_algorithms.h"
#include "colltune/vocabulary/mesh.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

RankedVariant ranked(const std::string& text, const std::string& family) {
  return {.variant = parse_variant(text),
          .family = family,
          .is_baseline = text.find_first_of("{_") == std::string::npos};
}

ApplySettings applied(const std::string& text, const std::string& family,
                      Collective collective = Collective::all_reduce,
                      const std::string& mpi_library = "Open MPI v4.1.4") {
  const Environment environment{.mpi_library = mpi_library};
  return settings_to_apply(ranked(text, family), Problem{.collective = collective}, &environment);
}

TEST(ApplyMpi, AForcedAlgorithmIsVariablesOfTheLaunch) {
  const auto settings = applied("mpi.reduce_tuned{algorithm=chain,fanout=4,segment_size=65536}",
                                "mpi", Collective::reduce);
  EXPECT_EQ(settings.by, ApplyBy::environment);
  EXPECT_THAT(settings.variables,
              ElementsAre("OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                          "OMPI_MCA_coll_tuned_reduce_algorithm=2",
                          "OMPI_MCA_coll_tuned_reduce_algorithm_segmentsize=65536",
                          "OMPI_MCA_coll_tuned_reduce_algorithm_chain_fanout=4"));
  EXPECT_THAT(settings.how, HasSubstr("for MPI_Reduce of all sizes"));
  EXPECT_THAT(settings.how, HasSubstr("colltune export openmpi writes it by size"));
}

TEST(ApplyMpi, EachFormOfReduceScatterHasItsOwnVariables) {
  EXPECT_THAT(applied("mpi.reduce_scatter_tuned{algorithm=butterfly}", "mpi").variables,
              ElementsAre("OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                          "OMPI_MCA_coll_tuned_reduce_scatter_block_algorithm=4"));
  const auto counts = applied("mpi.reduce_scatter_counts_tuned{algorithm=ring}", "mpi");
  EXPECT_THAT(counts.variables, ElementsAre("OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                                            "OMPI_MCA_coll_tuned_reduce_scatter_algorithm=3"));
  EXPECT_THAT(counts.how, HasSubstr("for MPI_Reduce_scatter of"));
}

TEST(ApplyMpi, FromRelease5OnTheComponentBeforeItIsSwitchedOff) {
  const std::string ring = "mpi.all_reduce_tuned{algorithm=ring}";
  const std::string han = "OMPI_MCA_coll_han_priority=0";
  EXPECT_THAT(applied(ring, "mpi", Collective::all_reduce, "Open MPI v5.0.7").variables,
              ::testing::Contains(han));
  const auto old = applied(ring, "mpi");
  EXPECT_THAT(old.variables, Not(::testing::Contains(han)));
  EXPECT_THAT(old.how, Not(HasSubstr("han")));
  // Where the release is not known, the text says what depends on it.
  const auto unknown = settings_to_apply(ranked(ring, "mpi"),
                                         Problem{.collective = Collective::all_reduce}, nullptr);
  EXPECT_EQ(unknown.variables, old.variables);
  EXPECT_THAT(unknown.how, HasSubstr("From Open MPI 5.0 on also " + han));
}

TEST(ApplyMpi, HanRunsOneCollectiveAndLeavesTheOthers) {
  const auto settings = applied("mpi.all_reduce_han", "mpi");
  EXPECT_EQ(settings.by, ApplyBy::environment);
  const auto left = [](const std::string& collective) {
    return "OMPI_MCA_coll_han_" + collective + "_dynamic_global_communicator_module=0";
  };
  EXPECT_THAT(settings.variables,
              ElementsAre("OMPI_MCA_coll_han_priority=40", left("allgather"), left("barrier"),
                          left("bcast"), left("gather"), left("reduce"), left("scatter")));
  EXPECT_THAT(settings.how, HasSubstr("for MPI_Allreduce of all sizes"));
  EXPECT_THAT(settings.how, HasSubstr("colltune export openmpi-han writes it by size"));
  EXPECT_THAT(applied("mpi.scatter_han", "mpi", Collective::scatter).variables,
              Not(::testing::Contains(left("scatter"))));
  EXPECT_EQ(applied("mpi.all_reduce_han", "mpi", Collective::all_reduce, "Open MPI v5.0.7").by,
            ApplyBy::colltune);
}

TEST(ApplyMpi, AnAlgorithmThatTheReleaseHasNotGotIsNotGivenANumber) {
  const auto settings = applied("mpi.all_gather_tuned{algorithm=sparbit}", "mpi",
                                Collective::all_gather, "Open MPI v4.1.4");
  EXPECT_EQ(settings.by, ApplyBy::colltune);
  EXPECT_THAT(settings.variables, IsEmpty());
  EXPECT_EQ(applied("mpi.all_gather_tuned{algorithm=sparbit}", "mpi", Collective::all_gather,
                    "Open MPI v5.0.7")
                .variables.at(1),
            "OMPI_MCA_coll_tuned_allgather_algorithm=7");
}

TEST(ApplyMpi, TheLibrarysOwnChoiceNeedsNothing) {
  RankedVariant own = ranked("mpi.all_reduce", "mpi");
  own.is_baseline = true;
  const Problem problem{.collective = Collective::all_reduce};
  EXPECT_EQ(settings_to_apply(own, problem, nullptr).by, ApplyBy::nothing);
  EXPECT_THAT(settings_to_apply(own, problem, nullptr).how, HasSubstr("nothing to set"));
  own.is_emulated = true;
  EXPECT_EQ(settings_to_apply(own, problem, nullptr).by, ApplyBy::colltune);
  EXPECT_THAT(settings_to_apply(own, problem, nullptr).how, HasSubstr("MPI lacks the type"));
}

TEST(ApplyNccl, AForcedChoiceIsVariablesOfItsCollective) {
  const auto settings =
      applied("nccl.reduce_scatter_forced{algorithm=nvlstree,channels=8,protocol=simple}", "nccl",
              Collective::reduce_scatter);
  EXPECT_EQ(settings.by, ApplyBy::environment);
  EXPECT_THAT(settings.variables,
              ElementsAre("NCCL_ALGO=reducescatter:nvlstree", "NCCL_PROTO=reducescatter:simple",
                          "NCCL_MIN_CTAS=8", "NCCL_MAX_CTAS=8"));
  EXPECT_THAT(settings.how, HasSubstr("from NCCL 2.24 on"));
  EXPECT_THAT(settings.how, HasSubstr("CTAs is that of all collectives"));
  // Without a number of channels NCCL keeps its own.
  EXPECT_THAT(
      applied("nccl.all_reduce_forced{algorithm=ring,channels=0,protocol=ll}", "nccl").variables,
      ElementsAre("NCCL_ALGO=allreduce:ring", "NCCL_PROTO=allreduce:ll"));
}

TEST(ApplyNccl, ConfiguredChoicesAreSettingsOfCommunicators) {
  const auto ctas =
      applied("nccl.all_to_all_configured{ctas=4,policy=default}", "nccl", Collective::all_to_all);
  EXPECT_THAT(ctas.variables, ElementsAre("NCCL_MIN_CTAS=4", "NCCL_MAX_CTAS=4"));
  EXPECT_THAT(ctas.how, HasSubstr("ncclConfig_t with minCTAs = maxCTAs = 4, "));
  const auto policy = applied("nccl.all_reduce_configured{ctas=0,policy=efficiency}", "nccl");
  EXPECT_THAT(policy.variables, ElementsAre("NCCL_CTA_POLICY=EFFICIENCY"));
  EXPECT_THAT(policy.how, HasSubstr("only where no tuner is loaded"));
}

TEST(ApplyNccl, WindowsAndOperatorsAreMadeByTheProgram) {
  const auto kernels = applied("nccl.all_reduce_symmetric{policy=default}", "nccl");
  EXPECT_EQ(kernels.by, ApplyBy::program);
  EXPECT_THAT(kernels.how, HasSubstr("ncclCommWindowRegister(…, NCCL_WIN_COLL_SYMMETRIC)"));
  EXPECT_THAT(kernels.how, Not(HasSubstr("NCCL_CTA_POLICY_ZERO")));
  EXPECT_THAT(applied("nccl.all_gather_symmetric{policy=zero}", "nccl").how,
              HasSubstr("NCCL_CTA_POLICY_ZERO"));
  EXPECT_THAT(
      applied("nccl.all_gather_symmetric{kernel=st,policy=default}", "nccl", Collective::all_gather)
          .how,
      HasSubstr("algSelection = SYMK_ST+^SYMK_STMC (NCCL 2.31 on)"));
  const auto selected =
      applied("nccl.all_reduce_selected{algorithm=ring,ctas=16,protocol=ll}", "nccl");
  EXPECT_EQ(selected.by, ApplyBy::program);
  EXPECT_THAT(selected.how,
              HasSubstr("algSelection = RING_LL+^RING_LL128, minCTAs = maxCTAs = 16."));
  EXPECT_THAT(applied("nccl.all_reduce_premultiplied", "nccl").how,
              HasSubstr("ncclRedOpCreatePreMulSum"));
}

TEST(Apply, WhatNoLibraryRunsIsSaidSo) {
  for (const char* variant :
       {"cuda.all_reduce_one_shot", "mpi.sequential{parts=p0123456789abcdef}"})
    EXPECT_THAT(applied(variant, "colltune").how, HasSubstr("not outside colltune-agent"));
  // A composition of a library's own variants is no call of that library.
  EXPECT_EQ(applied("sequential.mesh_reduce{parts=p0123456789abcdef}", "mpi").by,
            ApplyBy::colltune);
  const Problem mesh{.kind = ProblemKind::mesh_reduce, .mesh = parse_mesh("2x2", "0:sum")};
  EXPECT_EQ(
      settings_to_apply(ranked("mpi.all_reduce_tuned{algorithm=ring}", "mpi"), mesh, nullptr).by,
      ApplyBy::colltune);
  const auto plugin = applied("acme.ring{chunk=4}", "acme");
  EXPECT_EQ(plugin.by, ApplyBy::program);
  EXPECT_THAT(plugin.how, HasSubstr("documentation of plug-in acme"));
}

TEST(Apply, KernelsForProcessorsRunInTheComponent) {
  const auto settings = applied("cpu.all_reduce_one_shot", "colltune");
  EXPECT_EQ(settings.by, ApplyBy::component);
  EXPECT_THAT(settings.variables, IsEmpty());
  EXPECT_THAT(settings.how, HasSubstr("COLLTUNE_TABLE=cluster.ctt"));
  const auto newer =
      applied("cpu.all_reduce_one_shot", "colltune", Collective::all_reduce, "Open MPI v5.0.7");
  EXPECT_EQ(newer.by, ApplyBy::colltune);
  EXPECT_THAT(newer.how, HasSubstr("colltune's component is for Open MPI 4.1.x"));
  const Problem registered{.collective = Collective::all_reduce, .registered = true};
  EXPECT_EQ(
      settings_to_apply(ranked("cpu.all_reduce_one_shot", "colltune"), registered, nullptr).by,
      ApplyBy::colltune);
  const Problem unequal{
      .collective = Collective::all_gather, .reduce_op = ReduceOp::none, .counts = Counts::random};
  EXPECT_EQ(settings_to_apply(ranked("cpu.all_gather_flat", "colltune"), unequal, nullptr).by,
            ApplyBy::component);
}

TEST(Apply, EachVariantOfADecisionHasItsOwn) {
  Decision decision{.ranked = {ranked("cpu.x", "colltune"),
                               ranked("mpi.all_reduce_tuned{algorithm=ring}", "mpi")}};
  decision.key.problem.collective = Collective::all_reduce;
  const auto all = settings_to_apply(decision, nullptr);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].by, ApplyBy::component);
  EXPECT_EQ(all[1].by, ApplyBy::environment);
}

TEST(OpenMpiAlgorithms, NumbersGoOnFromReleaseToRelease) {
  for (const OpenMpiCollective& collective : open_mpi_collectives())
    for (const auto& [release, name] : enum_names(OpenMpiRelease{}))
      for (int number = 1; number <= open_mpi_algorithms_in(collective, release); ++number)
        EXPECT_EQ(open_mpi_algorithm_number(
                      collective, open_mpi_algorithm_name(collective, number, release), release),
                  number)
            << collective.name << ' ' << name;
  const OpenMpiCollective& gather = *find_open_mpi_collective(0);
  EXPECT_EQ(open_mpi_algorithm_name(gather, 2, OpenMpiRelease::v5_0), "bruck");
  EXPECT_EQ(open_mpi_algorithm_name(gather, 2, OpenMpiRelease::v6_0), "bruck-k-fanout");
  EXPECT_EQ(open_mpi_algorithm_number(gather, "direct-messaging", OpenMpiRelease::v6_0), 8);
  EXPECT_EQ(open_mpi_release_of("Open MPI v6.1.0a1"), OpenMpiRelease::v6_0);
  EXPECT_EQ(open_mpi_release_of("MPICH 4.0.2"), std::nullopt);
}

}  // namespace
}  // namespace colltune
