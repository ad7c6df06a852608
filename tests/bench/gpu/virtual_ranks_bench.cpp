// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "virtual_ranks_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "colltune/kernels/verification/oracle.h"
#include "colltune/vocabulary/error.h"
#include "support/run_ranks.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr Bytes largest_verified{16 << 20};
constexpr int warm_up_calls = 3;
// Of warm-up calls, as multiples of the best time so far. The first one may also load modules and
// map memory.
constexpr double hopeless_first = 10;
constexpr double hopeless_second = 3;
constexpr int copies = 20;
// Neither what a kernel writes nor a number of the oracle's.
constexpr unsigned char untouched = 0xA5;

Deadline soon() { return Clock::now() + 20s; }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// At most `most` of `variants`, from the last to the first: blocks only grow in their order, and
/// few blocks are slow.
std::vector<Variant> spread(std::vector<Variant> variants, std::size_t most) {
  std::ranges::reverse(variants);
  if (most == 0 || variants.size() <= most) return variants;
  std::vector<Variant> some{variants.front()};
  for (std::size_t i = 1; i < most; ++i)
    some.push_back(std::move(variants[i * (variants.size() - 1) / (most - 1)]));
  return some;
}

}  // namespace

std::string describe_untimed(const BenchRow& row) {
  if (row.timed == row.variants.size() && row.why_untimed.empty()) return {};
  std::string text =
      fmt::format("{} {}: {} of {} variants were timed", row.implementation->name(),
                  format_bytes(row.problem.message_size), row.timed, row.variants.size());
  if (!row.why_untimed.empty()) text += ": " + row.why_untimed;
  return text;
}

VirtualRanksBench::VirtualRanksBench(const BenchDevices& devices, const BenchSettings& settings)
    : devices_(devices), settings_(settings) {
  const Bytes cache = devices.calls.facts().cache_size;
  if (cache.value > 0) eviction_ = DeviceMemory(devices.calls, {2 * cache.value});
}

bool VirtualRanksBench::evicts() const {
  return settings_.evicts_inputs && !eviction_.bytes().empty();
}

Device& VirtualRanksBench::timer(bool evicts) const {
  // Of calls that follow each other at once only the first would find its inputs pushed out.
  return settings_.is_captured && !evicts ? devices_.repeated : devices_.alone;
}

Capability VirtualRanksBench::capability(const Implementations& catalogue) {
  Capability capability;
  run(devices_.calls, [&](Communicator& communicator) {
    const Capability own = detect_capability(catalogue, communicator);
    if (communicator.rank() == 0) capability = own;
  });
  return capability;
}

