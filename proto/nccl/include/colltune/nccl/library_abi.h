// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "colltune/nccl/tuner_abi.h"
#include "colltune/vocabulary/collective.h"

/// What is used of libnccl.so.2, as its documentation describes it, so that it can be opened at run
/// time: calls, numbers of types and operators, the configuration of a communicator. Where a build
/// finds nccl.h, kernels/nccl_library/with_header/abi_check.cpp compares.
namespace colltune::nccl {

struct NativeCommunicator;  ///< ncclComm, of which nothing is known
using NativeHandle = NativeCommunicator*;
using Stream = void*;  ///< cudaStream_t

/// ncclUniqueId: names a communicator that is being made.
struct UniqueId {
  char internal[128];
};

/// As ncclGetVersion codes it since 2.9: 22809 is 2.28.9.
constexpr int version_code(int major, int minor, int patch) {
  return major * 10000 + minor * 100 + patch;
}

/// The version_code of "2.28.9"; 0 for a text that is none.
inline int version_code_of(std::string_view text) {
  std::array<int, 3> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto [behind, error] = std::from_chars(at, end, parts[part]);
    if (error != std::errc() || parts[part] < 0) return 0;
    at = behind;
    if (part + 1 == parts.size()) break;
    if (at == end || *at != '.') return 0;
    ++at;
  }
  return version_code(parts[0], parts[1], parts[2]);
}

/// ncclConfig_t as NCCL 2.28 has it. It says how much of it is meant: its beginning as of 2.18
/// unless it is told otherwise, and later libraries take their own defaults for the rest.
struct Configuration {
  std::size_t size = sizeof(std::size_t) + 40;
  unsigned int magic = 0xcafebeef;
  unsigned int version = version_code(2, 18, 0);
  int blocking = undefined;
  int cga_cluster_size = undefined;
  int fewest_ctas = undefined;
  int most_ctas = undefined;
  const char* net_name = nullptr;
  int split_share = undefined;  ///< the last of 2.18
  int traffic_class = undefined;
  const char* name = nullptr;
  int collnet = undefined;
  int cta_policy = undefined;
  int shrink_share = undefined;
  int nvls_ctas = undefined;
  int channels_per_net_peer = undefined;
  int nvlink_centric = undefined;

  /// From now on all of it is meant: only for libraries from 2.28 on.
  constexpr void mean_all() {
    size = sizeof(Configuration);
    version = version_code(2, 28, 0);
  }

  static constexpr int undefined = INT_MIN;
};

/// ncclCollConfig_t as NCCL 2.31 has it: what one call asks for. It says how much of it is meant;
/// later libraries take their own defaults for the rest.
struct CallConfiguration {
  std::size_t size = sizeof(std::size_t) + 56;
  unsigned int magic = 0xcafebeef;
  unsigned int version = version_code(2, 31, 2);
  void* extension = nullptr;  ///< not looked at
  int fewest_ctas = Configuration::undefined;
  int most_ctas = Configuration::undefined;
  int nvls_ctas = Configuration::undefined;
  int cga_cluster_size = Configuration::undefined;
  const char* selection = nullptr;  ///< null: NCCL chooses
  int forces_selection = 1;         ///< else NCCL chooses where the selection cannot run
  int cta_policy = Configuration::undefined;
  std::uint64_t profiler_tag = 0;
};
/// The first version with it.
inline constexpr int first_call_configuration = version_code(2, 31, 0);

/// NCCL_CTA_POLICY_*: what NCCL spends of the GPU on its kernels. It was given two more in 2.27,
/// and the last in 2.28.
enum class CtaPolicy {
  own = 0,         ///< what is fast
  efficiency = 1,  ///< few, where that costs little; not looked at where a tuner is loaded
  zero = 2,        ///< none where copy engines can do it
};

/// ncclDataType_t.
constexpr int native_type(DataType type) {
  switch (type) {
    case DataType::i8:
      return 0;
    case DataType::u8:
      return 1;
    case DataType::i32:
      return 2;
    case DataType::u32:
      return 3;
    case DataType::i64:
      return 4;
    case DataType::u64:
      return 5;
    case DataType::f16:
      return 6;
    case DataType::f32:
      return 7;
    case DataType::f64:
      return 8;
    case DataType::bf16:
      return 9;
    case DataType::f8e4m3:
      return 10;
    case DataType::f8e5m2:
      return 11;
  }
  return -1;
}

/// ncclRedOp_t; 0 for `none`, which no reduction has.
constexpr int native_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::none:
    case ReduceOp::sum:
      return 0;
    case ReduceOp::prod:
      return 1;
    case ReduceOp::max:
      return 2;
    case ReduceOp::min:
      return 3;
    case ReduceOp::avg:
      return 4;
  }
  return 0;
}

// The functions of libnccl, by their names there.
using GetVersion = Result (*)(int* version);
using GetUniqueId = Result (*)(UniqueId* id);
using CommInitRankConfig = Result (*)(NativeHandle* made, int ranks, UniqueId id, int rank,
                                      Configuration* configuration);
