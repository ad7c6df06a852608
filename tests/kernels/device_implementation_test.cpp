// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The way from a call to a GPU's kernel and back, with host threads in the place of the GPU.

#include "device/device_implementation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/cuda_device.h"
#include "conformance.h"
#include "support/pretended_device.h"
#include "support/pretended_stream.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;

#ifdef __SANITIZE_THREAD__
const std::vector<int> rank_counts{3};
#else
const std::vector<int> rank_counts{1, 2, 3, 4, 5, 8};
#endif

const std::string one_shot = "cuda.all_reduce_one_shot";

/// Those whose way is tried. Under ThreadSanitizer, which takes twenty times as long, two: the
/// bodies have a test of their own.
Implementations tried(Implementations all) {
#ifdef __SANITIZE_THREAD__
  std::erase_if(all, [](const auto& one) {
    return one->name() != one_shot && one->name() != "cuda.broadcast_chain";
  });
#endif
  return all;
}

/// Four floats on each rank.
Problem small_sum() {
  return {.collective = Collective::all_reduce,
          .data_type = DataType::f32,
          .reduce_op = ReduceOp::sum,
          .message_size = {16}};
}

Variant variant_of(const std::string& name) {
  return parse_variant(name + "{blocks=1,launch=stream,scratch=device,threads=32}");
}

/// A call of small_sum() on `communicator`'s device.
struct SmallCall {
  SmallCall(Communicator& communicator, const Implementation& implementation)
      : send(*communicator.device(), {16}),
        receive(*communicator.device(), {16}),
        operation(implementation.prepare(
            communicator, {small_sum(), 0, {send.bytes(), receive.bytes()}},
            variant_of(std::string(implementation.name())), soon_enough())) {}
  DeviceMemory send;
  DeviceMemory receive;
  std::unique_ptr<Operation> operation;
};

class DeviceImplementations : public testing::Test {
 protected:
  [[nodiscard]] const Implementation& find(const std::string& name) const {
    return *find_implementation(all_, name);
  }
  /// Of a host rank of this machine.
  [[nodiscard]] Capability host_capability() const {
    Capability capability;
    run_ranks(
        1, [&](Communicator& communicator) { capability = detect_capability(all_, communicator); });
    return capability;
  }
  [[nodiscard]] static Capability device_capability() {
    return {.architecture = "pretended",
            .features = {{"device.processors", "16"},
                         {"device.ranks", "4"},
                         {"device.processes", "1"},
                         {"device.whole_lines", "own"}}};
  }
  [[nodiscard]] std::string why_not(const Problem& problem, const Capability& capability,
                                    const std::string& variant, int nodes = 1) const {
    const Variant parsed = parse_variant(variant);
    return find(parsed.implementation)
        .supports(problem, {.nodes = nodes, .ranks_per_node = 4, .ranks = 4 * nodes}, capability,
                  parsed)
        .reason();
  }

  Implementations all_ = make_device_implementations();
};

class DeviceConformance : public testing::TestWithParam<int> {};

TEST_P(DeviceConformance, EveryImplementationIsRightOnASharedDevice) {
  // For four blocks of up to four ranks.
  PretendedDevice device("shared", std::min(16, 4 * GetParam()));
  const std::vector<Device*> devices(static_cast<std::size_t>(GetParam()), &device);
  const Implementations catalogue = tried(make_catalogue());
  std::atomic<int> run = 0;
  run_ranks(
      GetParam(),
      [&](Communicator& communicator) { run += run_conformance(communicator, catalogue); }, {},
      devices);
  EXPECT_GT(run, 40 * GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceConformance, testing::ValuesIn(rank_counts));

TEST_F(DeviceImplementations, AreRightAmongSeveralDevices) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  // As many on each: the variants follow from how many ranks share a device.
  const std::vector<Device*> devices{&first, &second, &first, &second};
  const Implementations catalogue = tried(make_catalogue());
  std::atomic<int> run = 0;
  run_ranks(
      4, [&](Communicator& communicator) { run += run_conformance(communicator, catalogue); }, {},
      devices);
  EXPECT_GT(run, 160);
}