std::chrono::nanoseconds VirtualRanksBench::copy_time(Bytes bytes) {
  Device& device = devices_.calls;
  const DeviceMemory from(device, {2 * bytes.value});
  const DeviceMemory to(device, {2 * bytes.value});
  std::vector<double> once;
  std::vector<double> twice;
  for (int copy = -warm_up_calls; copy < copies; ++copy)
    for (auto* const times : {&once, &twice}) {
      const auto all = from.bytes();
      const auto begin = Clock::now();
      device.copy(to.bytes().data(), times == &once ? all.first(all.size() / 2) : all);
      if (copy >= 0) times->push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
  // A second half that takes no time at all only shows how noisy the machine is.
  const double seconds = std::max(median(twice) - median(once), median(once) / 10);
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

Topology VirtualRanksBench::topology(const Capability& capability) const {
  return {.nodes = 1,
          .ranks_per_node = settings_.ranks,
          .ranks = settings_.ranks,
          .architectures = {{capability.architecture, settings_.ranks}},
          .layout_digest = "uniform",
          .interconnect = "shared-memory",
          .placement = Placement::shared_device};
}

BenchRow VirtualRanksBench::make_row(const Implementation& implementation,
                                     const Capability& capability, Bytes size) const {
  const Collective collective = implementation.collective();
  BenchRow row{
      .implementation = &implementation,
      .problem = {.collective = collective,
                  .data_type = settings_.type,
                  .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
                  .registered = true,
                  .graph_capture = settings_.is_captured}};
  row.problem.message_size =
      round_message_size(collective, row.problem.data_type, size, settings_.ranks);
  const Topology world = topology(capability);
  for (Variant& variant : implementation.variants(row.problem, world, capability)) {
    const Support support = implementation.supports(row.problem, world, capability, variant);
    if (support)
      row.variants.push_back(std::move(variant));
    else if (row.why_untimed.empty())
      row.why_untimed = support.reason();
  }
  if (!row.variants.empty()) row.why_untimed.clear();
  row.variants = spread(std::move(row.variants), settings_.most_variants);
  return row;
}

void VirtualRanksBench::time_next(BenchRow& row) {
  const Variant& variant = row.variants.at(row.tried);
  const Trial trial{.implementation = *row.implementation,
                    .problem = row.problem,
                    .variant = variant,
                    .device = timer(evicts()),
                    .is_verified = row.problem.message_size <= largest_verified,
                    .evicts = evicts(),
                    .calls = settings_.calls,
                    .best_us = row.device_us};
  ++row.tried;
  const Times times = run_trial(trial);
  if (times.lacks_memory) {
    row.why_untimed = times.fault;
    return;
  }
  ++row.timed;
  if (!times.fault.empty()) {
    row.faults.push_back(
        fmt::format("{} {}: {}", to_string(variant), describe(row.problem), times.fault));
    return;
  }
  if (times.device.empty()) return;  // hopeless
  const double own = median(times.device);
  row.times.emplace_back(variant, own);
  if (own < row.device_us) {
    row.device_us = own;
    row.best = variant;
    const Times as_called = run_trial({.implementation = *row.implementation,
                                       .problem = row.problem,
                                       .variant = variant,
                                       .device = devices_.calls,
                                       .evicts = evicts(),
                                       .calls = settings_.calls});
    row.host_us = as_called.host.empty() ? 0 : median(as_called.host);
  }
}

std::string VirtualRanksBench::verify_best(const BenchRow& row) {
  return run_trial({.implementation = *row.implementation,
                    .problem = row.problem,
                    .variant = row.best.value(),
                    .device = devices_.calls,
                    .is_verified = true})
      .fault;
}

std::optional<double> VirtualRanksBench::time_of_best_otherwise(const BenchRow& row) {
  if (eviction_.bytes().empty()) return std::nullopt;
  const Times times = run_trial({.implementation = *row.implementation,
                                 .problem = row.problem,
                                 .variant = row.best.value(),
                                 .device = timer(!evicts()),
                                 .evicts = !evicts(),
                                 .calls = settings_.calls});
  if (times.device.empty()) return std::nullopt;
  return median(times.device);
}

void VirtualRanksBench::run(Device& device, const std::function<void(Communicator&)>& body) const {
  test::run_ranks(settings_.ranks, body, {},
                  std::vector<Device*>(static_cast<std::size_t>(settings_.ranks), &device));
}

VirtualRanksBench::Times VirtualRanksBench::run_trial(const Trial& trial) {
  if (trial.is_verified && reference_.problem != trial.problem) {
    const std::vector<std::vector<std::byte>> none(static_cast<std::size_t>(settings_.ranks));
    reference_ = {.problem = trial.problem, .inputs = none, .results = none};
  }
  Times times;
  try {
    run(trial.device, [&](Communicator& communicator) {
      const Times own = run_rank(communicator, trial);
      const std::lock_guard lock(mutex_);
      if (!own.fault.empty()) times.fault = own.fault;
      times.device.resize(own.device.size());
      times.host.resize(own.host.size());
      for (std::size_t i = 0; i < own.host.size(); ++i) {
        times.device[i] = std::max(times.device[i], own.device[i]);
        times.host[i] = std::max(times.host[i], own.host[i]);
      }
    });
  } catch (const Error& error) {
    times = {.fault = error.what(), .lacks_memory = error.code() == StatusCode::resource_exhausted};
  } catch (const std::exception& error) {
    times = {.fault = error.what()};
  }
  return times;
}

std::string VirtualRanksBench::verify(Communicator& communicator, const Trial& trial,
                                      Operation& operation, const Buffers& buffers) {
  const int rank = communicator.rank();
  const VerifiedCall verified{trial.problem, communicator.size(), 0, DataPattern::exact, 1};
  auto& input = reference_.inputs[static_cast<std::size_t>(rank)];
  if (input.size() != buffers.send.bytes().size()) {
    input.resize(buffers.send.bytes().size());
    fill_send(verified, rank, input);
  }
  trial.device.write(buffers.send.bytes().data(), input);
  // Memory that is used again may hold the right result of somebody else.
  trial.device.fill(buffers.receive.bytes(), untouched);
  communicator.barrier(soon());
  operation.start();
  operation.wait(soon());
  std::vector<std::byte> got(buffers.receive.bytes().size());
  trial.device.read(got, buffers.receive.bytes().data());
  auto& right = reference_.results[static_cast<std::size_t>(rank)];
  // Exact data has one result, however it is rounded: the oracle need not compute it again.
  if (!got.empty() && got == right) return {};
  const Rounding rounding = trial.implementation.numerics(trial.problem, trial.variant).rounding;
  if (const auto wrong = find_mismatch(verified, rank, rounding, got))
    return fmt::format("element {} is {}, not {}", wrong->element, wrong->got, wrong->expected);
  right = std::move(got);
  return {};
}

VirtualRanksBench::Times VirtualRanksBench::run_rank(Communicator& communicator,
                                                     const Trial& trial) {
  const bool is_first = communicator.rank() == 0;
  const int ranks = communicator.size();
  const Buffers buffers{{trial.device, send_size(trial.problem, ranks, is_first)},
                        {trial.device, receive_size(trial.problem, ranks, is_first)}};
  const auto operation = trial.implementation.prepare(
      communicator, {trial.problem, 0, {buffers.send.bytes(), buffers.receive.bytes()}},
      trial.variant, soon());
  Times times;
  if (trial.is_verified) times.fault = verify(communicator, trial, *operation, buffers);
  if (communicator.all_reduce_max(times.fault.empty() ? 0 : 1, soon()) != 0) return times;
  const int warm_up = trial.calls == 0 ? 0 : warm_up_calls;
  for (int call = -warm_up; call < trial.calls; ++call) {
    if (trial.evicts && is_first)
      devices_.calls.fill(eviction_.bytes(), static_cast<unsigned char>(call));
    communicator.barrier(soon());
    const auto begin = Clock::now();
    operation->start();
    operation->wait(soon());
    const auto end = Clock::now();
    const auto on_device = operation->device_time().value_or(0ns);
    if (call < 0) {
      const double limit = trial.best_us * (call == -warm_up ? hopeless_first : hopeless_second);
      const double slowest =
          static_cast<double>(communicator.all_reduce_max(on_device.count(), soon())) / 1e3;
      if (slowest > limit) break;
      continue;
    }
    times.host.push_back(microseconds(end - begin));
    times.device.push_back(microseconds(on_device));
  }
  communicator.barrier(soon());
  return times;
}

}  // namespace colltune
