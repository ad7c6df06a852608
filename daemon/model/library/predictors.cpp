// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/library/predictors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "colltune/model/library/nccl_classic.h"
#include "colltune/model/library/nccl_symmetric.h"
#include "colltune/model/speed_of_light/annotate.h"
#include "colltune/vocabulary/error.h"

namespace colltune::library_models {
namespace {

namespace sol = speed_of_light;

/// Where the collectives of a program run.
struct Setting {
  sol::Device device;
  std::optional<double> network_gb_per_s{};  ///< as given
  const NcclTopology* nccl = nullptr;        ///< null: not given
  bool may_use_tma = false;
};

int compute_capability_of(const sol::Device& device) {
  if (device.platform != sol::Platform::cuda)
    throw Error(StatusCode::invalid_argument, "NCCL's models are of cuda devices; this one is " +
                                                  std::string(name_of(device.platform)));
  return 10 * device.generation;  // the rows begin at whole generations
}

/// What NCCL takes, and when it is done.
struct LibraryChoice {
  std::string taken;
  std::string why;
  Microseconds time{};
};

LibraryChoice choose_symmetric(const CollectiveEntry& entry, const sol::EntryGroups& groups,
                               const Setting& setting) {
  if (groups.largest.nodes > 1 && !setting.network_gb_per_s)
    throw Error(StatusCode::invalid_argument,
                "device.nic_gb_per_s is missing: NCCL's symmetric kernels across nodes depend on "
                "the bandwidth of the slowest network device that it found");
  const SymmetricPrediction found =
      predict_nccl_2_30_symmetric({.kind = entry.kind,
                                   .message = entry.bytes,
                                   .ranks = groups.largest.ranks,
                                   .nodes = groups.largest.nodes,
                                   .network_gb_per_s = setting.network_gb_per_s.value_or(0),
                                   .compute_capability = compute_capability_of(setting.device),
                                   .has_multicast = setting.device.has_multimem,
                                   .may_use_tma = setting.may_use_tma,
                                   .data_type = entry.data_type,
                                   .reduce_op = entry.reduce_op.value_or(ReduceOp::sum)});
  // The entry says which collective it is, as the names' first part does.
  const std::string_view kernel = name_of(found.kernel);
  return {std::string(kernel.substr(kernel.find('_') + 1)),
          fmt::format("on {} block{}", found.blocks, found.blocks == 1 ? "" : "s"), found.time};
}

LibraryChoice choose_classic(const CollectiveEntry& entry, const sol::EntryGroups& groups,
                             const Setting& setting) {
  if (setting.nccl == nullptr)
    throw Error(StatusCode::invalid_argument,
                "nccl is missing: the channels that NCCL found (NCCL_DEBUG=INFO, "
                "NCCL_DEBUG_SUBSYS=GRAPH)");
  const ClassicCall call{.kind = entry.kind,
                         .message = entry.bytes,
                         .nodes = groups.largest.nodes,
                         .ranks = groups.largest.ranks,
                         .compute_capability = compute_capability_of(setting.device),
                         .data_type = entry.data_type,
                         .reduce_op = entry.reduce_op.value_or(ReduceOp::sum)};
  const std::vector<ClassicPrediction> times = nccl_2_30_classic_times(call, *setting.nccl);
  const ClassicPrediction found = least_time(call, times);
  return {fmt::format("{}.{}", name_of(found.algorithm), name_of(found.protocol)),
          fmt::format("the least of {} times", times.size()), found.time};
}

using Choose = LibraryChoice (*)(const CollectiveEntry&, const sol::EntryGroups&, const Setting&);

/// A model that can be named. Without a function it is XLA's.
struct Predictor {
  std::string_view name;
  Choose choose;
};
constexpr std::array<Predictor, 3> predictors{{
    {"xla", nullptr},
    {"nccl-2.30.7-symmetric", choose_symmetric},
    {"nccl-2.30.7-classic", choose_classic},
}};

const Predictor& predictor_of(const std::string& name) {
  const auto* const found = std::ranges::find(predictors, name, &Predictor::name);
  if (found == predictors.end())
    throw Error(StatusCode::invalid_argument,
                fmt::format("unknown model '{}'; allowed are {}", name, predictor_names()));
  return *found;
}

Annotation annotate_library(const CollectiveEntry& entry, const Predictor& predictor,
                            const Setting& setting, sol::GroupLayouts& layouts) {
  try {
    const sol::EntryGroups groups = sol::check_entry(entry, layouts);
    LibraryChoice choice = predictor.choose(entry, groups, setting);
    Annotation answer{.name = entry.name,
                      .strategy = Strategy::standard,
                      .source = ChosenBy::library,
                      .why = std::move(choice.why),
                      .model = fmt::format("{}.{}", predictor.name, choice.taken),
                      .on_node = sol::low_cost};
    answer.memory = sol::memory_time(entry.bytes_accessed.value_or(Bytes{}), setting.device);
    answer.total = choice.time + answer.memory;
    answer.between = answer.total;
    sol::check_finite(answer.total, answer.model);
    return answer;
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("collective '{}': {}", entry.name, error.what()));
  }
}

/// Runs `action`; an error that it throws gets the path as a prefix.
template <class Action>
auto at(const FieldPath& path, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    throw Error(error.code(), path.text() + ": " + error.what());
  }
}

}  // namespace

std::string predictor_names() {
  std::string all;
  for (const Predictor& one : predictors) {
    if (!all.empty()) all += ", ";
    all += one.name;
  }
  return all;
}

std::vector<Annotation> annotate(const AnnotatedProgram& program, const FieldPath& where) {
  Setting setting{.network_gb_per_s = program.device.nic_gb_per_s,
                  .may_use_tma = program.device.tma.value_or(false)};
  setting.device = at({&where, "device"}, [&] { return sol::resolve_device(program.device); });
  at({&where, "nodes"}, [&] {
    if (program.nodes < 1)
      throw Error(StatusCode::invalid_argument, fmt::format("{} nodes; at least 1", program.nodes));
  });
  if (program.nccl) {
    at({&where, "nccl"}, [&] { check(*program.nccl); });
    setting.nccl = &*program.nccl;
  }
  const Predictor* const otherwise = at({&where, "model"}, [&] {
    return program.model ? &predictor_of(*program.model) : predictors.data();
  });
  sol::GroupLayouts layouts(program.nodes, setting.device);
  std::vector<Annotation> answers;
  answers.reserve(program.collectives.size());
  for (const CollectiveEntry& entry : program.collectives) {
    const auto index = static_cast<int>(answers.size());
    answers.push_back(at({&where, "collectives", index}, [&] {
      const Predictor& predictor = entry.model ? predictor_of(*entry.model) : *otherwise;
      return predictor.choose == nullptr ? sol::annotate(entry, layouts, setting.device)
                                         : annotate_library(entry, predictor, setting, layouts);
    }));
  }
  return answers;
}

}  // namespace colltune::library_models
