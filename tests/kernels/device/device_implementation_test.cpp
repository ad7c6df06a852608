// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The way from a call to a GPU's kernel and back, with host threads in the place of the GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/kernels/device/cuda_device.h"
#include "conformance.h"
#include "device_fixture.h"
#include "support/full_run.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

/// Alone, a power of two, another number: the bodies have a test of their own with more.
std::vector<int> rank_counts() {
#if defined(__SANITIZE_THREAD__)
  return {3};
#elif defined(__SANITIZE_ADDRESS__)
  return {2, 5};
#else
  if (is_full_run()) return {1, 2, 3, 4, 5, 8};
  return {1, 2, 5};
#endif
}

/// Those whose way is tried. Under ThreadSanitizer, which takes twenty times as long, two: the
/// bodies have a test of their own.
Implementations tried(Implementations all) {
  if (has_thread_sanitizer)
    std::erase_if(all, [](const auto& one) {
      return one->name() != one_shot && one->name() != "cuda.broadcast_chain";
    });
  return all;
}

/// But in a full run few of them, where only the ways to them are new: by memory that all reach,
/// along a chain, by copy engines.
Implementations one_of_each_way(Implementations all) {
  if (!is_full_run())
    std::erase_if(all, [](const auto& one) {
      return one->name() != one_shot && one->name() != "cuda.broadcast_chain" &&
             one->name() != "cuda.all_to_all_copy_pull";
    });
  return tried(std::move(all));
}

class DeviceConformance : public testing::TestWithParam<int> {};

TEST_P(DeviceConformance, EveryImplementationIsRightOnASharedDevice) {
  // For four blocks of up to four ranks.
  PretendedDevice device("shared", std::min(16, 4 * GetParam()));
  const std::vector<Device*> devices(static_cast<std::size_t>(GetParam()), &device);
  const Implementations catalogue = tried(make_catalogue());
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(
      GetParam(),
      [&](Communicator& communicator) {
        run += run_conformance(communicator, catalogue, chosen,
                               UnderSanitizer::each_variant_by_buffers, Usually::covering_sample);
      },
      {}, devices);
  EXPECT_GT(run, 20 * GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceConformance, testing::ValuesIn(rank_counts()));

TEST_F(DeviceImplementations, AreRightAmongSeveralDevices) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  // As many on each: the variants follow from how many ranks share a device.
  const std::vector<Device*> devices{&first, &second, &first, &second};
  const Implementations catalogue = one_of_each_way(make_catalogue());
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(
      4,
      [&](Communicator& communicator) {
        run += run_conformance(communicator, catalogue, chosen,
                               UnderSanitizer::each_variant_by_buffers, Usually::covering_sample);
      },
      {}, devices);
  EXPECT_GT(run, 80);
}

TEST_F(DeviceImplementations, HostRanksAreToldWhyThereAreNone) {
  const CudaDevices gpus = count_cuda_devices();
  const std::string why =
      why_not(small_sum(), host_capability(),
              one_shot + "{blocks=1,launch=stream,scratch=device,threads=32,vector=16}");
  EXPECT_EQ(why, gpus.count == 0 ? gpus.why_none
                                 : "the ranks' buffers lie in the host's memory, not on GPUs");
  EXPECT_FALSE(why.empty());
}

TEST_F(DeviceImplementations, OpeningAGpuThatIsNotThereIsAnError) {
  EXPECT_THROW((void)open_cuda_device(count_cuda_devices().count), Error);
  EXPECT_THROW((void)open_cuda_device(-1), Error);
}

TEST_F(DeviceImplementations, ARankKnowsItsDeviceAndWhoSharesIt) {
  PretendedDevice first("first", 12);
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second, &first};
  run_ranks(
      3,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(all_, communicator);
        EXPECT_EQ(capability.architecture, "pretended");
        EXPECT_EQ(capability.value("device.ranks"), communicator.rank() == 1 ? "1" : "2");
        EXPECT_EQ(capability.value("device.processes"), "1");
        EXPECT_EQ(capability.value("device.processors"), communicator.rank() == 1 ? "16" : "12");
        EXPECT_FALSE(capability.has("cuda.unavailable"));
      },
      {}, devices);
}

