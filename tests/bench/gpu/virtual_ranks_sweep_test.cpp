// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// gpu_sweep's way from a device to a published decision, with host threads in the place of a GPU.

#include "virtual_ranks_sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "colltune/sweep/spec/sweep_spec.h"
#include "support/pretended_device.h"

namespace colltune {
namespace {

TEST(VirtualRanksSweep, WinnersArePublishedUnderTheirOwnPlacement) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("colltune_virtual_ranks." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  {
    test::PretendedDevice device("shared", 2);
    const SweepSpec spec{
        .collectives = {Collective::all_reduce, Collective::gather},
        .sizes = parse_sizes("1KiB,4KiB"),
        .registered = {.off = false, .on = true},
        .include = {"cuda.all_reduce_one_shot", "cuda.all_reduce_two_shot_pull", "cuda.gather_*"},
        // Many times what the first visit to each of the four cells takes.
        .budget = std::chrono::seconds(8),
        .passes = 2,
        .soak = {.runs = 20},
        .text = "{}"};
    const VirtualRanksSweep sweep = sweep_virtual_ranks(device, 2, spec, folder / "gpu.db");
    EXPECT_EQ(sweep.outcome.end, SweepEnd::complete);
    EXPECT_FALSE(sweep.decisions.empty());
    EXPECT_EQ(sweep.generation.number, 1U);
  }
  const PublishedTable table = StoreReader(folder / "gpu.db").published();
  std::size_t over_all = 0;
  for (const Decision& decision : table.decisions) {
    EXPECT_EQ(decision.key.topology.placement, Placement::shared_device);
    EXPECT_FALSE(decision.ranked.empty());
    if (decision.family == any_family) ++over_all;
  }
  EXPECT_EQ(over_all, 4U) << "two collectives of two sizes";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace colltune
