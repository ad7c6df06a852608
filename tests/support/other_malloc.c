// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// An allocator that a user preloads: malloc of another object than the C library's.
#include <stddef.h>

void* __libc_malloc(size_t size);  // NOLINT

void* malloc(size_t size) { return __libc_malloc(size); }