TEST_F(DeviceImplementations, HostRanksAreToldWhyThereAreNone) {
  const CudaDevices gpus = count_cuda_devices();
  const std::string why = why_not(small_sum(), host_capability(),
                                  one_shot + "{blocks=1,launch=stream,scratch=device,threads=32}");
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

TEST_F(DeviceImplementations, VariantsFitOnTheDeviceAndTheMessage) {
  const Topology topology{.nodes = 1, .ranks_per_node = 4, .ranks = 4};
  Problem problem = small_sum();
  const auto most_blocks = [&](const std::string& name) {
    std::int64_t most = 0;
    for (const Variant& variant : find(name).variants(problem, topology, device_capability())) {
      EXPECT_TRUE(find(name).supports(problem, topology, device_capability(), variant))
          << to_string(variant);
      most = std::max(most, number(variant, "blocks"));
    }
    return most;
  };
  EXPECT_EQ(most_blocks(one_shot), 1);
  problem.message_size = {64 << 20};
  EXPECT_EQ(most_blocks(one_shot), 4) << "16 processors for 4 ranks";
  EXPECT_EQ(most_blocks("cuda.all_reduce_ring"), 4);
}

TEST_F(DeviceImplementations, SayWhatTheyCannotRun) {
  const std::string good = one_shot + "{blocks=4,launch=stream,scratch=device,threads=64}";
  EXPECT_EQ(why_not(small_sum(), device_capability(), good), "");
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
                    one_shot + "{blocks=4,launch=graph,scratch=device,threads=64}"),
            "launch=graph is for calls that no caller captures");
  problem = small_sum();
  problem.message_size = {std::uint64_t{8} << 30};
  EXPECT_NE(why_not(problem, device_capability(), good).find("scratch memory"), std::string::npos);
  problem = small_sum();
  problem.registered = true;
  EXPECT_EQ(why_not(problem, device_capability(),
                    one_shot + "{blocks=1,launch=stream,scratch=host,threads=32}"),
            "scratch=host is for plain buffers");
  problem = small_sum();
  problem.collective = Collective::all_to_all;
  problem.reduce_op = ReduceOp::none;
  const std::string by_engine =
      "cuda.all_to_all_copy_pull{blocks=1,launch=stream,scratch=device,threads=32}";
  EXPECT_EQ(why_not(problem, device_capability(), by_engine), "its copies need registered buffers");
  problem.registered = true;
  EXPECT_EQ(why_not(problem, device_capability(), by_engine), "");
  problem.in_place = true;
  EXPECT_EQ(why_not(problem, device_capability(), by_engine), "it does not work in place");
  const std::vector<std::pair<std::string, std::string>> settings{
      {"{blocks=8,launch=stream,scratch=device,threads=64}",
       "8 blocks of each rank must run at once; here 4 can"},
      {"{blocks=0,threads=64}", "blocks must be a number from 1 to 64"},
      {"{blocks=65,threads=64}", "blocks must be"},
      {"{blocks=few,threads=64}", "blocks must be"},
      {"{threads=64}", "blocks must be"},
      {"{blocks=1,threads=48}", "threads must be a multiple of 32 up to 512"},
      {"{blocks=1,threads=1024}", "threads must be"},
      {"{blocks=1,threads=64}", "scratch must be device or host"},
      {"{blocks=1,scratch=device,threads=64}", "launch must be stream or graph"},
      {"{blocks=1,launch=later,scratch=device,threads=64}", "launch must be stream or graph"},
      {"{blocks=1,launch=graph,scratch=device,threads=64}",
       "launch=graph is for registered buffers"},
      {"{blocks=1,launch=stream,scratch=disk,threads=64}", "scratch must be device or host"},
      {"{blocks=1,chunk=64,launch=stream,scratch=host,threads=64}",
       "its parameters are blocks, launch, scratch, threads"},
  };
  for (const auto& [setting, why] : settings)
    EXPECT_NE(why_not(small_sum(), device_capability(), one_shot + setting).find(why),
              std::string::npos)
        << setting << ": " << why_not(small_sum(), device_capability(), one_shot + setting);
  EXPECT_NE(
      why_not(small_sum(), device_capability(),
              "cuda.all_reduce_ring{blocks=1,chunk=8,launch=stream,scratch=device,threads=32}")
          .find("chunk must be a number of bytes from 16 to 1 GiB"),
      std::string::npos);
  EXPECT_EQ(why_not(small_sum(), device_capability(),
                    "cuda.all_reduce_pipeline{blocks=1,chunk=64,launch=stream,scratch=device,"
                    "slots=1,threads=32}"),
            "slots must be a number from 2 to 16");
  EXPECT_EQ(why_not(small_sum(), device_capability(),
                    "cuda.all_reduce_one_shot{blocks=1,launch=stream,scratch=device,slots=2,"
                    "threads=32}"),
            "its parameters are blocks, launch, scratch, threads");
}

