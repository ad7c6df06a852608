// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/atomic>

#include <cstdint>

#include "arithmetic/typed.h"
#include "device_call.h"
#include "packets.h"

namespace colltune::device {

/// A thread of a kernel on a GPU; team.h documents each function. Several ranks may share one
/// kernel launch, each with `blocks` of its blocks. `whole`: its calls move only whole aligned
/// packets.
template <bool whole>
class CudaContext {
 public:
  static constexpr bool is_whole = whole;
  __device__ CudaContext(int block, int blocks) : block_(block), blocks_(blocks) {}

  [[nodiscard]] __device__ int block() const { return block_; }
  [[nodiscard]] __device__ int blocks() const { return blocks_; }
  [[nodiscard]] __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ bool sync_block(bool any) { return __syncthreads_or(any ? 1 : 0) != 0; }

  // The block's barrier before a store, and after a load, extends the ordering to all its threads.
  [[nodiscard]] __device__ static std::uint64_t load_signal(const std::uint64_t* word) {
    return atomic(word).load(::cuda::memory_order_acquire);
  }
  __device__ static void store_signal(std::uint64_t* word, std::uint64_t value) {
    atomic(word).store(value, ::cuda::memory_order_release);
  }
  [[nodiscard]] __device__ static constexpr bool heeds(Channel, std::uint64_t) { return true; }
  [[nodiscard]] __device__ static constexpr bool heeds_flags() { return true; }
  [[nodiscard]] __device__ static constexpr bool clears_words() { return true; }
  [[nodiscard]] __device__ static std::uint64_t load_relaxed(const std::uint64_t* word) {
    return atomic(word).load(::cuda::memory_order_relaxed);
  }
  __device__ static void store_relaxed(std::uint64_t* word, std::uint64_t value) {
    atomic(word).store(value, ::cuda::memory_order_relaxed);
  }

  static __device__ void load_pair(const std::uint64_t* words, std::uint64_t (&pair)[2]) {
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(pair[0]), "=l"(pair[1])
                 : "l"(words)
                 : "memory");
  }
  static __device__ void store_pair(std::uint64_t* words, std::uint64_t first,
                                    std::uint64_t second) {
    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(words), "l"(first),
                 "l"(second)
                 : "memory");
  }

  // Peers are mapped, so a put is a plain store. It is complete for whoever sees a signal stored
  // after the block's barrier, since release and acquire are cumulative.
  using Remote = std::byte*;
  [[nodiscard]] __device__ static Remote reach_scratch(const DeviceCall& call, int peer,
                                                       std::uint64_t at) {
    return call.scratch[peer] + at;
  }
  [[nodiscard]] __device__ static Remote reach_result(const DeviceCall& call, int peer,
                                                      std::uint64_t at) {
    return call.receives[peer] + at;
  }
  __device__ static void put(Remote to, std::uint64_t index, std::uint64_t bytes,
                             const Packet& packet) {
    write_packet<CudaContext>(to, index, bytes, packet);
  }
  __device__ static void complete_puts() {}
  __device__ static void put_signal(Remote to, std::uint64_t value) {
    store_signal(reinterpret_cast<std::uint64_t*>(to), value);
  }
  /// The code for every type and operator is too large to be repeated four times.
  template <class Reducer>
  static constexpr bool packs = Reducer::is_typed;

  // Lines of 128 bytes: eight neighbouring threads, 16 bytes each, in one store and one load.
  static constexpr int threads_of_line = 8;
  [[nodiscard]] __device__ static bool any_of_line(bool any) {
    return __any_sync(line_mask(), any ? 1 : 0) != 0;
  }
  __device__ static void store_lane(std::uint64_t* line, int lane, const Packet& packet,
                                    std::uint64_t flag) {
    Lane words;
    __builtin_memcpy(words.words, &packet, sizeof words.words);
    if (lane + 1 == threads_of_line) words.words[1] = flag;
    __syncwarp(line_mask());
    store_pair(line + 2 * lane, words.words[0], words.words[1]);
  }
  struct Lane {
    std::uint64_t words[2];
  };
  [[nodiscard]] __device__ static Lane load_lane(const std::uint64_t* line, int lane,
                                                 std::uint64_t /*flag*/) {
    Lane found;
    __syncwarp(line_mask());
    load_pair(line + 2 * lane, found.words);
    return found;
  }
  /// `lane`: index in its line. The second half of the last lane is the flag.
  [[nodiscard]] __device__ static Packet packet_of(Lane found, int lane) {
    if (lane + 1 == threads_of_line) found.words[1] = 0;
    Packet packet;
    __builtin_memcpy(&packet, found.words, sizeof packet);
    return packet;
  }
  [[nodiscard]] __device__ static bool has_line(const Lane& found, std::uint64_t flag) {
    return __shfl_sync(line_mask(), found.words[1], threads_of_line - 1, threads_of_line) == flag;
  }

  // Access to all ranks' scratch memory through NVLink's switches, which add and multicast (sm_90
  // on). Sums of 16-bit types are accumulated in float and rounded once.
  template <class Reducer>
  [[nodiscard]] __device__ static Packet sum_everywhere(const DeviceCall& call, std::uint64_t at,
                                                        const Reducer&) {
    return sum_at(call.multicast + at, typename Reducer::Element{});
  }
  __device__ static void store_everywhere(const DeviceCall& call, std::uint64_t at,
                                          const Packet& packet) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(call.multicast + at),
        "r"(packet.words[0]), "r"(packet.words[1]), "r"(packet.words[2]), "r"(packet.words[3])
        : "memory");
