// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/latency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "colltune/vocabulary/error.h"

namespace colltune::speed_of_light {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kib(std::uint64_t n) { return Bytes{n << 10}; }
constexpr Bytes mib(std::uint64_t n) { return Bytes{n << 20}; }

Device h100() {
  return resolve_device(
      {.name = "NVIDIA H100 80GB HBM3", .platform = "cuda", .architecture = "sm_90"});
}
Device b200() {
  return resolve_device({.name = "NVIDIA B200", .platform = "cuda", .architecture = "sm_100"});
}

/// The device of XLA's test of its network model.
Device round_figures() {
  return resolve_device({.name = "test",
                         .platform = "cuda",
                         .architecture = "sm_90",
                         .links = 18,
                         .launch_us = 100.0,
                         .nic_gb_per_s = 100.0,
                         .chunk_prep_us = 100.0,
                         .round_trip_us = 100.0,
                         .chunk_bytes = 4u << 20,
                         .gpus_per_node = 8});
}

void expect_close(Microseconds time, double expected) {
  EXPECT_NEAR(time.count(), expected, 1e-6 * expected);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SpeedOfLight, DevicesHaveTheFiguresOfTheTables) {
  EXPECT_DOUBLE_EQ(h100().launch.count(), 45);
  EXPECT_NEAR(h100().nic, 25.002, 1e-9);
  EXPECT_NEAR(h100().chunk_prep.count(), 6.003, 1e-9);
  EXPECT_NEAR(h100().round_trip.count(), 31.0005, 1e-9);
  EXPECT_NEAR(b200().nic, 50.004, 1e-9);
  EXPECT_NEAR(b200().chunk_prep.count(), 2.0025, 1e-9);
  EXPECT_NEAR(b200().round_trip.count(), 21.0015, 1e-9);
  const Device h200 =
      resolve_device({.name = "NVIDIA H200", .platform = "cuda", .architecture = "sm_90"});
  EXPECT_NEAR(h200.nic, 50.004, 1e-9);
  EXPECT_NEAR(h200.chunk_prep.count(), 6.003, 1e-9);
  EXPECT_DOUBLE_EQ(h200.barrier.count(), 1.5);
}

// By hand: the transfer of a part of S bytes takes S / 100000 * 1.025 us; preparing one chunk or
// less 100 us, the round trip 100 us.
TEST(SpeedOfLight, NetworkGoldens) {
  const Device device = round_figures();
  const auto latency = [&](EntryKind kind, int nodes) {
    return network_latency(kind, mib(8), {.nodes = nodes, .ranks = 8 * nodes}, device);
  };
  const auto ring = [](int nodes, int rounds) {
    const int ranks = 8 * nodes;
    return 100 + rounds * (8388608.0 / ranks / 1e5 * 1.025 + 200) * (ranks - 1) / 8;
  };
  for (const int nodes : {1, 2, 4}) {
    expect_close(latency(EntryKind::all_gather, nodes), ring(nodes, 1));
    expect_close(latency(EntryKind::reduce_scatter, nodes), ring(nodes, 1));
    expect_close(latency(EntryKind::all_reduce, nodes), ring(nodes, 2));
  }
  // The figures as they are known, to three decimals.
  EXPECT_NEAR(latency(EntryKind::all_gather, 1).count(), 284.404, 1e-3);
  EXPECT_NEAR(latency(EntryKind::all_gather, 2).count(), 485.076, 1e-3);
  EXPECT_NEAR(latency(EntryKind::all_gather, 4).count(), 885.412, 1e-3);
  EXPECT_NEAR(latency(EntryKind::all_reduce, 1).count(), 468.809, 1e-3);
  EXPECT_NEAR(latency(EntryKind::all_reduce, 2).count(), 870.152, 1e-3);
  EXPECT_NEAR(latency(EntryKind::all_reduce, 4).count(), 1670.824, 1e-3);
  expect_close(latency(EntryKind::send_recv, 1), 100 + (85.983232 + 300) / 2);
  expect_close(latency(EntryKind::send_recv, 2), 100 + 85.983232 + 300);
  expect_close(latency(EntryKind::all_to_all, 1), 100);
  expect_close(latency(EntryKind::all_to_all, 2), 100 + 8 * (559240 / 1e5 * 1.025 + 200));
  expect_close(latency(EntryKind::all_to_all, 4), 100 + 24 * (270600 / 1e5 * 1.025 + 200));
}

TEST(SpeedOfLight, KernelGoldens) {
  // H100: 18 links of 20 GB/s are 360000 bytes a microsecond.
  const auto one = [](double n, double bytes) { return 1 + (n - 1) * bytes / 360000 + 1.5; };
  const auto two = [](double n, double bytes) {
    return 1 + 2 * ((n - 1) * bytes / n / 360000 + 1.5);
  };
  struct Row {
    int ranks;
    Bytes bytes;
    double known;
  };
  for (const Row& row : {Row{2, kib(4), 2.511}, Row{2, kib(64), 2.682}, Row{2, kib(128), 2.864},
                         Row{2, kib(256), 3.228}, Row{8, kib(4), 2.580}, Row{8, kib(64), 3.774},
                         Row{8, kib(128), 5.049}, Row{8, kib(256), 7.597}}) {
    const Microseconds time = kernel_latency(Strategy::one_shot, row.bytes, row.ranks, h100());
    expect_close(time, one(row.ranks, static_cast<double>(row.bytes.value)));
    EXPECT_NEAR(time.count(), row.known, 1e-3);
  }
  for (const Row& row :
       {Row{2, Bytes{262148}, 4.728}, Row{2, mib(1), 6.913}, Row{2, mib(4), 15.651},
        Row{8, Bytes{262148}, 5.274}, Row{8, mib(1), 9.097}, Row{8, mib(4), 24.389}}) {
    const Microseconds time = kernel_latency(Strategy::two_shot, row.bytes, row.ranks, h100());
    expect_close(time, two(row.ranks, static_cast<double>(row.bytes.value)));
    EXPECT_NEAR(time.count(), row.known, 1e-3);
  }
  EXPECT_NEAR(kernel_latency(Strategy::one_shot, kib(4), 8, b200()).count(), 2.040, 1e-3);
  EXPECT_NEAR(kernel_latency(Strategy::one_shot, kib(256), 8, b200()).count(), 4.549, 1e-3);
  EXPECT_NEAR(kernel_latency(Strategy::two_shot, Bytes{262148}, 8, b200()).count(), 3.637, 1e-3);
  EXPECT_NEAR(kernel_latency(Strategy::two_shot, mib(4), 8, b200()).count(), 13.194, 1e-3);
}

TEST(SpeedOfLight, RocmTakesItsOwnLinksAndTheSameFormula) {
  const Device device =
      resolve_device({.name = "AMD Instinct MI300X", .platform = "rocm", .architecture = "gfx942"});
  EXPECT_DOUBLE_EQ(bytes_per_us_to_peers(device), 7 * 112e3);
  expect_close(kernel_latency(Strategy::one_shot, kib(128), 8, device),
               1 + 7 * 131072.0 / 784000 + 1.5);
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_reduce, 8, device).bus, 7 * 112 * 0.9, 1e-9);
}