using CommFunction = Result (*)(NativeHandle communicator);  ///< Finalize, Destroy, Abort
/// Ends what is under way, and leaves the communicator to be destroyed; since 2.28.7.
using CommRevoke = Result (*)(NativeHandle communicator, int flags);
inline constexpr int revoke_as_usual = 0;  ///< NCCL_REVOKE_DEFAULT
using CommGetAsyncError = Result (*)(NativeHandle communicator, Result* error);
using CommRegister = Result (*)(NativeHandle communicator, void* memory, std::size_t bytes,
                                void** handle);
using CommDeregister = Result (*)(NativeHandle communicator, void* handle);
/// ncclRedOpCreatePreMulSum: the sum of inputs that were multiplied by `scalar`, of `type`.
using RedOpCreatePreMulSum = Result (*)(int* made, void* scalar, int type, int residence,
                                        NativeHandle communicator);
using RedOpDestroy = Result (*)(int op, NativeHandle communicator);
/// The scalar lies in the host's memory, and is read before the function returns.
inline constexpr int scalar_host_immediate = 1;
struct NativeWindowMemory;  ///< ncclWindow_vidmem, of which nothing is known
using NativeWindow = NativeWindowMemory*;
/// Since 2.27.
using CommWindowRegister = Result (*)(NativeHandle communicator, void* memory, std::size_t bytes,
                                      NativeWindow* made, int flags);
using CommWindowDeregister = Result (*)(NativeHandle communicator, NativeWindow window);
/// NCCL_WIN_COLL_SYMMETRIC: what lies at one offset in all ranks' windows is one buffer of a call.
inline constexpr int symmetric_window = 1;
using MemAlloc = Result (*)(void** made, std::size_t bytes);
using MemFree = Result (*)(void* memory);
using GetErrorString = const char* (*)(Result result);
using GetLastError = const char* (*)(NativeHandle communicator);
using AllReduce = Result (*)(const void* send, void* receive, std::size_t count, int type, int op,
                             NativeHandle communicator, Stream stream);
using ReduceScatter = AllReduce;
using AllGather = Result (*)(const void* send, void* receive, std::size_t count, int type,
                             NativeHandle communicator, Stream stream);
using AllToAll = AllGather;
using Broadcast = Result (*)(const void* send, void* receive, std::size_t count, int type, int root,
                             NativeHandle communicator, Stream stream);
using Gather = Broadcast;
using Scatter = Broadcast;
using Reduce = Result (*)(const void* send, void* receive, std::size_t count, int type, int op,
                          int root, NativeHandle communicator, Stream stream);

// Since 2.31, each as the plain function and what the call asks for.
using AllReduceConfig = Result (*)(const void* send, void* receive, std::size_t count, int type,
                                   int op, NativeHandle communicator, Stream stream,
                                   const CallConfiguration* configuration);
using ReduceScatterConfig = AllReduceConfig;
using AllGatherConfig = Result (*)(const void* send, void* receive, std::size_t count, int type,
                                   NativeHandle communicator, Stream stream,
                                   const CallConfiguration* configuration);
using BroadcastConfig = Result (*)(const void* send, void* receive, std::size_t count, int type,
                                   int root, NativeHandle communicator, Stream stream,
                                   const CallConfiguration* configuration);
using ReduceConfig = Result (*)(const void* send, void* receive, std::size_t count, int type,
                                int op, int root, NativeHandle communicator, Stream stream,
                                const CallConfiguration* configuration);

static_assert(sizeof(UniqueId) == 128);
static_assert(sizeof(CallConfiguration) == 64 && CallConfiguration{}.size == 64);
static_assert(offsetof(CallConfiguration, magic) == 8 &&
              offsetof(CallConfiguration, version) == 12);
static_assert(offsetof(CallConfiguration, extension) == 16);
static_assert(offsetof(CallConfiguration, fewest_ctas) == 24);
static_assert(offsetof(CallConfiguration, most_ctas) == 28);
static_assert(offsetof(CallConfiguration, nvls_ctas) == 32);
static_assert(offsetof(CallConfiguration, cga_cluster_size) == 36);
static_assert(offsetof(CallConfiguration, selection) == 40);
static_assert(offsetof(CallConfiguration, forces_selection) == 48);
static_assert(offsetof(CallConfiguration, cta_policy) == 52);
static_assert(offsetof(CallConfiguration, profiler_tag) == 56);
static_assert(offsetof(Configuration, blocking) == sizeof(std::size_t) + 8);
static_assert(offsetof(Configuration, net_name) == sizeof(std::size_t) + 24);
// It lies where 2.18 has padding.
static_assert(offsetof(Configuration, traffic_class) == Configuration{}.size - sizeof(int));
static_assert(offsetof(Configuration, name) == Configuration{}.size);
static_assert(sizeof(Configuration) == sizeof(std::size_t) + 72);

}  // namespace colltune::nccl
