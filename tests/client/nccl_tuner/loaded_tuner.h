// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "colltune/nccl/choice.h"
#include "colltune/nccl/tuner_abi.h"
#include "colltune/nccl/tuner_control.h"
#include "loaded_plugin.h"

namespace colltune::test {

/// A table of costs as NCCL makes it: one contiguous array.
struct Costs {
  std::array<float, nccl::algorithm_count * nccl::protocol_count> entries{};

  static Costs of(float cost) {
    Costs costs;
    costs.entries.fill(cost);
    return costs;
  }
  float& at(nccl::Algorithm algorithm, nccl::Protocol protocol) {
    return entries[static_cast<std::size_t>(algorithm) * nccl::protocol_count +
                   static_cast<std::size_t>(protocol)];
  }
  friend bool operator==(const Costs&, const Costs&) = default;
};

/// A call of a collective, as NCCL asks about it.
struct Asked {
  nccl::Function function = nccl::Function::all_reduce;
  std::size_t bytes = 0;
  int pipe_operations = 1;
  int registered = 0;
};

/// The tuner library, opened and entered in the way of an NCCL whose newest interface is
/// `newest`: 7 (2.32), 6 (2.30), 5 (2.28) or 4 (2.24).
class LoadedTuner : public LoadedPlugin {
  /// What `act` makes of the interface that was found.
  template <class Act>
  [[nodiscard]] auto with(Act act) const {
    if (v7_ != nullptr) return act(*v7_);
    if (v6_ != nullptr) return act(*v6_);
    if (v5_ != nullptr) return act(*v5_);
    return act(*v4_);
  }

 public:
  LoadedTuner(const char* path, int newest) : LoadedPlugin(path) {
    if (newest >= 7) v7_ = find<nccl::TunerV7>("ncclTunerPlugin_v7");
    if (v7_ == nullptr && newest >= 6) v6_ = find<nccl::TunerV6>("ncclTunerPlugin_v6");
    if (v7_ == nullptr && v6_ == nullptr && newest >= 5)
      v5_ = find<nccl::TunerV5>("ncclTunerPlugin_v5");
    if (v7_ == nullptr && v6_ == nullptr && v5_ == nullptr)
      v4_ = find<nccl::TunerV4>("ncclTunerPlugin_v4");
    if (interface_version() == 0) throw std::runtime_error("no tuner in the library");
  }

  [[nodiscard]] int interface_version() const {
    return v7_ != nullptr ? 7 : v6_ != nullptr ? 6 : v5_ != nullptr ? 5 : v4_ != nullptr ? 4 : 0;
  }
  [[nodiscard]] std::string name() const {
    return with([](const auto& found) { return std::string(found.name); });
  }
  nccl::Result init(void** context, std::uint64_t identity, std::size_t ranks, std::size_t nodes,
                    nccl::Logger logger) const {
    nccl::NvlDomains domains{static_cast<int>(nodes), static_cast<int>(ranks / nodes),
                             static_cast<int>(ranks / nodes)};
    if (v7_ != nullptr) {
      nccl::TunerConstantsV7 constants{};
      return v7_->init(context, identity, ranks, nodes, logger, &domains, &constants);
    }
    nccl::TunerConstants constants{};
    if (v6_ != nullptr)
      return v6_->init(context, identity, ranks, nodes, logger, &domains, &constants);
    if (v5_ != nullptr)
      return v5_->init(context, identity, ranks, nodes, logger, &domains, &constants);
    return v4_->init(ranks, nodes, logger, context);
  }
  nccl::Result finalize(void* context) const {
    return with([](const auto& found) { return found.finalize; })(context);
  }
  [[nodiscard]] nccl::GetCollInfo get_coll_info() const {
    return with([](const auto& found) { return found.get_coll_info; });
  }
  [[nodiscard]] bool has_chunk_size() const {
    return (v7_ != nullptr && v7_->get_chunk_size != nullptr) ||
           (v6_ != nullptr && v6_->get_chunk_size != nullptr);
  }

 private:
  nccl::TunerV7* v7_ = nullptr;
  nccl::TunerV6* v6_ = nullptr;
  nccl::TunerV5* v5_ = nullptr;
  nccl::TunerV4* v4_ = nullptr;
};

/// The control interface of a loaded tuner.
struct TunerControl {
  explicit TunerControl(const LoadedTuner& tuner)
      : interface_number(tuner.control<decltype(colltune_nccl_tuner_interface)>(
            "colltune_nccl_tuner_interface")),
        list(tuner.control<decltype(colltune_nccl_tuner_list)>("colltune_nccl_tuner_list")),
        claim(tuner.control<decltype(colltune_nccl_tuner_claim)>("colltune_nccl_tuner_claim")),
        begin_search(tuner.control<decltype(colltune_nccl_tuner_begin_search)>(
            "colltune_nccl_tuner_begin_search")),
        end_search(tuner.control<decltype(colltune_nccl_tuner_end_search)>(
            "colltune_nccl_tuner_end_search")),
        force(tuner.control<decltype(colltune_nccl_tuner_force)>("colltune_nccl_tuner_force")),
        forced(tuner.control<decltype(colltune_nccl_tuner_forced)>("colltune_nccl_tuner_forced")),
        observe(
            tuner.control<decltype(colltune_nccl_tuner_observe)>("colltune_nccl_tuner_observe")),
        last_call(tuner.control<decltype(colltune_nccl_tuner_last_call)>(
            "colltune_nccl_tuner_last_call")) {}

  decltype(colltune_nccl_tuner_interface)* interface_number;
  decltype(colltune_nccl_tuner_list)* list;
  decltype(colltune_nccl_tuner_claim)* claim;
  decltype(colltune_nccl_tuner_begin_search)* begin_search;
  decltype(colltune_nccl_tuner_end_search)* end_search;
  decltype(colltune_nccl_tuner_force)* force;
  decltype(colltune_nccl_tuner_forced)* forced;
  decltype(colltune_nccl_tuner_observe)* observe;
  decltype(colltune_nccl_tuner_last_call)* last_call;
};

/// A communicator as NCCL makes and asks it.
class TunedCommunicator {
 public:
  TunedCommunicator(const LoadedTuner& tuner, std::size_t ranks, std::size_t nodes,
                    nccl::Logger logger = nullptr, std::uint64_t identity = 1)
      : tuner_(tuner), result_(tuner.init(&context_, identity, ranks, nodes, logger)) {}
  TunedCommunicator(const TunedCommunicator&) = delete;
  TunedCommunicator& operator=(const TunedCommunicator&) = delete;
  ~TunedCommunicator() {
    if (result_ == nccl::result_success) tuner_.finalize(context_);
  }

  [[nodiscard]] nccl::Result result() const { return result_; }
  /// As NCCL calls it: the array passed off as rows.
  nccl::Result ask(const Asked& call, Costs& costs, int& channels) const {
    return tuner_.get_coll_info()(
        context_, static_cast<int>(call.function), call.bytes, call.pipe_operations,
        reinterpret_cast<float**>(costs.entries.data()),  // NOLINT
        nccl::algorithm_count, nccl::protocol_count, call.registered, &channels);
  }
  [[nodiscard]] void* context() const { return context_; }

 private:
  const LoadedTuner& tuner_;
  void* context_ = nullptr;
  nccl::Result result_;
};

}  // namespace colltune::test