TEST(SpeedOfLight, RingBandwidths) {
  const Device a100 = resolve_device(
      {.name = "NVIDIA A100-SXM4-80GB", .platform = "cuda", .architecture = "sm_80", .links = 12});
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_reduce, 8, h100()).bus, 331.2, 1e-9);
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_reduce, 8, h100()).algorithm, 331.2 * 8 / 14, 1e-9);
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_reduce, 8, b200()).bus, 660.6, 1e-9);
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_reduce, 8, b200()).algorithm, 660.6 * 8 / 14, 1e-9);
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_reduce, 8, a100).bus, 220.8, 1e-9);
  EXPECT_NEAR(ring_bandwidth(EntryKind::all_gather, 8, a100).algorithm, 220.8 * 8 / 7, 1e-9);
  expect_close(ring_latency(EntryKind::all_reduce, mib(8), 8, h100()),
               5 + 8388608.0 / (331.2e3 * 8 / 14));
}

TEST(SpeedOfLight, MultimemIsNeverBelowTwoShot) {
  for (const int ranks : {2, 4, 8})
    for (std::uint64_t bytes = 1; bytes <= (4u << 20); bytes *= 2)
      EXPECT_GE(kernel_latency(Strategy::multimem, Bytes{bytes}, ranks, h100()),
                kernel_latency(Strategy::two_shot, Bytes{bytes}, ranks, h100()));
}

TEST(SpeedOfLight, TimesGrowWithSizeAndRanksInsideAStrategy) {
  for (const Strategy strategy : {Strategy::one_shot, Strategy::two_shot}) {
    for (std::uint64_t bytes = 1024; bytes < (std::uint64_t{1} << 40); bytes *= 2)
      for (int ranks = 2; ranks <= 8; ranks *= 2) {
        const Microseconds time = kernel_latency(strategy, Bytes{bytes}, ranks, h100());
        EXPECT_LT(time, kernel_latency(strategy, Bytes{2 * bytes}, ranks, h100()));
        EXPECT_LT(time, kernel_latency(strategy, Bytes{bytes}, 2 * ranks, h100()));
      }
  }
}