// As multicast wants it.
TEST_F(DeviceImplementations, AreRightWhereEachRankHasADeviceOfItsOwn) {
  std::deque<PretendedDevice> own;
  std::vector<Device*> devices;
  for (const char* const name : {"first", "second", "third"})
    devices.push_back(&own.emplace_back(name, 4));
  std::atomic<int> run = 0;
  Implementations catalogue = make_device_implementations();
  std::erase_if(catalogue, [](const auto& one) { return !one->name().ends_with("_multicast"); });
  EXPECT_EQ(catalogue.size(), 5u);
  run_ranks(
      3, [&](Communicator& communicator) { run += run_conformance(communicator, catalogue); }, {},
      devices);
  EXPECT_GT(run, 3 * 30);
}

TEST_F(DeviceImplementations, MulticastSaysWhatItNeeds) {
  const std::string good =
      "cuda.all_reduce_two_shot_multicast{blocks=1,launch=stream,scratch=device,threads=32}";
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

/// The reason with which each rank of `devices` ends where rank `missing` never begins.
std::vector<std::string> run_without(int missing, const std::vector<Device*>& devices,
                                     const Implementation& implementation,
                                     std::vector<int>* named = nullptr) {
  const int ranks = static_cast<int>(devices.size());
  std::vector<std::string> reasons(devices.size());
  if (named != nullptr) named->assign(devices.size(), -1);
  run_ranks(
      ranks,
      [&](Communicator& communicator) {
        const auto rank = static_cast<std::size_t>(communicator.rank());
        const SmallCall call(communicator, implementation);
        if (communicator.rank() != missing) call.operation->start();
        communicator.barrier(soon_enough());
        if (communicator.rank() != missing) {
          try {
            call.operation->wait(std::chrono::steady_clock::now() + 100ms);
          } catch (const RankMissing& error) {
            reasons[rank] = error.what();
            if (named != nullptr) (*named)[rank] = error.rank();
          }
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
  return reasons;
}

TEST_F(DeviceImplementations, ARankThatNeverComesToASharedDeviceIsNamed) {
  PretendedDevice device;
  std::vector<int> named;
  const auto reasons = run_without(1, {&device, &device, &device}, find(one_shot), &named);
  EXPECT_EQ(named, (std::vector{1, -1, 1}));
  EXPECT_NE(reasons[0].find("its call on the same device of rank 1"), std::string::npos)
      << reasons[0];
}

// The kernels of the first device run, and wait for what never comes.
TEST_F(DeviceImplementations, ARankThatNeverComesToAnotherDeviceIsNamed) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  std::vector<int> named;
  const auto reasons = run_without(2, {&first, &first, &second}, find(one_shot), &named);
  EXPECT_EQ(named, (std::vector{2, 2, -1}));
  EXPECT_NE(reasons[0].find("a signal on the device of rank 2"), std::string::npos) << reasons[0];
}

// Its buffers may be gone: the kernel that would write there is not started.
TEST_F(DeviceImplementations, WhoComesAfterAnotherHasGivenUpStartsNothing) {
  PretendedDevice device;
  const std::vector<Device*> devices{&device, &device};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, find(one_shot));
        device.fill(call.receive.bytes(), 0x5A);
        if (communicator.rank() == 0) {
          call.operation->start();
          EXPECT_THROW(call.operation->wait(std::chrono::steady_clock::now() + 50ms), RankMissing);
          communicator.barrier(soon_enough());
        } else {
          communicator.barrier(soon_enough());
          call.operation->start();
          try {
            call.operation->wait(soon_enough());
            ADD_FAILURE() << "the call came to an end";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), StatusCode::aborted);
            EXPECT_NE(std::string(error.what()).find("rank 0 has given up"), std::string::npos);
          }
        }
        communicator.barrier(soon_enough());
        std::vector<std::byte> received(16);
        device.read(received, call.receive.bytes().data());
        EXPECT_EQ(received, std::vector<std::byte>(16, std::byte{0x5A}));
      },
      {}, devices);
}