#else
    __trap();  // no older GPU has multicast memory
#endif
  }
  __device__ static void store_alias(std::byte* to, std::uint64_t index, const Packet& packet) {
    *reinterpret_cast<Packet*>(to + index * packet_bytes) = packet;
  }
  [[nodiscard]] __device__ static Packet load_alias(const std::byte* from, std::uint64_t index) {
    return *reinterpret_cast<const Packet*>(from + index * packet_bytes);
  }
  // Orders this thread's accesses to one memory through two addresses, in both directions.
  __device__ static void release_aliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }
  __device__ static void acquire_aliases() { release_aliases(); }
  [[nodiscard]] __device__ static std::uint64_t now_ns() {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  }
  /// Spins through short waits, as between ranks in step: a pause takes up to twice the time
  /// requested.
  __device__ static void pause(int look) {
    if (look >= 256) __nanosleep(20);
  }

 private:
#if __CUDA_ARCH__ >= 900
  [[nodiscard]] __device__ static Packet sum_at(const std::byte* place, float) {
    Packet sum;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(sum.words[0]), "=r"(sum.words[1]), "=r"(sum.words[2]), "=r"(sum.words[3])
                 : "l"(place)
                 : "memory");
    return sum;
  }
  [[nodiscard]] __device__ static Packet sum_at(const std::byte* place, Float16) {
    Packet sum;
    asm volatile(
        "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
        : "=r"(sum.words[0]), "=r"(sum.words[1]), "=r"(sum.words[2]), "=r"(sum.words[3])
        : "l"(place)
        : "memory");
    return sum;
  }
  [[nodiscard]] __device__ static Packet sum_at(const std::byte* place, BFloat16) {
    Packet sum;
    asm volatile(
        "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
        : "=r"(sum.words[0]), "=r"(sum.words[1]), "=r"(sum.words[2]), "=r"(sum.words[3])
        : "l"(place)
        : "memory");
    return sum;
  }
#else
  template <class Element>
  [[nodiscard]] __device__ static Packet sum_at(const std::byte*, Element) {
    __trap();  // no older GPU has multicast memory
    return {};
  }
#endif
  /// Mask of the threads in its warp that share this thread's line.
  [[nodiscard]] __device__ static unsigned line_mask() {
    return 0xffU << (threadIdx.x % 32 / threads_of_line * threads_of_line);
  }
  __device__ static ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_system> atomic(
      const std::uint64_t* word) {
    return ::cuda::atomic_ref<std::uint64_t, ::cuda::thread_scope_system>(
        *const_cast<std::uint64_t*>(word));
  }

  int block_;
  int blocks_;
};

template <bool whole, class Body, class Reducer>
__device__ __forceinline__ void run_body(int block, int blocks, const DeviceCall& call) {
  CudaContext<whole> context(block, blocks);
  Body::run(context, call, Reducer(call));
}

/// The kernel of `Body`: block b of the kernel launch is block b % blocks of the rank in own[b /
/// blocks]. The call becomes local values, and peers are looked up in the kernel's arguments: no
/// store of the kernel can change either, so loops need not reload them.
template <class Body, class Reducer>
__global__ void __launch_bounds__(most_threads, 1)
    run_ranks(const __grid_constant__ LaunchArguments arguments) {
  const int blocks = arguments.blocks;
  const int place = static_cast<int>(blockIdx.x) / blocks;
  const int block = static_cast<int>(blockIdx.x) - place * blocks;
  DeviceCall call = arguments.common;
  call.look_up_peers_in(arguments.peers);
  call.rank = arguments.own[place].rank;
  call.send = arguments.own[place].send;
  call.receive = arguments.own[place].receive;
  call.counters = arguments.own[place].counters;
  // The untyped kernels spend their time in the arithmetic, so they are not compiled twice.
  if constexpr (Reducer::is_typed || !Body::reduces)
    if (arguments.is_whole) return run_body<true, Body, Reducer>(block, blocks, call);
  run_body<false, Body, Reducer>(block, blocks, call);
}

}  // namespace colltune::device
