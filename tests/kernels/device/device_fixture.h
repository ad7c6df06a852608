// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "conformance.h"
#include "device/device_implementation.h"
#include "support/run_ranks.h"

namespace colltune::test {

inline const std::string one_shot = "cuda.all_reduce_one_shot";

/// Four floats on each rank.
inline Problem small_sum() {
  return {.collective = Collective::all_reduce,
          .data_type = DataType::f32,
          .reduce_op = ReduceOp::sum,
          .message_size = {16}};
}

inline Variant variant_of(const std::string& name, const std::string& scratch = "device") {
  return parse_variant(name + "{blocks=1,launch=stream,scratch=" + scratch +
                       ",threads=32,vector=16}");
}

/// A call of small_sum() on `communicator`'s device.
struct SmallCall {
  SmallCall(Communicator& communicator, const Implementation& implementation,
            const std::string& scratch = "device")
      : send(*communicator.device(), {16}),
        receive(*communicator.device(), {16}),
        operation(implementation.prepare(
            communicator, {small_sum(), 0, {send.bytes(), receive.bytes()}},
            variant_of(std::string(implementation.name()), scratch), soon_enough())) {}
  DeviceMemory send;
  DeviceMemory receive;
  std::unique_ptr<Operation> operation;
};

/// What all ranks of `devices` throw from the preparation of a SmallCall: empty where it is
/// prepared, and begins with "unavailable: " where nothing went wrong.
inline std::vector<std::string> prepare_in_vain(const std::vector<Device*>& devices,
                                                const Implementation& implementation,
                                                const std::string& scratch = "device") {
  std::vector<std::string> thrown(devices.size());
  run_ranks(
      static_cast<int>(devices.size()),
      [&](Communicator& communicator) {
        std::string& own = thrown[static_cast<std::size_t>(communicator.rank())];
        try {
          const SmallCall call(communicator, implementation, scratch);
        } catch (const UnavailableHere& error) {
          own = std::string("unavailable: ") + error.what();
        } catch (const Error& error) {
          own = error.what();
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
  return thrown;
}

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

}  // namespace colltune::test