TEST(SpeedOfLight, OneShotAndTwoShotMeetAtTheModelsOwnCrossover) {
  EXPECT_NEAR(crossover_bytes(8, h100()), 102857, 1);
  EXPECT_NEAR(crossover_bytes(4, h100()), 360000, 1);
  EXPECT_TRUE(std::isinf(crossover_bytes(2, h100())));
  for (const int ranks : {4, 8}) {
    const auto difference = [&](double bytes) {
      const Bytes size{static_cast<std::uint64_t>(bytes)};
      return kernel_latency(Strategy::one_shot, size, ranks, h100()) -
             kernel_latency(Strategy::two_shot, size, ranks, h100());
    };
    EXPECT_LT(difference(crossover_bytes(ranks, h100()) - 8).count(), 0);
    EXPECT_GT(difference(crossover_bytes(ranks, h100()) + 8).count(), 0);
  }
}

TEST(SpeedOfLight, BadDevicesAreErrorsThatNameTheField) {
  const DeviceChoice good{
      .name = "NVIDIA H100 80GB HBM3", .platform = "cuda", .architecture = "sm_90"};
  const auto error_of = [&](auto change) {
    DeviceChoice choice = good;
    change(choice);
    return message_of([&] { static_cast<void>(resolve_device(choice)); });
  };
  EXPECT_THAT(error_of([](auto& d) { d.platform = "oneapi"; }), HasSubstr("cuda, rocm"));
  EXPECT_THAT(error_of([](auto& d) { d.links = 0; }), HasSubstr("links is 0"));
  EXPECT_THAT(error_of([](auto& d) { d.lane_gb_per_s = 0.0; }), HasSubstr("lane_gb_per_s is 0"));
  EXPECT_THAT(error_of([](auto& d) { d.nic_gb_per_s = -1.0; }), HasSubstr("nic_gb_per_s is -1"));
  EXPECT_THAT(error_of([](auto& d) { d.launch_us = NAN; }), HasSubstr("launch_us"));
  EXPECT_THAT(error_of([](auto& d) { d.chunk_bytes = 0; }), HasSubstr("chunk_bytes"));
  EXPECT_THAT(error_of([](auto& d) { d.gpus_per_node = -8; }), HasSubstr("gpus_per_node"));
  EXPECT_THAT(error_of([](auto& d) { d.architecture = "sm_"; }), HasSubstr("sm_90"));
  EXPECT_THAT(error_of([](auto& d) { d.architecture = "sm_120"; }), HasSubstr("lane_gb_per_s"));
  EXPECT_THAT(error_of([](auto& d) { d.name = "other"; }), HasSubstr("give links"));
}

TEST(SpeedOfLight, TheLargestSizesDoNotWrapAround) {
  const Bytes most{(std::uint64_t{1} << 63) - 1};
  const Bytes half{std::uint64_t{1} << 62};
  for (const Bytes size : {Bytes{std::uint64_t{1} << 31}, half, most}) {
    const double bytes = static_cast<double>(size.value);
    expect_close(kernel_latency(Strategy::one_shot, size, 8, h100()), 2.5 + 7 * bytes / 360000);
  }
  const Device tiny = resolve_device({.name = "NVIDIA H100 80GB HBM3",
                                      .platform = "cuda",
                                      .architecture = "sm_90",
                                      .chunk_bytes = 1});
  EXPECT_GT(network_latency(EntryKind::all_reduce, most, {.nodes = 2, .ranks = 16}, tiny),
            network_latency(EntryKind::all_reduce, half, {.nodes = 2, .ranks = 16}, tiny));
}

TEST(SpeedOfLight, ADeviceWithoutNicOrChunkIsAnErrorForEachKind) {
  for (const auto& kind : enum_names(EntryKind{})) {
    Device device = h100();
    device.chunk = {};
    const Communicator world{.nodes = 2, .ranks = 2};
    EXPECT_THROW(static_cast<void>(network_latency(kind.value, Bytes{8}, world, device)), Error)
        << kind.name;
    device = h100();
    device.nic = 0;
    EXPECT_THROW(static_cast<void>(network_latency(kind.value, Bytes{8}, world, device)), Error)
        << kind.name;
  }
}

TEST(SpeedOfLight, NanosecondsAreChecked) {
  EXPECT_EQ(to_nanoseconds(Microseconds(5.049)).count(), 5049);
  for (const double bad : {-1.0, std::nan(""), 9.3e15, std::numeric_limits<double>::infinity()})
    EXPECT_THROW(static_cast<void>(to_nanoseconds(Microseconds(bad))), Error) << bad;
}

TEST(SpeedOfLight, DevicesOfANodeMustDivide) {
  EXPECT_THAT(message_of([] {
                static_cast<void>(network_latency(EntryKind::all_reduce, mib(1),
                                                  {.nodes = 2, .ranks = 6}, h100()));
              }),
              HasSubstr("gpus_per_node is 8"));
}

}  // namespace
}  // namespace colltune::speed_of_light
