// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Our CUDA kernels with several ranks on one GPU (virtual ranks), beside a plain copy of as many
// bytes in the GPU's memory. Ranks are threads whose kernels start as one launch. All move their
// bytes through one memory and no link: this tells protocol overhead, use of the processors, and
// that nothing is wrong; it is not what several GPUs do.
//
// Of each algorithm the fastest variant is printed: by the device's clock (events around the
// kernel, which includes waiting for whoever is late) and by the host's (from the first start to
// the last end). Results up to 16 MiB are verified first; a variant that is wrong is not timed.

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/cuda_device.h"
#include "colltune/kernels/oracle.h"
#include "support/run_ranks.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::uint64_t largest_verified = 16 << 20;

struct Options {
  int gpu = 0;
  int ranks = 4;
  std::vector<std::string> sizes{"8KiB", "64KiB", "1MiB", "16MiB", "256MiB"};
  std::string only;
  int calls = 20;
  bool is_captured = false;
  double seconds = 240;
  std::string json;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Deadline soon() { return Clock::now() + 20s; }

/// The times of one variant, us per call.
struct Times {
  std::vector<double> device;
  std::vector<double> host;
  std::string fault;
};

/// A world of virtual ranks that makes one call after the other.
class Bench {
 public:
  Bench(const Options& options, Device& device)
      : options_(options),
        device_(device),
        devices_(static_cast<std::size_t>(options.ranks), &device) {}