// Kernels that do not start together may not run at the same time, even of one process.
TEST_F(DeviceImplementations, ADeviceThatAProcessHasOpenedTwiceIsRefused) {
  PretendedDevice first("same", 12);
  PretendedDevice again("same", 12);
  const std::vector<Device*> devices{&first, &again};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(all_, communicator);
        EXPECT_EQ(capability.value("device.ranks"), "2");
        EXPECT_EQ(capability.value("device.openings"), "2");
        EXPECT_NE(why_not(small_sum(), capability,
                          one_shot + "{blocks=4,launch=stream,scratch=device,threads=64,vector=16}")
                      .find("have opened their GPU 2 times"),
                  std::string::npos);
      },
      {}, devices);
}

TEST_F(DeviceImplementations, VariantsFitOnTheDeviceAndTheMessage) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Problem problem = small_sum();
  const auto most_blocks = [&](const std::string& name) {
    std::int64_t most = 0;
    for (const Variant& variant : find(name).variants(problem, topology, device_capability())) {
      EXPECT_TRUE(find(name).supports(problem, topology, device_capability(), variant))
          << to_string(variant);
      // Those for devices that do not reach each other have as many blocks for any message.
      if (word(variant, "scratch") == "device") most = std::max(most, number(variant, "blocks"));
    }
    return most;
  };
  EXPECT_EQ(most_blocks(one_shot), 1);
  problem.message_size = {64 << 20};
  EXPECT_EQ(most_blocks(one_shot), 4) << "16 processors for 4 ranks";
  EXPECT_EQ(most_blocks("cuda.all_reduce_ring"), 4);
}

TEST_F(DeviceImplementations, TwoSmallBlocksShareAProcessor) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Problem problem = small_sum();
  problem.message_size = {64 << 20};
  Capability capability = device_capability();
  capability.features["device.processors"] = "32";
  std::map<std::int64_t, std::int64_t> most_blocks;  // by threads
  for (const Variant& variant : find(one_shot).variants(problem, topology, capability)) {
    std::int64_t& most = most_blocks[number(variant, "threads")];
    if (word(variant, "scratch") == "device") most = std::max(most, number(variant, "blocks"));
  }
  EXPECT_EQ(most_blocks, (std::map<std::int64_t, std::int64_t>{{256, 16}, {512, 4}}));
}

TEST_F(DeviceImplementations, SeveralPacketsAtOnceAreTriedWhereThereAreAsMany) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  const auto vectors = [&](const Problem& problem, const std::string& name) {
    std::set<std::int64_t> found;
    for (const Variant& variant : find(name).variants(problem, topology, device_capability()))
      found.insert(number(variant, "vector"));
    return found;
  };
  Problem problem = small_sum();
  EXPECT_EQ(vectors(problem, one_shot), std::set<std::int64_t>{16});
  problem.message_size = {1 << 20};
  EXPECT_EQ(vectors(problem, one_shot), (std::set<std::int64_t>{16, 64}));
  EXPECT_EQ(vectors(problem, "cuda.all_reduce_ring"), (std::set<std::int64_t>{16, 64}));
  problem.data_type = DataType::f64;
  EXPECT_EQ(vectors(problem, one_shot), std::set<std::int64_t>{16})
      << "the kernel for all types and operators combines packet by packet";
  problem.collective = Collective::all_gather;
  problem.reduce_op = ReduceOp::none;
  EXPECT_EQ(vectors(problem, "cuda.all_gather_push"), (std::set<std::int64_t>{16, 64}));
  const std::vector<Variant> words =
      find("cuda.all_gather_low_latency").variants(problem, topology, device_capability());
  EXPECT_TRUE(std::ranges::none_of(words, [](const Variant& variant) {
    return std::ranges::any_of(variant.parameters,
                               [](const Parameter& of) { return of.name == "vector"; });
  }));
}

// A rank reduces 16 KiB of them: as much as 256 threads of 64 bytes hold, or 1024 of 16.
TEST_F(DeviceImplementations, NoMoreThreadsArePlannedThanARanksShareKeepsBusy) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Problem problem = small_sum();
  problem.message_size = {64 << 10};
  using Grid = std::array<std::int64_t, 3>;  // blocks, threads, vector
  const auto planned = [&](const std::string& name) {
    problem.collective = find(name).collective();
    std::set<Grid> found;
    for (const Variant& variant : find(name).variants(problem, topology, device_capability()))
      if (word(variant, "scratch") == "device")
        found.insert(
            {number(variant, "blocks"), number(variant, "threads"), number(variant, "vector")});
    return found;
  };
  const std::set<Grid> of_shares{{1, 256, 16}, {1, 256, 64}, {1, 512, 16}, {4, 256, 16}};
  for (const char* const name :
       {"cuda.all_reduce_two_shot_pull", "cuda.all_reduce_two_shot_push", "cuda.all_reduce_ring",
        "cuda.all_reduce_ring_both_ways", "cuda.all_reduce_pipeline", "cuda.reduce_two_shot"})
    EXPECT_EQ(planned(name), of_shares) << name;
  EXPECT_EQ(planned(one_shot), (std::set<Grid>{{1, 256, 16},
                                               {1, 256, 64},
                                               {1, 512, 16},
                                               {1, 512, 64},
                                               {4, 256, 16},
                                               {4, 256, 64},
                                               {4, 512, 16}}));
}

