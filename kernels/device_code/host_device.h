// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Keywords that CUDA needs and a C++ compiler does not know. They mark functions that run both on a
// GPU and as a host thread; functions that must not be inlined on a GPU, since inlining them at
// every packet would fill the instruction cache; and loops to unroll so that their array becomes
// registers.
#ifdef __CUDACC__
#define COLLTUNE_DEVICE __host__ __device__ __forceinline__
#define COLLTUNE_DEVICE_CALL __host__ __device__ __noinline__ inline
#define COLLTUNE_UNROLL _Pragma("unroll")
#define COLLTUNE_NO_UNROLL _Pragma("unroll 1")
#else
#define COLLTUNE_DEVICE inline
#define COLLTUNE_DEVICE_CALL inline
#define COLLTUNE_UNROLL
#define COLLTUNE_NO_UNROLL
#endif
