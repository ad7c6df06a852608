// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What marks a function that runs on a GPU and as a host thread: the language of CUDA has no other
// way to say it than a word that a C++ compiler does not know; and a loop whose array must become
// registers.
#ifdef __CUDACC__
#define COLLTUNE_DEVICE __host__ __device__ __forceinline__
#define COLLTUNE_UNROLL _Pragma("unroll")
#else
#define COLLTUNE_DEVICE inline
#define COLLTUNE_UNROLL
#endif