TEST_F(DeviceImplementations, EveryVectorIsTriedByTheConformanceTest) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Problem problem = small_sum();
  problem.message_size = {512 << 10};
  problem.registered = true;
  std::multiset<std::pair<std::string, std::int64_t>> tried_ones;
  for (const Variant& variant : extreme_variants(
           find("cuda.all_reduce_two_shot_pull").variants(problem, topology, device_capability())))
    tried_ones.emplace(word(variant, "launch"), number(variant, "vector"));
  for (const char* const launch : {"stream", "graph"})
    for (const std::int64_t vector : {16, 64})
      EXPECT_EQ(tried_ones.count({launch, vector}), 2U) << launch << ", " << vector << " bytes";
}

// The device's own graph is not the caller's: it is captured by the launch, and refused by a device
// that captures nothing.
TEST_F(DeviceImplementations, ALaunchByGraphReplaysWhatWasCaptured) {
  PretendedDevice device;
  const std::vector<Device*> devices{&device, &device};
  const Implementation& implementation = find(one_shot);
  Problem problem = small_sum();
  problem.registered = true;
  const auto run = [&](const std::string& launch) {
    run_ranks(
        2,
        [&](Communicator& communicator) {
          const DeviceMemory send(device, {16});
          const DeviceMemory receive(device, {16});
          const auto operation =
              implementation.prepare(communicator, {problem, 0, {send.bytes(), receive.bytes()}},
                                     parse_variant(one_shot + "{blocks=1,launch=" + launch +
                                                   ",scratch=device,threads=32,vector=16}"),
                                     soon_enough());
          for (int call = 0; call < 3; ++call) {
            const std::vector<float> input(4, static_cast<float>(call + 1));
            device.write(send.bytes().data(), std::as_bytes(std::span(input)));
            communicator.barrier(soon_enough());
            operation->start();
            operation->wait(soon_enough());
            std::vector<float> sums(4);
            device.read(std::as_writable_bytes(std::span(sums)), receive.bytes().data());
            EXPECT_EQ(sums, std::vector<float>(4, static_cast<float>(2 * call + 2)));
          }
          communicator.barrier(soon_enough());
        },
        {}, devices);
  };
  run("stream");
  EXPECT_EQ(device.count_replays(), 0);
  run("graph");
  EXPECT_EQ(device.count_replays(), 3) << "of one launch for both ranks";
  device.refuse_captures();
  run("stream");
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const DeviceMemory send(device, {16});
        const DeviceMemory receive(device, {16});
        EXPECT_THROW(
            (void)implementation.prepare(
                communicator, {problem, 0, {send.bytes(), receive.bytes()}},
                parse_variant(one_shot +
                              "{blocks=1,launch=graph,scratch=device,threads=32,vector=16}"),
                soon_enough()),
            Error);
      },
      {}, devices);
}