TEST_F(DeviceImplementations, ALaunchThatFailsFailsOnAllItsRanks) {
  PretendedDevice device;
  const std::vector<Device*> devices{&device, &device};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, find(one_shot));
        communicator.barrier(soon_enough());
        device.break_down();
        call.operation->start();
        try {
          call.operation->wait(soon_enough());
          ADD_FAILURE() << "the call came to an end";
        } catch (const Error& error) {
          EXPECT_STREQ(error.what(), "the pretended device starts nothing");
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, ADeviceThatSaysNothingOfItselfIsAnErrorOnAllRanks) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.break_down();
  const std::vector<Device*> devices{&first, &second, &first};
  run_ranks(
      3,
      [&](Communicator& communicator) {
        try {
          (void)detect_capability(all_, communicator);
          ADD_FAILURE() << "rank " << communicator.rank();
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("the device of rank 1 cannot be used"),
                    std::string::npos);
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, TheAbortFlagEndsAKernel) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const SmallCall call(communicator, find(one_shot));
        if (communicator.rank() == 0) {
          call.operation->start();
          EXPECT_THROW(call.operation->wait(soon_enough()), RankMissing);
        } else {
          communicator.abort_flag().raise();
        }
      },
      {}, devices);
}

/// What all ranks of `devices` throw from prepare.
std::vector<std::string> prepare_in_vain(const std::vector<Device*>& devices,
                                         const Implementation& implementation) {
  std::vector<std::string> thrown(devices.size());
  run_ranks(
      static_cast<int>(devices.size()),
      [&](Communicator& communicator) {
        try {
          const SmallCall call(communicator, implementation);
        } catch (const Error& error) {
          thrown[static_cast<std::size_t>(communicator.rank())] = error.what();
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
  return thrown;
}

TEST_F(DeviceImplementations, WhereOneDeviceHasNoMemoryLeftAllRanksSaySo) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.limit_memory(1024);
  for (const std::string& reason : prepare_in_vain({&first, &second}, find(one_shot)))
    EXPECT_NE(reason.find("rank 1: the pretended device has no memory left"), std::string::npos)
        << reason;
  second.limit_memory(~std::size_t{0});
  for (const std::string& reason : prepare_in_vain({&first, &second}, find(one_shot)))
    EXPECT_EQ(reason, "");
}

TEST_F(DeviceImplementations, DevicesThatCannotReachEachOtherAreAnErrorOnAllRanks) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  first.forbid_peers();
  for (const std::string& reason : prepare_in_vain({&first, &second}, find(one_shot)))
    EXPECT_NE(reason.find("rank 0: first cannot reach second"), std::string::npos) << reason;
}

// It says that it can, which proves nothing.
TEST_F(DeviceImplementations, ADeviceWhoseWritesDoNotComeIsAnErrorOnAllRanks) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  second.lose_fills_of_peers();
  for (const std::string& reason : prepare_in_vain({&first, &second, &second}, find(one_shot)))
    EXPECT_NE(reason.find("rank 0: what the device of rank 1 wrote into this rank's memory did not "
                          "come"),
              std::string::npos)
        << reason;
}

TEST_F(DeviceImplementations, ThroughTheHostsMemoryDevicesNeedNotReachEachOther) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  first.forbid_peers();
  second.forbid_peers();
  const std::vector<Device*> devices{&first, &second, &first, &second};
  run_ranks(
      4,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(all_, communicator);
        const Topology topology = topology_of(communicator, capability);
        for (const auto& one : all_) {
          ConformanceCase test;
          test.problem = {.collective = one->collective(),
                          .data_type = DataType::bf16,
                          .message_size = {4 * 1006}};
          if (!shape_of(one->collective()).reduces) test.problem.reduce_op = ReduceOp::none;
          for (const Variant& variant : one->variants(test.problem, topology, capability))
            if (word(variant, "scratch") == "host" &&
                one->supports(test.problem, topology, capability, variant)) {
              EXPECT_EQ(find_fault(communicator, *one, variant, test), "") << to_string(variant);
            }
        }
      },
      {}, devices);
}

/// A queue that a caller captures: what is put on it is kept, and run with each replay.
struct CapturingStream : PretendedStream {
  CapturingStream() : PretendedStream{&CapturingStream::keep} {}
  static void keep(PretendedStream* stream, void (*work)(void*), void* argument) {
    static_cast<CapturingStream*>(stream)->captured.emplace_back(work, argument);
  }
  void replay() const {
    for (const auto& [work, argument] : captured) work(argument);
  }
  std::vector<std::pair<void (*)(void*), void*>> captured;
};

