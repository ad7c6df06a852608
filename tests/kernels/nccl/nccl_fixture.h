// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/nccl/choice.h"
#include "nccl_calls/entry_points.h"
#include "support/fake_nccl/fake_nccl.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {

/// The fake library as a test sees it, beside those that are tested, which open it by themselves.
class FakeNccl {
 public:
  explicit FakeNccl(const char* path = COLLTUNE_FAKE_NCCL)
      : path_(path), library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    ::setenv("NCCL_TUNER_PLUGIN", COLLTUNE_NCCL_TUNER, 1);
    configure({});
  }

  void configure(const FakeNcclSettings& settings) const {
    function<FakeNcclConfigure>("fake_nccl_configure")(&settings);
  }
  /// The same for what comes from now on; what was counted stays.
  void configure_later(const FakeNcclSettings& settings) const {
    function<FakeNcclConfigure>("fake_nccl_change")(&settings);
  }
  [[nodiscard]] FakeNcclCounts counts() const {
    return function<FakeNcclCount>("fake_nccl_count")();
  }
  void hold(int rank) const { function<FakeNcclHold>("fake_nccl_hold")(rank); }
  void let_go() const { hold(-1); }
  void await_held() const { function<FakeNcclAwaitHeld>("fake_nccl_await_held")(); }
  void await_end() const { function<FakeNcclAwaitEnd>("fake_nccl_await_end")(); }
  /// Returns when so many communicators have waited for graphs in vain; false: they do not.
  [[nodiscard]] bool await_overdue(int communicators) const {
    const Deadline deadline = soon_enough();
    while (counts().overdue < communicators) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  [[nodiscard]] FakeNcclChoice last(int rank) const {
    return function<FakeNcclLast>("fake_nccl_last")(rank);
  }

  /// What the last configured call of `rank` brought.
  [[nodiscard]] FakeNcclCallConfiguration configured(int rank) const {
    return function<FakeNcclConfigured>("fake_nccl_configured")(rank);
  }

  /// The thread that made the last call of `rank`.
  [[nodiscard]] int caller(int rank) const {
    return function<FakeNcclCaller>("fake_nccl_caller")(rank);
  }

  /// The communicators that `rank` has made since the library was configured.
  [[nodiscard]] std::vector<FakeNcclMade> made(int rank) const {
    constexpr int most = 32;
    std::vector<FakeNcclMade> all(most);
    all.resize(static_cast<std::size_t>(
        function<FakeNcclListMade>("fake_nccl_made")(rank, all.data(), most)));
    return all;
  }

  [[nodiscard]] nccl::Places places() const {
    return {.libraries = {path_}, .tuner = COLLTUNE_NCCL_TUNER, .environment = {}};
  }
  /// NCCL's entries of the catalogue over this library.
  [[nodiscard]] Implementations entries() const { return entries(places()); }
  [[nodiscard]] static Implementations entries(const nccl::Places& places) {
    const auto runtime = std::make_shared<const nccl::Runtime>([places] { return places; });
    Implementations all = nccl::make_library_choice(runtime);
    for (const auto make : {&nccl::make_forced, &nccl::make_configured, &nccl::make_premultiplied,
                            &nccl::make_symmetric, &nccl::make_selected})
      for (auto& one : make(runtime)) all.push_back(std::move(one));
    return all;
  }

 private:
  template <class Function>
  [[nodiscard]] Function function(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library_, name));  // NOLINT: what dlsym is for
  }
  std::string path_;
  void* library_;
};

/// A pretended GPU for each rank.
class PretendedGpus {
 public:
  explicit PretendedGpus(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      auto& made = devices_.emplace_back("gpu" + std::to_string(rank), 2);
      made.pretend_cuda();
      all_.push_back(&made);
    }
  }
  [[nodiscard]] const std::vector<Device*>& all() const { return all_; }
  void run(const std::function<void(Communicator&)>& body) const {
    run_ranks(static_cast<int>(all_.size()), body, {}, all_);
  }

 private:
  std::deque<PretendedDevice> devices_;
  std::vector<Device*> all_;
};

/// Sums of floats, as many on each rank as one may ask for; rank r brings r + 1 everywhere.
class SumCall {
 public:
  SumCall(Communicator& communicator, const Implementations& entries, const std::string& variant,
          std::uint64_t bytes = 1 << 20, Deadline deadline = soon_enough(),
          bool is_captured = false)
      : problem_{.collective = Collective::all_reduce,
                 .data_type = DataType::f32,
                 .reduce_op = ReduceOp::sum,
                 .message_size = {bytes},
                 .graph_capture = is_captured},
        ranks_(communicator.size()),
        send_(*communicator.device(), {bytes}),
        receive_(*communicator.device(), {bytes}) {
    const Variant parsed = parse_variant(variant);
    fill(static_cast<float>(communicator.rank() + 1));
    operation_ = find_implementation(entries, parsed.implementation)
                     ->prepare(communicator, {problem_, 0, {send_.bytes(), receive_.bytes()}},
                               parsed, deadline);
  }
  [[nodiscard]] Operation& operation() { return *operation_; }
  /// What this rank brings from now on.
  void fill(float brought) const { std::ranges::fill(floats(send_), brought); }
  /// `factor`: each rank brought so many times what it brings at first.
  void run(Deadline deadline = soon_enough(), float factor = 1) {
    operation_->start();
    operation_->wait(deadline);
    expect_sum(factor);
  }
  void expect_sum(float factor) const {
    const float sum = factor * static_cast<float>(ranks_ * (ranks_ + 1)) / 2;
    const std::span<float> values = floats(receive_);
    // One assertion for all of them: there are many, and each takes its time.
    const auto wrong = std::ranges::find_if(values, [sum](float value) { return value != sum; });
    ASSERT_TRUE(wrong == values.end()) << *wrong << ", not " << sum;
  }

 private:
  static std::span<float> floats(const DeviceMemory& memory) {
    return {reinterpret_cast<float*>(memory.bytes().data()), memory.bytes().size() / sizeof(float)};
  }
  Problem problem_;
  int ranks_;
  DeviceMemory send_;
  DeviceMemory receive_;
  std::unique_ptr<Operation> operation_;
};

/// The variant that leaves everything to NCCL.
inline const std::string own_choice = "nccl.all_reduce";

inline std::string forced(const std::string& algorithm, const std::string& protocol, int channels) {
  return "nccl.all_reduce_forced{algorithm=" + algorithm + ",channels=" + std::to_string(channels) +
         ",protocol=" + protocol + "}";
}

constexpr std::uint64_t entry_bit(nccl::Algorithm algorithm, nccl::Protocol protocol) {
  return std::uint64_t{1} << (static_cast<unsigned>(algorithm) * nccl::protocol_count +
                              static_cast<unsigned>(protocol));
}
constexpr int entry_number(nccl::Algorithm algorithm, nccl::Protocol protocol) {
  return static_cast<int>(algorithm) * nccl::protocol_count + static_cast<int>(protocol);
}

}  // namespace colltune::test
