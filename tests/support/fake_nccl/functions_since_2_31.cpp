// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls with a configuration of their own.

#include <algorithm>
#include <cstring>

#include "support/fake_nccl/communicators.h"
#include "support/fake_nccl/selection.h"

namespace colltune::test {

using nccl::NativeHandle;
using nccl::Result;

namespace {

DataType type_of(int native) {
  for (const auto& named : enum_names(DataType{}))
    if (nccl::native_type(named.value) == native) return named.value;
  return DataType::u8;
}

Result call(Collective collective, const void* send, void* receive, std::size_t count, int type,
            const int* op, int root, NativeHandle handle, nccl::Stream stream,
            const nccl::CallConfiguration* configuration) {
  FakeMember& member = *reinterpret_cast<FakeMember*>(handle);
  FakeCall made{.collective = collective,
                .type = type_of(type),
                .op = ReduceOp::none,
                .root = root,
                .count = count,
                .send = static_cast<const std::byte*>(send),
                .receive = static_cast<std::byte*>(receive)};
  if (op != nullptr) member.set_op(*op, made);
  if (configuration != nullptr)
    if (const Result result = member.configure_call(*configuration, made);
        result != nccl::result_success)
      return result;
  member.begin_call(made);
  return member.call(made, stream);
}

}  // namespace

Result FakeMember::configure_call(const nccl::CallConfiguration& configuration, FakeCall& call) {
  const nccl::CallConfiguration expected;
  FakeLibrary& library = fake_library();
  {
    const std::lock_guard lock(library.mutex);
    FakeNcclCallConfiguration& seen = library.configured[static_cast<std::size_t>(rank_)];
    seen = {.calls = seen.calls + 1,
            .size = configuration.size,
            .magic = configuration.magic,
            .version = configuration.version,
            .has_extension = configuration.extension != nullptr,
            .fewest_ctas = configuration.fewest_ctas,
            .most_ctas = configuration.most_ctas,
            .nvls_ctas = configuration.nvls_ctas,
            .cga_cluster_size = configuration.cga_cluster_size,
            .forces_selection = configuration.forces_selection,
            .cta_policy = configuration.cta_policy,
            .profiler_tag = configuration.profiler_tag};
    if (configuration.selection != nullptr)
      std::strncpy(seen.selection, configuration.selection, sizeof seen.selection - 1);
    if (library.settings.rank_without_selection == rank_) return nccl::result_invalid_argument;
  }
  // In the order of the library's checks.
  if (configuration.size < expected.size || configuration.magic != expected.magic ||
      configuration.forces_selection < 0 || configuration.forces_selection > 1)
    return nccl::result_invalid_argument;
  if (configuration.selection != nullptr) call.selection = configuration.selection;
  if (configuration.most_ctas != nccl::Configuration::undefined)
    call.ctas = configuration.most_ctas;
  if (call.selection.empty()) return nccl::result_success;
  if (entry_in_windows(call) >= 0 && group_->ranks > 1) return nccl::result_success;
  Costs costs = Costs::of(nccl::cost_ignored);
  if (const auto function = nccl::function_of(call.collective))
    costs = costs_of(*function, call.count * size_of(call.type));
  keep_selected(call.selection, costs);
  const bool has_some = std::ranges::any_of(costs.entries, [](float cost) { return cost >= 0; });
  return has_some ? nccl::result_success : nccl::result_invalid_argument;
}

}  // namespace colltune::test

using namespace colltune;        // NOLINT: what follows is C
using namespace colltune::test;  // NOLINT

extern "C" {
#pragma GCC visibility push(default)

Result ncclAllReduceConfig(const void* send, void* receive, std::size_t count, int type, int op,
                           NativeHandle handle, nccl::Stream stream,
                           const nccl::CallConfiguration* configuration) {
  return call(Collective::all_reduce, send, receive, count, type, &op, 0, handle, stream,
              configuration);
}
Result ncclReduceScatterConfig(const void* send, void* receive, std::size_t count, int type, int op,
                               NativeHandle handle, nccl::Stream stream,
                               const nccl::CallConfiguration* configuration) {
  return call(Collective::reduce_scatter, send, receive, count, type, &op, 0, handle, stream,
              configuration);
}
Result ncclReduceConfig(const void* send, void* receive, std::size_t count, int type, int op,
                        int root, NativeHandle handle, nccl::Stream stream,
                        const nccl::CallConfiguration* configuration) {
  return call(Collective::reduce, send, receive, count, type, &op, root, handle, stream,
              configuration);
}
Result ncclAllGatherConfig(const void* send, void* receive, std::size_t count, int type,
                           NativeHandle handle, nccl::Stream stream,
                           const nccl::CallConfiguration* configuration) {
  return call(Collective::all_gather, send, receive, count, type, nullptr, 0, handle, stream,
              configuration);
}
Result ncclBroadcastConfig(const void* send, void* receive, std::size_t count, int type, int root,
                           NativeHandle handle, nccl::Stream stream,
                           const nccl::CallConfiguration* configuration) {
  return call(Collective::broadcast, send, receive, count, type, nullptr, root, handle, stream,
              configuration);
}

FakeNcclCallConfiguration fake_nccl_configured(int rank) {
  const std::lock_guard lock(fake_library().mutex);
  return fake_library().configured[static_cast<std::size_t>(rank)];
}

#pragma GCC visibility pop
}