  /// GB/s that a copy in the GPU's memory moves, its reads and its writes.
  double copy_rate() {
    constexpr std::uint64_t bytes = 256 << 20;
    const DeviceMemory from(device_, {bytes});
    const DeviceMemory to(device_, {bytes});
    std::vector<double> seconds;
    for (int i = 0; i < 20; ++i) {
      const auto begin = Clock::now();
      device_.copy(to.bytes().data(), from.bytes());
      if (i >= 3) seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return 2 * static_cast<double>(bytes) / median(seconds) / 1e9;
  }

  Capability capability(const Implementations& catalogue) {
    Capability capability;
    run([&](Communicator& communicator) {
      const Capability own = detect_capability(catalogue, communicator);
      if (communicator.rank() == 0) capability = own;
    });
    return capability;
  }

  Times time(const Implementation& implementation, const Problem& problem, const Variant& variant) {
    Times times;
    run([&](Communicator& communicator) {
      const Times own = time_rank(communicator, implementation, problem, variant);
      const std::lock_guard lock(mutex_);
      if (!own.fault.empty()) times.fault = own.fault;
      times.device.resize(own.device.size());
      times.host.resize(own.host.size());
      for (std::size_t i = 0; i < own.host.size(); ++i) {
        times.device[i] = std::max(times.device[i], own.device[i]);
        times.host[i] = std::max(times.host[i], own.host[i]);
      }
    });
    return times;
  }

 private:
  void run(const std::function<void(Communicator&)>& body) const {
    test::run_ranks(options_.ranks, body, {}, devices_);
  }

  Times time_rank(Communicator& communicator, const Implementation& implementation,
                  const Problem& problem, const Variant& variant) const {
    const int rank = communicator.rank();
    const int ranks = communicator.size();
    const DeviceMemory send(device_, send_size(problem, ranks, rank == 0));
    const DeviceMemory receive(device_, receive_size(problem, ranks, rank == 0));
    const auto operation = implementation.prepare(
        communicator, {problem, 0, {send.bytes(), receive.bytes()}}, variant, soon());
    Times times;
    if (problem.message_size.value <= largest_verified) {
      const VerifiedCall verified{problem, ranks, 0, DataPattern::exact, 1};
      std::vector<std::byte> host(send.bytes().size());
      fill_send(verified, rank, host);
      device_.write(send.bytes().data(), host);
      operation->start();
      operation->wait(soon());
      host.resize(receive.bytes().size());
      device_.read(host, receive.bytes().data());
      const Rounding rounding = implementation.numerics(problem, variant).rounding;
      if (const auto wrong = find_mismatch(verified, rank, rounding, host))
        times.fault =
            fmt::format("element {} is {}, not {}", wrong->element, wrong->got, wrong->expected);
    }
    if (communicator.all_reduce_max(times.fault.empty() ? 0 : 1, soon()) != 0) return times;
    for (int call = -3; call < options_.calls; ++call) {
      communicator.barrier(soon());
      const auto begin = Clock::now();
      operation->start();
      operation->wait(soon());
      const auto end = Clock::now();
      if (call < 0) continue;
      times.host.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
      times.device.push_back(
          std::chrono::duration<double, std::micro>(operation->device_time().value_or(0ns))
              .count());
    }
    communicator.barrier(soon());
    return times;
  }

  const Options& options_;
  Device& device_;
  std::vector<Device*> devices_;
  std::mutex mutex_;
};

/// How the GPU runs now, as far as it tells.
nlohmann::json describe_state(const Device& device) {
  const std::optional<DeviceState> state = device.state();
  if (!state) return nullptr;
  return {{"clock_khz", state->clock_khz},
          {"throttles", names_of_throttles(state->throttles)},
          {"power_state", state->power_state}};
}

/// Bytes that a rank reads and writes in the GPU's memory, where it was counted: registered
/// buffers, n ranks, messages of S. Two-shot: its share of all inputs (S) and the others' results
/// are read, S is written. Ring: each of 2(n-1) hops reads what has come and writes what goes on,
/// the first half reads inputs beside, the second writes results.
double moved_bytes(const std::string& name, double ranks, double size) {
  if (name == "cuda.all_reduce_two_shot_pull") return size * (2 + (ranks - 1) / ranks);
  if (name == "cuda.all_reduce_ring") return size * (6 * ranks - 4) / ranks;
  return 0;
}

int run(const Options& options) {
  const CudaDevices gpus = count_cuda_devices();
  if (gpus.count == 0) {
    std::cerr << "gpu_bench: " << gpus.why_none << '\n';
    return 3;
  }
  const std::unique_ptr<Device> device = open_cuda_device(options.gpu);
  const Implementations catalogue = make_catalogue();
  Bench bench(options, *device);
  const Capability capability = bench.capability(catalogue);
  const double copy = bench.copy_rate();
  const nlohmann::json state_before = describe_state(*device);
  nlohmann::json result{{"gpu", capability.features},
                        {"ranks", options.ranks},
                        {"placement", "shared_device"},
                        {"copy_GB_per_s", copy},
                        {"graph_capture", options.is_captured},
                        {"rows", nlohmann::json::array()},
                        {"complete", true}};
  fmt::print("{}, {}: {} virtual ranks; a plain copy moves {:.0f} GB/s (reads and writes)\n\n",
             capability.value("device.name"), capability.architecture, options.ranks, copy);
  fmt::print("{:>10} {:>10} {:>10} {:>9} {:>8}  {}\n", "size", "device", "host", "algbw", "of copy",
             "variant");
  fmt::print("{:>10} {:>10} {:>10} {:>9} {:>8}\n", "(B)", "(us)", "(us)", "(GB/s)", "");
  const Topology topology{.nodes = 1,
                          .ranks_per_node = options.ranks,
                          .ranks = options.ranks,
                          .architectures = {{capability.architecture, options.ranks}},
                          .layout_digest = "uniform",
                          .interconnect = "shared-memory",
                          .placement = Placement::shared_device};
  const auto give_up = Clock::now() + std::chrono::duration<double>(options.seconds);
  int faults = 0;
  for (const auto& implementation : catalogue) {
    if (!implementation->runs_on_device() ||
        implementation->name().find(options.only) == std::string_view::npos)
      continue;
    for (const std::string& size : options.sizes) {
      Problem problem{.collective = implementation->collective(),
                      .data_type = DataType::f32,
                      .reduce_op = shape_of(implementation->collective()).reduces ? ReduceOp::sum
                                                                                  : ReduceOp::none,
                      .registered = true,
                      .graph_capture = options.is_captured};
      problem.message_size = round_message_size(problem.collective, problem.data_type,
                                                parse_bytes(size), options.ranks);
      std::string best;
      double device_us = INFINITY;
      double host_us = 0;
      for (const Variant& variant : implementation->variants(problem, topology, capability)) {
        if (!implementation->supports(problem, topology, capability, variant)) continue;
        if (Clock::now() > give_up) {
          result["complete"] = false;
          break;
        }
        const Times times = bench.time(*implementation, problem, variant);
        if (!times.fault.empty()) {
          ++faults;
          fmt::print("WRONG: {} {}: {}\n", to_string(variant), describe(problem), times.fault);
          continue;
        }
        if (const double one = median(times.device); one < device_us) {
          device_us = one;
          host_us = median(times.host);
          best = to_string(variant);
        }
      }
      if (best.empty()) continue;
      const auto bytes = static_cast<double>(problem.message_size.value);
      const double moved =
          options.ranks * moved_bytes(std::string(implementation->name()), options.ranks, bytes);
      const double of_copy = moved / (device_us * 1e3) / copy;
      fmt::print("{:>10} {:>10.2f} {:>10.2f} {:>9.2f} {:>8}  {}\n", problem.message_size.value,
                 device_us, host_us, bytes / device_us / 1e3,
                 moved == 0 ? "" : fmt::format("{:.0f} %", 100 * of_copy), best);
      result["rows"].push_back(
          {{"variant", best},
           {"collective", name_of(problem.collective)},
           {"message_size_bytes", problem.message_size.value},
           {"device_us", device_us},
           {"host_us", host_us},
           {"of_copy", moved == 0 ? nlohmann::json() : nlohmann::json(of_copy)}});
    }
  }
  result["state_before"] = state_before;
  result["state_after"] = describe_state(*device);
  for (const char* const when : {"state_before", "state_after"})
    if (const nlohmann::json& state = result[when]; !state.is_null())
      fmt::print("{}: {} kHz, power state {}, held down by {}\n", when,
                 state["clock_khz"].get<std::uint64_t>(), state["power_state"].get<int>(),
                 state["throttles"].get<std::string>().empty()
                     ? "nothing"
                     : state["throttles"].get<std::string>());
  if (!result["complete"].get<bool>())
    fmt::print("\nstopped after {} s: not everything was measured\n", options.seconds);
  if (!options.json.empty()) std::ofstream(options.json) << result.dump(1) << '\n';
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  colltune::Options options;
  CLI::App app("Our CUDA kernels with several ranks on one GPU, beside a plain copy");
  app.add_option("--gpu", options.gpu, "which one");
  app.add_option("--ranks", options.ranks, "virtual ranks")->check(CLI::Range(1, 16));
  app.add_option("--sizes", options.sizes, "message sizes")->delimiter(',');
  app.add_option("--only", options.only, "implementations whose names hold this");
  app.add_option("--calls", options.calls, "timed calls of each variant")
      ->check(CLI::Range(1, 10000));
  app.add_flag("--captured", options.is_captured, "calls that the caller captures into a graph");
  app.add_option("--seconds", options.seconds, "give up after so long");
  app.add_option("--json", options.json, "file to write");
  CLI11_PARSE(app, argc, argv);
  try {
    return colltune::run(options);
  } catch (const std::exception& error) {
    std::cerr << "gpu_bench: " << error.what() << '\n';
    return 2;
  }
}
