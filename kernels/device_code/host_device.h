// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// CUDA needs words that a C++ compiler does not know: on a function that runs on a GPU and as a
// host thread; on one that must stay a call there, since inlined at every packet it would fill the
// instruction cache; and on a loop whose array must become registers.
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
