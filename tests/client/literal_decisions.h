// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"

namespace colltune::testing {

inline Environment test_environment() {
  return {.kernel = "6.1",
          .cpu_model = "Test CPU",
          .cpu_features = "avx2",
          .cpu_layout = "1 socket(s), 2 core(s)",
          .frequency_policy = "performance",
          .malloc_settings = "default",
          .mpi_library = "Open MPI 4.1.4",
          .mpi_transport = "ob1, vader",
          .mpi_binding = "core"};
}

inline Provenance test_provenance() {
  return {.colltune_version = "0.1.0",
          .build = "gcc 12.2 Release",
          .operating_system = "Debian 12",
          .kernel_release = "6.1.0-18-amd64"};
}

inline Topology test_topology(std::string architecture = "x86_64-avx2") {
  return {.nodes = 1,
          .ranks_per_node = 2,
          .ranks = 2,
          .architectures = {{.architecture = std::move(architecture), .ranks = 2}},
          .layout_digest = "uniform",
          .interconnect = "shared-memory",
          .placement = Placement::dedicated};
}

/// A ranked variant with plausible evidence; `text` as in `name{a=1}`.
inline RankedVariant ranked(const std::string& text, int median_ns, double speedup,
                            Limits limits = {}) {
  const bool is_baseline = text == "mpi.default";
  return {.variant = parse_variant(text),
          .family = is_baseline ? "openmpi" : "colltune",
          .protocol = text,
          .is_baseline = is_baseline,
          .is_emulated = false,
          .median = std::chrono::nanoseconds(median_ns),
          .low = std::chrono::nanoseconds(median_ns - 10),
          .high = std::chrono::nanoseconds(median_ns + 10),
          .speedup_over_baseline = speedup,
          .samples = 200,
          .verified_calls = 3,
          .rounding = Rounding::each_step,
          .numeric_class = NumericClass::same_bits,
          .limits = std::move(limits)};
}

inline TuningKey test_key(std::uint64_t bytes, Topology topology = test_topology()) {
  return {.problem = {.collective = Collective::all_reduce,
                      .data_type = DataType::f32,
                      .reduce_op = ReduceOp::sum,
                      .message_size = {bytes}},
          .topology = std::move(topology),
          .environment_digest = digest_of(test_environment()),
          .calling = default_calling,
          .input = default_input};
}

inline Decision decision(TuningKey key, std::vector<RankedVariant> variants,
                         std::string family = std::string(any_family)) {
  return {.key = std::move(key),
          .family = std::move(family),
          .ranked = std::move(variants),
          .reason = "it beats the baseline by more than the noise",
          .sweep_uuid = "sweep-1"};
}

}  // namespace colltune::testing