TEST_F(DeviceImplementations, SayWhatTheyCannotRun) {
  const std::string good =
      one_shot + "{blocks=4,launch=stream,scratch=device,threads=64,vector=16}";
  EXPECT_EQ(why_not(small_sum(), device_capability(), good), "");
  EXPECT_EQ(why_not(small_sum(), device_capability(), to_string(variant_of(one_shot))), "")
      << "which tests on a GPU use";
  EXPECT_NE(why_not(small_sum(), device_capability(), good, 2).find("2 nodes"), std::string::npos);
  Capability capability = device_capability();
  capability.features["device.processes"] = "3";
  EXPECT_NE(why_not(small_sum(), capability, good).find("3 processes share a GPU"),
            std::string::npos);
  Problem problem = small_sum();
  problem.graph_capture = true;
  EXPECT_EQ(why_not(problem, device_capability(), good), "");
  problem.registered = true;
  EXPECT_EQ(why_not(problem, device_capability(),
                    one_shot + "{blocks=4,launch=graph,scratch=device,threads=64,vector=16}"),
            "launch=graph is for calls that no caller captures");
  problem = small_sum();
  problem.message_size = {std::uint64_t{8} << 30};
  EXPECT_NE(why_not(problem, device_capability(), good).find("scratch memory"), std::string::npos);
  problem = small_sum();
  problem.registered = true;
  EXPECT_EQ(why_not(problem, device_capability(),
                    one_shot + "{blocks=1,launch=stream,scratch=host,threads=32,vector=16}"),
            "scratch=host is for plain buffers");
  problem = small_sum();
  problem.collective = Collective::all_to_all;
  problem.reduce_op = ReduceOp::none;
  const std::string by_engine =
      "cuda.all_to_all_copy_pull{blocks=1,launch=stream,queues=4,scratch=device,threads=32}";
  EXPECT_EQ(why_not(problem, device_capability(), by_engine), "its copies need registered buffers");
  problem.registered = true;
  EXPECT_EQ(why_not(problem, device_capability(), by_engine), "");
  for (const char* const queues : {"", "queues=0,", "queues=17,"})
    EXPECT_EQ(why_not(problem, device_capability(),
                      "cuda.all_to_all_copy_pull{blocks=1,launch=stream," + std::string(queues) +
                          "scratch=device,threads=32}"),
              "queues must be a number from 1 to 16");
  problem.in_place = true;
  EXPECT_EQ(why_not(problem, device_capability(), by_engine), "it does not work in place");
  const std::vector<std::pair<std::string, std::string>> settings{
      {"{blocks=8,launch=stream,scratch=device,threads=512,vector=16}",
       "8 blocks of each rank must run at once; here 4 can"},
      {"{blocks=16,launch=stream,scratch=device,threads=256,vector=16}",
       "16 blocks of each rank must run at once; here 8 can"},
      {"{blocks=0,threads=64,vector=16}", "blocks must be a number from 1 to 64"},
      {"{blocks=65,threads=64,vector=16}", "blocks must be"},
      {"{blocks=few,threads=64,vector=16}", "blocks must be"},
      {"{threads=64,vector=16}", "blocks must be"},
      {"{blocks=1,threads=48,vector=16}", "threads must be a multiple of 32 up to 512"},
      {"{blocks=1,threads=1024,vector=16}", "threads must be"},
      {"{blocks=1,threads=64}", "vector must be 16 or 64 bytes"},
      {"{blocks=1,threads=64,vector=32}", "vector must be 16 or 64 bytes"},
      {"{blocks=1,threads=64,vector=64}", "scratch must be device or host"},
      {"{blocks=1,scratch=device,threads=64,vector=16}", "launch must be stream or graph"},
      {"{blocks=1,launch=later,scratch=device,threads=64,vector=16}",
       "launch must be stream or graph"},
      {"{blocks=1,launch=graph,scratch=device,threads=64,vector=16}",
       "launch=graph is for registered buffers"},
      {"{blocks=1,launch=stream,scratch=disk,threads=64,vector=16}",
       "scratch must be device or host"},
      {"{blocks=1,chunk=64,launch=stream,scratch=host,threads=64,vector=16}",
       "its parameters are blocks, launch, scratch, threads, vector"},
  };
  for (const auto& [setting, why] : settings)
    EXPECT_NE(why_not(small_sum(), device_capability(), one_shot + setting).find(why),
              std::string::npos)
        << setting << ": " << why_not(small_sum(), device_capability(), one_shot + setting);
  EXPECT_NE(why_not(small_sum(), device_capability(),
                    "cuda.all_reduce_ring{blocks=1,chunk=8,launch=stream,scratch=device,threads=32,"
                    "vector=16}")
                .find("chunk must be a number of bytes from 16 to 1 GiB"),
            std::string::npos);
  EXPECT_EQ(why_not(small_sum(), device_capability(),
                    "cuda.all_reduce_pipeline{blocks=1,chunk=64,launch=stream,scratch=device,"
                    "slots=1,threads=32,vector=16}"),
            "slots must be a number from 2 to 16");
  EXPECT_EQ(why_not(small_sum(), device_capability(),
                    "cuda.all_reduce_one_shot{blocks=1,launch=stream,scratch=device,slots=2,"
                    "threads=32,vector=16}"),
            "its parameters are blocks, launch, scratch, threads, vector");
}

