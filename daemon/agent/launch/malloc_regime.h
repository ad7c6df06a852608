// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace colltune {

/// How the allocator of a measuring process begins. glibc's malloc maps large blocks anew in every
/// call until the program has freed a mapped one; from then on it keeps blocks of that size. So
/// what a process freed before decides how fast a library's calls with temporary buffers are.
enum class MallocRegime {
  grown,  ///< what a program reaches once it has freed something large; the canonical one
  fresh,  ///< nothing freed yet, in a process of its own for each key
};

/// COLLTUNE_MALLOC: "fresh"; "grown" or nothing. Throws Error(invalid_argument).
[[nodiscard]] MallocRegime read_malloc_regime();

/// Brings the allocator into the regime: allocates, touches and frees one block just below glibc's
/// greatest threshold (32 MiB), and sets nothing, so that the user's own variables still rule.
/// Before MPI_Init, and before there are threads.
void prepare_malloc(MallocRegime regime);

/// Which allocator this process has, and what the user set of it, by name: "malloc" ->
/// "glibc 2.36", "MALLOC_ARENA_MAX" -> "1". Also other allocators' variables and files, and glibc's
/// tunables.
[[nodiscard]] std::map<std::string, std::string> read_malloc_facts();

/// What `Environment::malloc_settings` records: "glibc 2.36 grown", "glibc 2.36 fresh", "glibc 2.36
/// raised MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=1073741824" (both beyond what
/// growth reaches), "glibc 2.36 set MALLOC_…" where the user's variables forbid growth,
/// "libjemalloc.so.2 …". After prepare_malloc.
[[nodiscard]] std::string describe_malloc(MallocRegime regime);

}  // namespace colltune