/// Four floats on each rank, in a call that the caller captures.
struct CapturedCall {
  CapturedCall(Communicator& communicator, const Implementation& implementation)
      : send(*communicator.device(), {16}), receive(*communicator.device(), {16}) {
    Problem problem = small_sum();
    problem.graph_capture = true;
    operation =
        implementation.prepare(communicator, {problem, 0, {send.bytes(), receive.bytes()}},
                               variant_of(std::string(implementation.name())), soon_enough());
  }
  DeviceMemory send;
  DeviceMemory receive;
  std::unique_ptr<Operation> operation;
};

TEST_F(DeviceImplementations, ACapturedCallCountsOnFromReplayToReplay) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  PretendedDevice third("third");
  const std::vector<Device*> devices{&first, &second, &third};
  for (const std::string name :
       {"cuda.all_reduce_one_shot", "cuda.all_reduce_one_shot_low_latency",
        "cuda.all_reduce_one_shot_low_latency_128", "cuda.all_reduce_two_shot_poison"})
    run_ranks(
        3,
        [&](Communicator& communicator) {
          const CapturedCall call(communicator, find(name));
          CapturingStream stream;
          call.operation->submit(static_cast<PretendedStream*>(&stream));
          EXPECT_EQ(stream.captured.size(), 1u);
          for (int replay = 0; replay < 6; ++replay) {
            const auto value = static_cast<float>(communicator.rank() + replay);
            const std::vector<float> input(4, value);
            communicator.device()->write(call.send.bytes().data(), std::as_bytes(std::span(input)));
            stream.replay();
            std::vector<float> sums(4);
            communicator.device()->read(std::as_writable_bytes(std::span(sums)),
                                        call.receive.bytes().data());
            EXPECT_EQ(sums, std::vector<float>(4, static_cast<float>(3 + 3 * replay)))
                << name << ", replay " << replay;
          }
          EXPECT_NO_THROW(call.operation->check_submitted());
          communicator.barrier(soon_enough());
        },
        {}, devices);
}

TEST_F(DeviceImplementations, ARankThatDoesNotReplayIsNamed) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const CapturedCall call(communicator, find(one_shot));
        CapturingStream stream;
        call.operation->submit(static_cast<PretendedStream*>(&stream));
        if (communicator.rank() == 0) {
          // What the device's own limit does in the end, the host may do at once.
          std::jthread impatient([&] {
            std::this_thread::sleep_for(20ms);
            call.operation->end_submitted();
          });
          stream.replay();
          try {
            call.operation->check_submitted();
            ADD_FAILURE() << "the replay came to an end";
          } catch (const RankMissing& error) {
            EXPECT_EQ(error.rank(), 1);
          }
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
}

TEST_F(DeviceImplementations, WhatCannotBeCapturedSaysSo) {
  PretendedDevice device;
  run_ranks(
      2,
      [&](Communicator& communicator) {
        CapturingStream stream;
        const CapturedCall shared(communicator, find(one_shot));
        const SmallCall uncaptured(communicator, find(one_shot));
        EXPECT_THROW(shared.operation->submit(static_cast<PretendedStream*>(&stream)), Error);
        EXPECT_THROW(uncaptured.operation->submit(static_cast<PretendedStream*>(&stream)), Error);
        EXPECT_TRUE(stream.captured.empty());
        communicator.barrier(soon_enough());
      },
      {}, std::vector<Device*>{&device, &device});
}

TEST_F(DeviceImplementations, MoreBlocksThanRunAtOnceAreAnErrorOnAllRanks) {
  PretendedDevice device("small", 2);
  for (const std::string& reason : prepare_in_vain({&device, &device, &device}, find(one_shot)))
    EXPECT_NE(reason.find("more blocks than processors"), std::string::npos) << reason;
}

TEST_F(DeviceImplementations, BuffersInTheHostsMemoryAreRefused) {
  run_ranks(1, [&](Communicator& communicator) {
    std::vector<std::byte> bytes(16);
    EXPECT_THROW((void)find(one_shot).prepare(communicator, {small_sum(), 0, {bytes, bytes}},
                                              variant_of(one_shot), soon_enough()),
                 Error);
  });
}

TEST_F(DeviceImplementations, ADeviceForSomeRanksOnlyIsNoWorld) {
  AbortFlag abort_flag;
  PretendedDevice device;
  const std::vector<Device*> devices{&device};
  EXPECT_THROW((void)make_thread_world(2, abort_flag, {}, devices), Error);
}

}  // namespace
}  // namespace colltune::test