// As multicast wants it.
TEST_F(DeviceImplementations, AreRightWhereEachRankHasADeviceOfItsOwn) {
  std::deque<PretendedDevice> own;
  std::vector<Device*> devices;
  for (const char* const name : {"first", "second", "third"})
    devices.push_back(&own.emplace_back(name, 4));
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  Implementations catalogue = make_device_implementations();
  std::erase_if(catalogue, [](const auto& one) { return !one->name().ends_with("_multicast"); });
  EXPECT_EQ(catalogue.size(), 5u);
  run_ranks(
      3,
      [&](Communicator& communicator) {
        run += run_conformance(communicator, catalogue, chosen,
                               UnderSanitizer::each_variant_by_buffers, Usually::covering_sample);
      },
      {}, devices);
  EXPECT_GT(run, 3 * 20);
}

TEST_F(DeviceImplementations, MulticastSaysWhatItNeeds) {
  const std::string good =
      "cuda.all_reduce_two_shot_multicast{blocks=1,launch=stream,scratch=device,threads=32,vector="
      "16}";
  Capability capability = device_capability();
  EXPECT_NE(why_not(small_sum(), capability, good).find("this device does not offer"),
            std::string::npos);
  capability.features["device.multicast"] = "pretended";
  EXPECT_EQ(why_not(small_sum(), capability, good),
            "4 ranks share a GPU, and multicast reaches each GPU once");
  capability.features["device.ranks"] = "1";
  EXPECT_EQ(why_not(small_sum(), capability, good), "");
  Problem problem = small_sum();
  problem.data_type = DataType::f64;
  EXPECT_NE(why_not(problem, capability, good).find("f32, f16 and bf16 alone"), std::string::npos);
  problem = small_sum();
  problem.reduce_op = ReduceOp::max;
  EXPECT_NE(why_not(problem, capability, good).find("f32, f16 and bf16 alone"), std::string::npos);
}

TEST_F(DeviceImplementations, LinesGoWhereTheyAreSeenWhole) {
  const std::string in_lines = "cuda.all_reduce_one_shot_low_latency_128";
  const std::string good = in_lines + "{blocks=1,launch=stream,scratch=device,threads=32}";
  Capability capability = device_capability();
  EXPECT_EQ(why_not(small_sum(), capability, good), "") << "four ranks share the device";
  EXPECT_EQ(why_not(small_sum(), capability,
                    in_lines + "{blocks=1,launch=stream,scratch=host,threads=32}"),
            "scratch must be device");
  capability.features["device.ranks"] = "2";
  EXPECT_NE(why_not(small_sum(), capability, good).find("no link like NVLink"), std::string::npos);
  capability.features["device.whole_lines"] = "peers";
  EXPECT_EQ(why_not(small_sum(), capability, good), "");
  capability.features.erase("device.whole_lines");
  EXPECT_NE(why_not(small_sum(), capability, good).find("no link like NVLink"), std::string::npos);
}

TEST_F(DeviceImplementations, CostsAreThoseOfTheLiterature) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Problem problem = small_sum();
  problem.message_size = {1 << 20};
  const auto cost = [&](const std::string& name) {
    const Implementation& one = find(name);
    return one.cost(problem, topology,
                    one.variants(problem, topology, device_capability()).front());
  };
  EXPECT_EQ(cost(one_shot).steps, 1);
  EXPECT_EQ(cost(one_shot).bytes_per_rank, 3 << 20);
  EXPECT_EQ(cost("cuda.all_reduce_one_shot_low_latency").bytes_per_rank, 6 << 20);
  EXPECT_EQ(cost("cuda.all_reduce_one_shot_low_latency_128").bytes_per_rank, (3 << 20) * 16.0 / 15);
  EXPECT_EQ(cost("cuda.all_reduce_two_shot_pull").bytes_per_rank, 6 << 18);
  EXPECT_EQ(cost("cuda.all_reduce_pipeline").steps, 3) << "windows of 4 times 128 KiB";
  EXPECT_EQ(cost("cuda.all_reduce_pipeline").bytes_per_rank, 6 << 18);
  EXPECT_EQ(cost("cuda.all_reduce_ring").steps, 6);
  EXPECT_EQ(cost("cuda.all_reduce_ring").bytes_per_rank, 6 << 18);
  for (const auto& one : all_) {
    problem.collective = one->collective();
    problem.reduce_op = shape_of(problem.collective).reduces ? ReduceOp::sum : ReduceOp::none;
    EXPECT_GT(cost(std::string(one->name())).bytes_per_rank, 0) << one->name();
  }
}

}  // namespace
}  // namespace colltune::test
