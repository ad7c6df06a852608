// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Compares library_abi.h with the nccl.h that the build found. Compiled, never called.

#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "colltune/nccl/library_abi.h"

namespace colltune::nccl {
namespace {

static_assert(version_code(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH) == NCCL_VERSION_CODE);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(Configuration{}.size <= sizeof(ncclConfig_t));
static_assert(offsetof(Configuration, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(Configuration, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(Configuration, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(Configuration, cga_cluster_size) == offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(Configuration, fewest_ctas) == offsetof(ncclConfig_t, minCTAs));
static_assert(offsetof(Configuration, most_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(Configuration, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(Configuration, split_share) == offsetof(ncclConfig_t, splitShare));
static_assert(Configuration::undefined == NCCL_CONFIG_UNDEF_INT);

constexpr ncclConfig_t initial = NCCL_CONFIG_INITIALIZER;
static_assert(Configuration{}.magic == initial.magic);

static_assert(native_type(DataType::i8) == ncclInt8 && native_type(DataType::u8) == ncclUint8);
static_assert(native_type(DataType::i32) == ncclInt32 && native_type(DataType::u32) == ncclUint32);
static_assert(native_type(DataType::i64) == ncclInt64 && native_type(DataType::u64) == ncclUint64);
static_assert(native_type(DataType::f16) == ncclFloat16);
static_assert(native_type(DataType::f32) == ncclFloat32);
static_assert(native_type(DataType::f64) == ncclFloat64);
static_assert(native_type(DataType::bf16) == ncclBfloat16);
static_assert(native_type(DataType::f8e4m3) == ncclFloat8e4m3);
static_assert(native_type(DataType::f8e5m2) == ncclFloat8e5m2);
static_assert(native_op(ReduceOp::sum) == ncclSum && native_op(ReduceOp::prod) == ncclProd);
static_assert(native_op(ReduceOp::max) == ncclMax && native_op(ReduceOp::min) == ncclMin);
static_assert(native_op(ReduceOp::avg) == ncclAvg);
static_assert(static_cast<int>(result_success) == ncclSuccess);
static_assert(static_cast<int>(result_in_progress) == ncclInProgress);

/// Whether two functions take the same number of arguments, each of the same size and kind.
template <class Own, class Theirs>
struct Alike : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct Alike<R (*)(A...), S (*)(B...)>
    : std::bool_constant<sizeof(R) == sizeof(S) &&
                         ((sizeof(A) == sizeof(B) &&
                           std::is_pointer_v<A> == std::is_pointer_v<B>)&&...)> {
};
template <class Own, class Theirs>
constexpr bool is_alike(Theirs*) {
  return Alike<Own, Theirs*>::value;
}
static_assert(is_alike<GetVersion>(&ncclGetVersion) && is_alike<GetUniqueId>(&ncclGetUniqueId));
static_assert(is_alike<CommInitRankConfig>(&ncclCommInitRankConfig));
static_assert(is_alike<CommFunction>(&ncclCommFinalize) && is_alike<CommFunction>(&ncclCommAbort));
static_assert(is_alike<CommFunction>(&ncclCommDestroy));
static_assert(is_alike<CommGetAsyncError>(&ncclCommGetAsyncError));
static_assert(is_alike<CommRegister>(&ncclCommRegister));
static_assert(is_alike<CommDeregister>(&ncclCommDeregister));
static_assert(is_alike<RedOpCreatePreMulSum>(&ncclRedOpCreatePreMulSum));
static_assert(is_alike<RedOpDestroy>(&ncclRedOpDestroy));
static_assert(scalar_host_immediate == ncclScalarHostImmediate);
static_assert(is_alike<GetErrorString>(&ncclGetErrorString));
static_assert(is_alike<GetLastError>(&ncclGetLastError));
static_assert(is_alike<AllReduce>(&ncclAllReduce) && is_alike<AllGather>(&ncclAllGather));
static_assert(is_alike<ReduceScatter>(&ncclReduceScatter) && is_alike<Reduce>(&ncclReduce));
static_assert(is_alike<Broadcast>(&ncclBroadcast));
static_assert(is_alike<MemAlloc>(&ncclMemAlloc) && is_alike<MemFree>(&ncclMemFree));
#if NCCL_VERSION_CODE >= 22800  // a header's version is the only way to know what it declares
static_assert(sizeof(Configuration) <= sizeof(ncclConfig_t));
static_assert(offsetof(Configuration, traffic_class) == offsetof(ncclConfig_t, trafficClass));
static_assert(offsetof(Configuration, name) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(Configuration, collnet) == offsetof(ncclConfig_t, collnetEnable));
static_assert(offsetof(Configuration, cta_policy) == offsetof(ncclConfig_t, CTAPolicy));
static_assert(offsetof(Configuration, shrink_share) == offsetof(ncclConfig_t, shrinkShare));
static_assert(offsetof(Configuration, nvls_ctas) == offsetof(ncclConfig_t, nvlsCTAs));
static_assert(offsetof(Configuration, channels_per_net_peer) ==
              offsetof(ncclConfig_t, nChannelsPerNetPeer));
static_assert(offsetof(Configuration, nvlink_centric) ==
              offsetof(ncclConfig_t, nvlinkCentricSched));
static_assert(static_cast<int>(CtaPolicy::own) == NCCL_CTA_POLICY_DEFAULT);
static_assert(static_cast<int>(CtaPolicy::efficiency) == NCCL_CTA_POLICY_EFFICIENCY);
static_assert(static_cast<int>(CtaPolicy::zero) == NCCL_CTA_POLICY_ZERO);
static_assert(is_alike<CommWindowRegister>(&ncclCommWindowRegister));
static_assert(is_alike<CommWindowDeregister>(&ncclCommWindowDeregister));
static_assert(symmetric_window == NCCL_WIN_COLL_SYMMETRIC);
static_assert(is_alike<AllToAll>(&ncclAlltoAll) && is_alike<Gather>(&ncclGather));
static_assert(is_alike<Scatter>(&ncclScatter));
#endif
#if NCCL_VERSION_CODE >= 22807
static_assert(is_alike<CommRevoke>(&ncclCommRevoke) && revoke_as_usual == NCCL_REVOKE_DEFAULT);
#endif
#if NCCL_VERSION_CODE >= 23102
static_assert(sizeof(CallConfiguration) <= sizeof(ncclCollConfig_t));
static_assert(offsetof(CallConfiguration, magic) == offsetof(ncclCollConfig_t, magic));
static_assert(offsetof(CallConfiguration, version) == offsetof(ncclCollConfig_t, version));
static_assert(offsetof(CallConfiguration, fewest_ctas) == offsetof(ncclCollConfig_t, minCTAs));
static_assert(offsetof(CallConfiguration, most_ctas) == offsetof(ncclCollConfig_t, maxCTAs));
static_assert(offsetof(CallConfiguration, nvls_ctas) == offsetof(ncclCollConfig_t, nvlsCTAs));
static_assert(offsetof(CallConfiguration, cga_cluster_size) ==
              offsetof(ncclCollConfig_t, cgaClusterSize));
static_assert(offsetof(CallConfiguration, selection) == offsetof(ncclCollConfig_t, algSelection));
static_assert(offsetof(CallConfiguration, forces_selection) ==
              offsetof(ncclCollConfig_t, forceAlgSelection));
static_assert(offsetof(CallConfiguration, cta_policy) == offsetof(ncclCollConfig_t, CTAPolicy));
static_assert(offsetof(CallConfiguration, profiler_tag) ==
              offsetof(ncclCollConfig_t, userProfilerTag));
static_assert(is_alike<AllReduceConfig>(&ncclAllReduceConfig));
static_assert(is_alike<ReduceScatterConfig>(&ncclReduceScatterConfig));
static_assert(is_alike<AllGatherConfig>(&ncclAllGatherConfig));
static_assert(is_alike<BroadcastConfig>(&ncclBroadcastConfig));
static_assert(is_alike<ReduceConfig>(&ncclReduceConfig));
#endif

}  // namespace
}  // namespace colltune::nccl
