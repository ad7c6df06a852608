// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "colltune/model/library/predictors.h"
#include "colltune/model/speed_of_light/annotate.h"
#include "server_fixture.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint64_t KiB = 1024, MiB = 1 << 20;

DeviceChoice h100() {
  return {.name = "NVIDIA H100 80GB HBM3", .platform = "cuda", .architecture = "sm_90"};
}

CollectiveEntry entry(std::uint64_t bytes, bool asynchronous = false) {
  return {.name = "ar", .bytes = Bytes{bytes}, .asynchronous = asynchronous};
}

/// A daemon that has no generation.
class AnnotateServer : public Server {
 protected:
  void SetUp() override { start({parse_listen_address("unix:" + (folder_ / "a.sock").string())}); }

  grpc::Status call(const v1::AnnotateRequest& request, v1::AnnotateResponse& response) {
    grpc::ClientContext context;
    set_deadline(context);
    return stub()->Annotate(&context, request, &response);
  }
  static v1::AnnotateRequest request_of(const AnnotatedProgram& program) {
    v1::AnnotateRequest request;
    write_message(program, *request.mutable_program());
    return request;
  }
  std::vector<Annotation> annotate(const AnnotatedProgram& program) {
    v1::AnnotateResponse response;
    const grpc::Status status = call(request_of(program), response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<Annotation> answers;
    for (const auto& one : response.annotations())
      answers.push_back(read_message<Annotation>(one, "annotation"));
    return answers;
  }
  Annotation annotate(const CollectiveEntry& one, const DeviceChoice& device = h100(),
                      int nodes = 1) {
    const auto answers =
        annotate(AnnotatedProgram{.device = device, .nodes = nodes, .collectives = {one}});
    EXPECT_EQ(answers.size(), 1U);
    return answers.empty() ? Annotation{} : answers.front();
  }
  /// "CODE: message" of what is refused.
  std::string refusal(const v1::AnnotateRequest& request) {
    v1::AnnotateResponse response;
    const grpc::Status status = call(request, response);
    return std::to_string(status.error_code()) + ": " + status.error_message();
  }
  std::string refusal(const AnnotatedProgram& program) { return refusal(request_of(program)); }
};

// ---- the rows of the list of rules that daemon/model/speed_of_light/annotate_test mirrors, end to
// end. Row 8 is the order of XLA's passes, which is no call of ours.

TEST_F(AnnotateServer, SizesChooseTheStrategy) {  // rows 1 to 5
  EXPECT_EQ(annotate(entry(128 * KiB)).strategy, Strategy::one_shot);
  EXPECT_EQ(annotate(entry(MiB)).strategy, Strategy::two_shot);
  EXPECT_EQ(annotate(entry(8 * MiB)).strategy, Strategy::standard);
  EXPECT_EQ(annotate(entry(256 * KiB)).strategy, Strategy::one_shot);
  EXPECT_EQ(annotate(entry(256 * KiB + 4)).strategy, Strategy::two_shot);
  EXPECT_EQ(annotate(entry(4 * MiB)).strategy, Strategy::two_shot);
  EXPECT_EQ(annotate(entry(4 * MiB + 4)).strategy, Strategy::standard);
}

TEST_F(AnnotateServer, WhatIsNotEligibleIsDefaultWhateverItsSize) {  // row 6
  std::vector<std::pair<CollectiveEntry, std::string>> all(5, {entry(0), ""});
  all[0].first.data_type = DataType::f16;
  all[0].second = "f16";
  all[1].first.reduce_op = ReduceOp::avg;
  all[1].second = "avg";
  all[2].first.replica_groups = {{0, 1, 2}};
  all[2].second = "power of two";
  all[3].first.replica_groups = {{0, 1}, {2, 3, 4, 5}};
  all[3].second = "equally large";
  all[4].first.kind = EntryKind::all_gather;
  all[4].second = "all_gather";
  const auto expect_default = [&](CollectiveEntry one, const DeviceChoice& device,
                                  const std::string& why) {
    for (const std::uint64_t bytes : {4 * KiB, MiB, 8 * MiB}) {
      one.bytes = Bytes{bytes};
      const Annotation answer = annotate(one, device);
      EXPECT_EQ(answer.strategy, Strategy::standard);
      EXPECT_EQ(answer.source, ChosenBy::eligibility);
      if (bytes <= MiB) {
        EXPECT_THAT(answer.why, HasSubstr(why));
      }
    }
  };
  for (const auto& [one, why] : all) expect_default(one, h100(), why);
  expect_default(entry(0),
                 {.name = "A100", .platform = "cuda", .architecture = "sm_80", .links = 12},
                 "sm_90");
  DeviceChoice many = h100();
  many.gpus_per_node = 16;
  expect_default(entry(0), many, "at most 8 ranks");
}

TEST_F(AnnotateServer, WithoutKernelsTheLibrarysPathIsUnchanged) {  // row 7
  for (const bool asynchronous : {false, true}) {
    CollectiveEntry standard = entry(128 * KiB, asynchronous);
    standard.strategy = Strategy::standard;
    const Annotation plain = annotate(standard);
    for (const auto& chosen : {std::optional<Strategy>(), std::optional(Strategy::one_shot)}) {
      CollectiveEntry off = entry(128 * KiB, asynchronous);
      off.kernels = false;
      off.strategy = chosen;
      const Annotation without = annotate(off);
      EXPECT_EQ(without.strategy, Strategy::standard);
      EXPECT_EQ(without.total, plain.total);
      EXPECT_EQ(without.on_node, plain.on_node);
      EXPECT_EQ(without.between, plain.between);
      EXPECT_EQ(without.model, plain.model);
    }
  }
}

TEST_F(AnnotateServer, TheEligibilityIsTheOneOfTheStrategy) {  // row 9
  const auto device = speed_of_light::resolve_device(h100());
  for (const std::uint64_t bytes : {KiB, 256 * KiB, 256 * KiB + 4, 4 * MiB, 4 * MiB + 4}) {
    const speed_of_light::Call asked{.message = Bytes{bytes}, .ranks = 8};
    const Strategy by_size = speed_of_light::strategy_of_size(asked.message, false);
    EXPECT_EQ(annotate(entry(bytes)).strategy == Strategy::standard,
              !speed_of_light::why_not_eligible(by_size, asked, device).empty());
  }
}

TEST_F(AnnotateServer, LatenciesOfKernels) {  // rows 10 to 12
  EXPECT_NEAR(annotate(entry(128 * KiB)).total.count(), 1 + 7 * 131072.0 / 360000 + 1.5, 1e-6);
  EXPECT_NEAR(annotate(entry(256 * KiB)).total.count(), 1 + 7 * 262144.0 / 360000 + 1.5, 1e-6);
  EXPECT_NEAR(annotate(entry(MiB)).total.count(), 1 + 2 * (7 * 131072.0 / 360000 + 1.5), 1e-6);
  EXPECT_NEAR(annotate(entry(4 * MiB)).total.count(), 1 + 2 * (7 * 524288.0 / 360000 + 1.5), 1e-6);
  const DeviceChoice mi300{
      .name = "AMD Instinct MI300X", .platform = "rocm", .architecture = "gfx942"};
  EXPECT_NEAR(annotate(entry(128 * KiB), mi300).total.count(), 2.5 + 7 * 131072.0 / 784e3, 1e-6);
}

TEST_F(AnnotateServer, AsynchronousKernelsHaveTheirTimeBetween) {  // row 13
  DeviceChoice device = h100();
  device.memory_gb_per_s = 3350.0;
  CollectiveEntry one = entry(128 * KiB, true);
  one.bytes_accessed = Bytes{256 * KiB};
  const Annotation answer = annotate(one, device);
  const double memory = 262144.0 / 3350e3;
  EXPECT_NEAR(answer.memory.count(), memory, 1e-9);
  EXPECT_NEAR(answer.between.count(), 1 + 7 * 131072.0 / 360000 + 1.5 + memory, 1e-9);
  EXPECT_EQ(answer.on_node, speed_of_light::low_cost);
  one.strategy = Strategy::standard;
  EXPECT_NE(annotate(one, device).between, answer.between);
}

TEST_F(AnnotateServer, DefaultCostsLittleOnItsNode) {  // rows 14 and 17
  for (const bool asynchronous : {false, true}) {
    const Annotation answer = annotate(entry(8 * MiB, asynchronous));
    EXPECT_EQ(answer.strategy, Strategy::standard);
    EXPECT_EQ(answer.on_node, speed_of_light::low_cost);
    EXPECT_EQ(answer.between, answer.total);
  }
}

TEST_F(AnnotateServer, TheTimeIsCountedOnce) {  // rows 15, 16 and 19
  for (const std::uint64_t bytes : {128 * KiB, MiB}) {
    const Annotation sync = annotate(entry(bytes, false));
    const Annotation async = annotate(entry(bytes, true));
    EXPECT_GT(sync.on_node, speed_of_light::low_cost);
    EXPECT_EQ(sync.on_node, sync.total);
    EXPECT_EQ(sync.between, speed_of_light::low_cost);
    EXPECT_EQ(async.on_node, speed_of_light::low_cost);
    EXPECT_EQ(async.between, async.total);
    EXPECT_EQ(sync.total, async.total);
  }
}

TEST_F(AnnotateServer, AcrossHostsAChoiceIsIgnored) {  // row 18
  CollectiveEntry one = entry(128 * KiB);
  const Annotation without = annotate(one, h100(), 2);
  one.strategy = Strategy::one_shot;
  const Annotation answer = annotate(one, h100(), 2);
  EXPECT_EQ(answer.strategy, Strategy::standard);
  EXPECT_EQ(answer.model, "xla.ring");
  EXPECT_EQ(answer.total, without.total);
  EXPECT_THAT(answer.why, HasSubstr("no effect across hosts"));
}

TEST_F(AnnotateServer, AChosenStrategyIsUsedWhateverTheSize) {  // row 20
  CollectiveEntry large = entry(8 * MiB);
  large.strategy = Strategy::one_shot;
  const Annotation answer = annotate(large);
  EXPECT_EQ(answer.strategy, Strategy::one_shot);
  EXPECT_EQ(answer.source, ChosenBy::caller);
  EXPECT_EQ(answer.total, speed_of_light::kernel_latency(Strategy::one_shot, large.bytes, 8,
                                                         speed_of_light::resolve_device(h100())));
  CollectiveEntry small = entry(4 * KiB);
  small.strategy = Strategy::standard;
  EXPECT_EQ(annotate(small).strategy, Strategy::standard);
}

TEST_F(AnnotateServer, DevicesThatAreNoneAreRefused) {  // row 21
  AnnotatedProgram program{.device = h100(), .collectives = {entry(128 * KiB)}};
  program.device.links = 0;
  EXPECT_THAT(refusal(program), StartsWith("3: program.device: links is 0"));
  program.device = h100();
  program.device.lane_gb_per_s = 0;
  EXPECT_THAT(refusal(program), StartsWith("3: program.device: lane_gb_per_s is 0"));
  program.device = h100();
  program.device.platform = "oneapi";
  EXPECT_THAT(refusal(program), HasSubstr("there are models for cuda, rocm"));
  EXPECT_THAT(refusal(v1::AnnotateRequest()), StartsWith("3: program: is missing"));
  v1::AnnotateRequest bare;
  bare.mutable_program();
  EXPECT_EQ(refusal(bare), "3: program.device: is missing");
}

TEST_F(AnnotateServer, MultimemIsMoreThanItsLaunch) {  // row 22
  DeviceChoice device = h100();
  device.multimem = true;
  const Annotation answer = annotate(entry(128 * KiB), device);
  EXPECT_EQ(answer.strategy, Strategy::multimem);
  EXPECT_EQ(answer.model, "xla.multimem (estimate)");
  CollectiveEntry two_shot = entry(128 * KiB);
  two_shot.strategy = Strategy::two_shot;
  EXPECT_GT(answer.total, annotate(two_shot).total);
}

TEST_F(AnnotateServer, SizesAndTimesAreChecked) {  // row 23
  EXPECT_GT(annotate(entry((std::uint64_t{1} << 63) - 1)).total.count(), 0);
  AnnotatedProgram program{.device = h100(),
                           .collectives = {entry(KiB), entry(std::uint64_t{1} << 63)}};
  EXPECT_THAT(refusal(program), StartsWith("3: program.collectives[1].bytes: 9223372036854775808"));
  program.collectives[1] = entry((std::uint64_t{1} << 63) - 1);
  program.collectives[1].strategy = Strategy::one_shot;
  program.device.lane_gb_per_s = 1e-308;
  program.collectives[0].kernels = false;
  EXPECT_THAT(refusal(program), StartsWith("11: program.collectives[1]: collective 'ar': "));
}

// ---- what is of the call ----------------------------------------------------------------------

TEST_F(AnnotateServer, ChoicesThatCannotRunAreRefusedOrNamedAFallback) {
  CollectiveEntry one = entry(4 * KiB);
  one.data_type = DataType::f16;
  one.strategy = Strategy::one_shot;
  EXPECT_THAT(refusal(AnnotatedProgram{.device = h100(), .collectives = {entry(KiB), one}}),
              StartsWith("9: program.collectives[1]: collective 'ar': one_shot cannot run: "));
  one.fallback = true;
  EXPECT_EQ(annotate(one).source, ChosenBy::fallback);
}

TEST_F(AnnotateServer, EntriesAreAnsweredInTheirOrderByTheModelsThatTheyName) {
  AnnotatedProgram program{
      .device = h100(),
      .collectives = {entry(KiB), entry(MiB), entry(MiB)},
      .model = "nccl-2.30.7-classic",
      .nccl = NcclTopology{.ring = {.channels = 24, .intra_gb_per_s = 20},
                           .tree = NcclGraph{.channels = 24, .intra_gb_per_s = 20}}};
  program.collectives[1].model = "xla";
  program.collectives[2].model = "nccl-2.30.7-symmetric";
  EXPECT_EQ(annotate(program), library_models::annotate(program, {nullptr, "program"}));
  program.collectives[2].model = "guess";
  EXPECT_THAT(refusal(program),
              HasSubstr("program.collectives[2]: unknown model 'guess'; allowed are xla, nccl-"));
}

TEST_F(AnnotateServer, WhatIsMalformedIsNamedWithItsPlace) {
  v1::AnnotateRequest request =
      request_of(AnnotatedProgram{.device = h100(), .collectives = {entry(1), entry(2)}});
  auto& second = *request.mutable_program()->mutable_collectives(1);
  second.clear_kind();
  EXPECT_THAT(refusal(request),
              StartsWith("3: program.collectives[1].kind: kind of collective is missing"));
  second.set_kind(static_cast<v1::EntryKind>(99));
  EXPECT_THAT(refusal(request), HasSubstr("unknown kind of collective 99; allowed are all_reduce"));
  second.set_kind(v1::ENTRY_KIND_ALL_REDUCE);
  second.mutable_replica_groups()->add_groups()->add_ranks(-1);
  EXPECT_THAT(refusal(request),
              StartsWith("3: program.collectives[1].replica_groups[0][0]: -1 is negative"));
  second.mutable_replica_groups()->mutable_groups(0)->set_ranks(0, 8);
  EXPECT_THAT(refusal(request), HasSubstr("rank 8 of a replica group; ranks are 0 to 7"));
  second.clear_replica_groups();
  second.set_name(std::string(4097, 'x'));
  EXPECT_THAT(refusal(request), StartsWith("3: program.collectives[1].name: the string has 4097"));
  second.set_name("b");
  request.mutable_program()->mutable_device()->set_nic_gb_per_s(
      std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(refusal(request), StartsWith("3: program.device.nic_gb_per_s: must be a finite"));
  request.mutable_program()->mutable_device()->clear_nic_gb_per_s();
  request.mutable_program()->set_nodes(0);
  EXPECT_THAT(refusal(request), StartsWith("3: program.nodes: 0 nodes; at least 1"));
}

TEST_F(AnnotateServer, GroupsInAnyFormMeanTheSame) {
  CollectiveEntry list = entry(8 * MiB);
  CollectiveEntry counts = list;
  CollectiveEntry tiles = list;
  list.replica_groups.emplace();
  for (int i = 0; i < 8; ++i) list.replica_groups->push_back({i, i + 8});
  tiles.replica_tiles = "[8,2]<=[2,8]T(1,0)";
  EXPECT_EQ(annotate(tiles, h100(), 2), annotate(list, h100(), 2));
  list.replica_groups->clear();
  for (int i = 0; i < 16; i += 2) list.replica_groups->push_back({i, i + 1});
  counts.replica_counts = ReplicaCounts{.groups = 8, .size = 2};
  EXPECT_EQ(annotate(counts, h100(), 2), annotate(list, h100(), 2));
  counts.replica_counts->groups = 7;
  EXPECT_THAT(
      refusal(AnnotatedProgram{.device = h100(), .nodes = 2, .collectives = {entry(1), counts}}),
      StartsWith("3: program.collectives[1]: collective 'ar': replica_counts: 7 groups of 2 are "
                 "14 ranks, but the world has 16"));
}

TEST_F(AnnotateServer, ManyAreAnsweredAndTooManyRefused) {
  AnnotatedProgram program{.device = h100()};
  program.collectives.assign(1000, entry(MiB));
  EXPECT_EQ(annotate(program).size(), 1000U);
  program.collectives.assign(10'001, entry(MiB));
  EXPECT_THAT(refusal(program),
              StartsWith("3: program.collectives: has 10001 entries; at most 10000"));
  // Names alone fit into a request, and with what is said of them not into an answer.
  program.collectives.assign(1010, entry(MiB));
  for (CollectiveEntry& one : program.collectives) one.name = std::string(4096, '\x01');
  EXPECT_THAT(refusal(program), HasSubstr("collectives exceed 4 MiB"));
}

TEST_F(AnnotateServer, NoGenerationIsNeeded) {
  v1::LookupRequest lookup_request;
  *lookup_request.mutable_query() = query_for(3);
  v1::LookupResponse lookup_response;
  EXPECT_EQ(lookup(lookup_request, lookup_response).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(annotate(AnnotatedProgram{.device = h100()}).size(), 0U);
  EXPECT_EQ(annotate(entry(KiB)).strategy, Strategy::one_shot);
}

}  // namespace
}  // namespace colltune
