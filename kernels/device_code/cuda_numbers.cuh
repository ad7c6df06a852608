// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <type_traits>

#include "arithmetic/typed.h"
#include "packets.h"
#include "reducer.h"

namespace colltune::device {

/// Does what PortableNumbers (reducer.h) does with the GPU's own conversions, to the same bits.
/// They differ from ours only in NaNs, which these functions turn into ours (number_format.h).
class CudaNumbers {
 public:
  /// `keeps_nans`: the value is one of the inputs, so the bits of a NaN matter. A sum's NaN is
  /// replaced at the end.
  template <class T, bool keeps_nans>
  static __host__ __device__ __forceinline__ void widen(const Packet& packet,
                                                        float (&values)[packet_bytes / sizeof(T)]) {
#ifdef __CUDA_ARCH__
    constexpr int elements = packet_bytes / sizeof(T);
    if constexpr (std::is_same_v<T, Float16>) {
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; ++i) {
        const std::uint16_t bits = half_of(packet, i);
        const float value = __half2float(__ushort_as_half(bits));
        values[i] = keeps_nans && value != value ? nan_of_sign(std::uint32_t{bits} << 16) : value;
      }
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; ++i)
        values[i] = __uint_as_float(i % 2 == 0 ? packet.words[i / 2] << 16
                                               : packet.words[i / 2] & 0xffff0000U);
    } else {
      constexpr auto format = std::is_same_v<T, Float8E4M3> ? __NV_E4M3 : __NV_E5M2;
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; i += 2) {
        const std::uint16_t bits = half_of(packet, i / 2);
        const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(bits, format);
        const std::uint16_t raw[2] = {halves.x, halves.y};
        COLLTUNE_UNROLL
        for (int j = 0; j < 2; ++j) {
          const float value = __half2float(__ushort_as_half(raw[j]));
          values[i + j] = keeps_nans && value != value
                              ? nan_of_sign(std::uint32_t{bits} << (j == 0 ? 24 : 16))
                              : value;
        }
      }
    }
#else
    PortableNumbers::widen<T, keeps_nans>(packet, values);
#endif
  }

  template <class T, bool keeps_nans>
  [[nodiscard]] static __host__ __device__ __forceinline__ Packet
  narrow(const float (&values)[packet_bytes / sizeof(T)]) {
#ifdef __CUDA_ARCH__
    constexpr int elements = packet_bytes / sizeof(T);
    Packet packet;
    if constexpr (std::is_same_v<T, Float16>) {
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; i += 2) {
        const __half2 pair = __floats2half2_rn(values[i], values[i + 1]);
        packet.words[i / 2] = with_own_nans<keeps_nans>(
            pair_bits(pair), nans_of(pair), values[i], values[i + 1],
            [](std::uint32_t bits) { return 0x7e00U | (bits >> 16 & 0x8000U); });
      }
    } else if constexpr (std::is_same_v<T, BFloat16>) {
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; i += 2) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(values[i], values[i + 1]);
        packet.words[i / 2] = with_own_nans<keeps_nans>(
            pair_bits(pair), nans_of(pair), values[i], values[i + 1],
            [](std::uint32_t bits) { return keeps_nans ? bits >> 16 | 0x40U : 0x7fc0U; });
      }
    } else {
      constexpr auto format = std::is_same_v<T, Float8E4M3> ? __NV_E4M3 : __NV_E5M2;
      constexpr std::uint32_t nan = std::is_same_v<T, Float8E4M3> ? 0x7f : 0x7e;
      COLLTUNE_UNROLL
      for (int i = 0; i < elements; i += 4) {
        std::uint32_t word = 0;
        COLLTUNE_UNROLL
        for (int j = 0; j < 4; j += 2)
          word |= static_cast<std::uint32_t>(__nv_cvt_float2_to_fp8x2(
                      make_float2(values[i + j], values[i + j + 1]), __NV_SATFINITE, format))
                  << (8 * j);
        COLLTUNE_UNROLL
        for (int j = 0; j < 4; ++j)
          if (const float value = values[i + j]; value != value) {
            const std::uint32_t sign = keeps_nans ? __float_as_uint(value) >> 24 & 0x80U : 0;
            word = (word & ~(0xffU << (8 * j))) | (nan | sign) << (8 * j);
          }
        packet.words[i / 4] = word;
      }
    }
    return packet;
#else
    return PortableNumbers::narrow<T, keeps_nans>(values);
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  static __device__ __forceinline__ std::uint16_t half_of(const Packet& packet, int i) {
    return static_cast<std::uint16_t>(packet.words[i / 2] >> (16 * (i % 2)));
  }
  static __device__ __forceinline__ float nan_of_sign(std::uint32_t bits) {
    return __uint_as_float(0x7fc00000U | (bits & 0x80000000U));
  }
  template <class Pair>
  static __device__ __forceinline__ std::uint32_t pair_bits(const Pair& pair) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &pair, sizeof bits);
    return bits;
  }
  /// The two halves of `bits`, with the halves in `nans` replaced by `nan_of(value)`. A sum's NaN
  /// is the positive quiet one.
  template <bool keeps_nans, class NanOf>
  static __device__ __forceinline__ std::uint32_t with_own_nans(std::uint32_t bits,
                                                                std::uint32_t nans, float low,
                                                                float high, NanOf nan_of) {
    std::uint32_t own;
    if constexpr (keeps_nans)
      own = nan_of(__float_as_uint(low)) | nan_of(__float_as_uint(high)) << 16;
    else
      own = nan_of(0) * 0x10001U;
    return (bits & ~nans) | (own & nans);
  }
  static __device__ __forceinline__ std::uint32_t nans_of(const __half2& pair) {
    return __hneu2_mask(pair, pair);
  }
  static __device__ __forceinline__ std::uint32_t nans_of(const __nv_bfloat162& pair) {
    return __hneu2_mask(pair, pair);
  }
#endif
};

}  // namespace colltune::device
