// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace colltune {

/// The allocator's state in a measuring process before the first call. glibc's malloc maps large
/// blocks anew in every call until the program has freed a mapped one; from then on it keeps blocks
/// of that size. So what a process freed before decides how fast a library's calls with temporary
/// buffers are.
enum class MallocRegime {
  grown,  ///< the state of a program that has freed something large; the default
  fresh,  ///< nothing freed yet, in a separate process for each key
};

/// Reads COLLTUNE_MALLOC: "fresh", "grown", or unset for "grown". Throws Error(invalid_argument).
[[nodiscard]] MallocRegime read_malloc_regime();

/// Brings the allocator into the regime: allocates and frees one block just below glibc's greatest
/// threshold (32 MiB), touched in between where another allocator may keep its pages. It sets no
/// option, so the user's own variables still apply. Call before MPI_Init and before there are
/// threads.
void prepare_malloc(MallocRegime regime);

/// The allocator of this process and the user's settings of it, by name: "malloc" -> "glibc 2.36",
/// "MALLOC_ARENA_MAX" -> "1". Includes other allocators' variables and files, and glibc's tunables.
[[nodiscard]] std::map<std::string, std::string> read_malloc_facts();

/// The value of `Environment::malloc_settings`: "glibc 2.36 grown", "glibc 2.36 fresh", "glibc 2.36
/// raised MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=1073741824" (both beyond what
/// growth reaches), "glibc 2.36 set MALLOC_…" if the user's variables prevent growth,
/// "libjemalloc.so.2 …". Call after prepare_malloc.
[[nodiscard]] std::string describe_malloc(MallocRegime regime);

}  // namespace colltune
