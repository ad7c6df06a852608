// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda/atomic>

#include <cstdint>

#include "device/device_call.h"
#include "device/packets.h"
#include "typed.h"

namespace colltune::device {

/// A thread of a kernel on a GPU: device/team.h says what each function is for. Several ranks may
/// share one launch: each has `blocks` blocks of it.
class CudaContext {
 public:
  __device__ CudaContext(int block, int blocks) : block_(block), blocks_(blocks) {}

  [[nodiscard]] __device__ int block() const { return block_; }
  [[nodiscard]] __device__ int blocks() const { return blocks_; }
  [[nodiscard]] __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ bool sync_block(bool any) { return __syncthreads_or(any ? 1 : 0) != 0; }

  // The block's barrier before a store, and after a load, makes them speak for all its threads.
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

  // Peers are mapped: a put is a store, and complete when a signal behind the block's barrier is
  // seen, whose order is cumulative.
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
    write_packet(to, index, bytes, packet);
  }
  __device__ static void complete_puts() {}
  __device__ static void put_signal(Remote to, std::uint64_t value) {
    store_signal(reinterpret_cast<std::uint64_t*>(to), value);
  }
  /// Of every type and operator the code is too large to stand there four times.
  template <class Reducer>
  static constexpr bool packs = Reducer::is_typed;

  // Of a line of 128 bytes: eight neighbouring threads, 16 bytes each, in one store and one load.
  static constexpr int threads_of_line = 8;
  [[nodiscard]] __device__ static bool any_of_line(bool any) {
    return __any_sync(line_mask(), any ? 1 : 0) != 0;
  }
  __device__ static void store_lane(std::uint64_t* line, int lane, const Packet& packet,
                                    std::uint64_t flag) {
    std::uint64_t words[2];
    __builtin_memcpy(words, &packet, sizeof words);
    if (lane + 1 == threads_of_line) words[1] = flag;
    __syncwarp(line_mask());
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(line + 2 * lane), "l"(words[0]),
                 "l"(words[1])
                 : "memory");
  }
  [[nodiscard]] __device__ static bool load_lane(const std::uint64_t* line, int lane,
                                                 std::uint64_t flag, Packet& packet) {
    std::uint64_t words[2];
    __syncwarp(line_mask());
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words[0]), "=l"(words[1])
                 : "l"(line + 2 * lane)
                 : "memory");
    const std::uint64_t found =
        __shfl_sync(line_mask(), words[1], threads_of_line - 1, threads_of_line);
    if (lane + 1 == threads_of_line) words[1] = 0;
    __builtin_memcpy(&packet, words, sizeof words);
    return found == flag;
  }

  // Of all ranks' scratch memory, by what NVLink's switches add up and spread (sm_90 on). The sums
  // of 16-bit types are made in float, rounded once.
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
    write_packet(to + index * packet_bytes, 0, packet_bytes, packet);
  }
  [[nodiscard]] __device__ static Packet load_alias(const std::byte* from, std::uint64_t index) {
    return read_packet(from + index * packet_bytes, 0, packet_bytes);
  }
  // Between this thread's accesses to one memory by two addresses, in either direction.
  __device__ static void release_aliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }
  __device__ static void acquire_aliases() { release_aliases(); }
  [[nodiscard]] __device__ static std::uint64_t now_ns() {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  }
  __device__ static void pause() { __nanosleep(20); }

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
  /// The threads of this thread's line, in its warp.
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

/// The kernel of `Body`: block b of the launch is block b % blocks of the rank of
/// calls[b / blocks].
template <class Body, class Reducer>
__global__ void run_ranks(const DeviceCall* calls, int blocks) {
  CudaContext context(static_cast<int>(blockIdx.x) % blocks, blocks);
  const DeviceCall& call = calls[blockIdx.x / static_cast<unsigned>(blocks)];
  Body::run(context, call, Reducer(call));
}

}  // namespace colltune::device
