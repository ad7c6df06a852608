// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/predictors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "colltune/model/library/nccl_classic.h"
#include "colltune/model/library/nccl_symmetric.h"
#include "colltune/model/speed_of_light/annotate.h"
#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr FieldPath where{nullptr, "program"};

CollectiveEntry entry(const std::string& name, std::uint64_t bytes) {
  return {.name = name, .bytes = Bytes{bytes}};
}

AnnotatedProgram program() {
  return {.device = {.name = "NVIDIA H100 80GB HBM3",
                     .platform = "cuda",
                     .architecture = "sm_90",
                     .memory_gb_per_s = 3350.0},
          .collectives = {entry("a", 1 << 10), entry("b", 1 << 20), entry("c", 8 << 20)},
          .nccl = NcclTopology{.ring = {.channels = 24, .intra_gb_per_s = 20}}};
}

std::string refusal(const AnnotatedProgram& asked) {
  try {
    static_cast<void>(annotate(asked, where));
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Predictors, WithoutAModelXlaAnswersInTheOrderOfTheEntries) {
  const std::vector<Annotation> answers = annotate(program(), where);
  ASSERT_EQ(answers.size(), 3U);
  const auto device = speed_of_light::resolve_device(program().device);
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i], speed_of_light::annotate(program().collectives[i], 1, device));
  EXPECT_EQ(answers[1].strategy, Strategy::two_shot);
}

TEST(Predictors, AnEntrysModelGoesBeforeTheProgramsOne) {
  AnnotatedProgram asked = program();
  asked.model = "nccl-2.30.7-classic";
  asked.collectives[1].model = "nccl-2.30.7-symmetric";
  asked.collectives[2].model = "xla";
  const std::vector<Annotation> answers = annotate(asked, where);
  EXPECT_EQ(answers[0].model, "nccl-2.30.7-classic.ring.ll");
  EXPECT_EQ(answers[0].why, "the least of 3 times");
  EXPECT_EQ(
      answers[0].total,
      nccl_2_30_classic_times({.message = Bytes{1 << 10}, .ranks = 8}, *asked.nccl).front().time);
  EXPECT_EQ(answers[1].model, "nccl-2.30.7-symmetric.RSxLD_AGxST");
  EXPECT_EQ(answers[1].why, "on 7 blocks");
  EXPECT_EQ(answers[1].total,
            predict_nccl_2_30_symmetric({.message = Bytes{1 << 20}, .ranks = 8}).time);
  EXPECT_EQ(answers[2].model, "xla.bus");
}

TEST(Predictors, WhatTheLibraryRunsHasItsTimeBetween) {
  for (const char* const model : {"nccl-2.30.7-classic", "nccl-2.30.7-symmetric"})
    for (const bool asynchronous : {false, true}) {
      AnnotatedProgram asked = program();
      asked.model = model;
      asked.collectives[0].asynchronous = asynchronous;
      const Annotation without = annotate(asked, where)[0];
      EXPECT_EQ(without.strategy, Strategy::standard);
      EXPECT_EQ(without.source, ChosenBy::library);
      EXPECT_EQ(without.on_node, speed_of_light::low_cost);
      EXPECT_EQ(without.between, without.total);
      asked.collectives[0].bytes_accessed = Bytes{335'000};
      const Annotation with = annotate(asked, where)[0];
      EXPECT_NEAR(with.memory.count(), 0.1, 1e-9);
      EXPECT_EQ(with.total, without.total + with.memory);
    }
}

TEST(Predictors, MulticastIsTheDevices) {
  AnnotatedProgram asked = program();
  asked.model = "nccl-2.30.7-symmetric";
  asked.device.multimem = true;
  EXPECT_EQ(annotate(asked, where)[1].model, "nccl-2.30.7-symmetric.RSxLDMC_AGxSTMC");
}

TEST(Predictors, TmaIsTheDevices) {
  AnnotatedProgram asked = program();
  asked.model = "nccl-2.30.7-symmetric";
  asked.device.architecture = "sm_100";
  asked.device.lane_gb_per_s = 50;
  EXPECT_EQ(annotate(asked, where)[2].model, "nccl-2.30.7-symmetric.RSxLD_AGxST");
  asked.device.tma = true;
  EXPECT_EQ(annotate(asked, where)[2].model, "nccl-2.30.7-symmetric.RSxTmaLD_AGxTmaST");
}

TEST(Predictors, GroupsAreThoseOfTheEntry) {
  AnnotatedProgram asked = program();
  asked.nodes = 2;
  asked.model = "nccl-2.30.7-symmetric";
  for (CollectiveEntry& one : asked.collectives)
    one.replica_groups = {{0, 1, 2, 3}, {8, 9, 10, 11}};
  EXPECT_EQ(annotate(asked, where)[1].total,
            predict_nccl_2_30_symmetric({.message = Bytes{1 << 20}, .ranks = 4}).time);
  asked.collectives[2].kind = EntryKind::reduce_scatter;
  asked.collectives[2].replica_groups.reset();
  EXPECT_THAT(refusal(asked),
              StartsWith("program.collectives[2]: collective 'c': device.nic_gb_per_s is missing"));
  asked.device.nic_gb_per_s = 50;
  const Annotation across = annotate(asked, where)[2];
  EXPECT_EQ(across.model, "nccl-2.30.7-symmetric.RailA2A_LsaLD");
  EXPECT_EQ(across.total, predict_nccl_2_30_symmetric({.kind = EntryKind::reduce_scatter,
                                                       .message = asked.collectives[2].bytes,
                                                       .ranks = 16,
                                                       .nodes = 2,
                                                       .network_gb_per_s = 50})
                              .time);
}

TEST(Predictors, WhatIsRefusedNamesItsPlace) {
  AnnotatedProgram asked = program();
  asked.model = "nccl";
  EXPECT_EQ(refusal(asked),
            "program.model: unknown model 'nccl'; allowed are " + predictor_names());
  EXPECT_EQ(predictor_names(), "xla, nccl-2.30.7-symmetric, nccl-2.30.7-classic");
  asked = program();
  asked.collectives[2].model = "";
  EXPECT_THAT(refusal(asked), StartsWith("program.collectives[2]: unknown model ''"));
  asked = program();
  asked.collectives[1].reduce_op = ReduceOp::none;
  EXPECT_EQ(refusal(asked), "program.collectives[1]: collective 'b': reduce_op none of all_reduce");
  asked = program();
  asked.device.links = -1;
  EXPECT_THAT(refusal(asked), StartsWith("program.device: links is -1"));
  asked = program();
  asked.nodes = 0;
  EXPECT_EQ(refusal(asked), "program.nodes: 0 nodes; at least 1");
  asked = program();
  asked.nccl->ring.channels = 65;
  EXPECT_EQ(refusal(asked), "program.nccl: ring.channels is 65; 1 to 64");
  asked = program();
  asked.nccl.reset();
  asked.collectives[0].model = "nccl-2.30.7-classic";
  EXPECT_THAT(refusal(asked), HasSubstr("'a': nccl is missing"));
  asked = program();
  asked.device.platform = "rocm";
  asked.device.architecture = "gfx942";
  asked.device.links = 7;
  asked.collectives[1].model = "nccl-2.30.7-symmetric";
  EXPECT_THAT(refusal(asked), HasSubstr("'b': NCCL's models are of cuda devices"));
}

}  // namespace
}  // namespace colltune::library_models
