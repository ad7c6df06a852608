// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What NCCL asks about at each call neither allocates nor locks. The C library's functions for both
// are replaced by ones that count: a library that is opened takes those of the program.

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "tuner_fixture.h"

namespace {

/// Of this thread since it began.
struct Uses {
  int allocations = 0;  ///< and what is given back
  int locks = 0;        ///< tried ones too
};
thread_local constinit Uses uses;

/// The C library's own, behind the one that counts.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));  // NOLINT: what dlsym is for
}

}  // namespace

extern "C" {

// glibc's names for what the replaced ones did.
void* __libc_malloc(std::size_t size);                        // NOLINT
void* __libc_calloc(std::size_t count, std::size_t size);     // NOLINT
void* __libc_realloc(void* memory, std::size_t size);         // NOLINT
void* __libc_memalign(std::size_t border, std::size_t size);  // NOLINT
void __libc_free(void* memory);                               // NOLINT

void* malloc(std::size_t size) noexcept {
  ++uses.allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  ++uses.allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  ++uses.allocations;
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t border, std::size_t size) noexcept {
  ++uses.allocations;
  return __libc_memalign(border, size);
}
int posix_memalign(void** memory, std::size_t border, std::size_t size) noexcept {
  ++uses.allocations;
  *memory = __libc_memalign(border, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) noexcept {
  ++uses.allocations;
  __libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const own = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  ++uses.locks;
  return own(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static auto* const own = next<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  ++uses.locks;
  return own(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  static auto* const own = next<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++uses.locks;
  return own(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  static auto* const own = next<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  ++uses.locks;
  return own(lock);
}
int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  static auto* const own = next<int(pthread_spinlock_t*)>("pthread_spin_lock");
  ++uses.locks;
  return own(lock);
}

}  // extern "C"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Choice;
using nccl::Function;
using nccl::Protocol;

constexpr Choice of_rule{Algorithm::ring, Protocol::ll, 5};
constexpr Choice of_force{Algorithm::tree, Protocol::simple, 7};

/// What a piece of work of this thread's takes.
template <class Work>
Uses uses_of(Work work) {
  const Uses before = uses;
  work();
  return {uses.allocations - before.allocations, uses.locks - before.locks};
}

class HotPathTest : public TunerTest {
 protected:
  HotPathTest() {
    std::vector<NcclRule> rules;
    for (const Function function : all_functions)
      rules.push_back({.function = function,
                       .ranks = 8,
                       .nodes = 1,
                       .max_message = {ruled.bytes},
                       .choice = of_rule,
                       .time_us = 12.5F});
    publish(rules);
  }

  /// A call about which nothing is said, and one that has a rule.
  static constexpr Asked unruled{.bytes = 1 << 20};
  static constexpr Asked ruled{.bytes = 1 << 10};

  /// Asks about a call of each collective; `expected` is what becomes of `table`.
  static void expect_neither(const TunedCommunicator& communicator, Asked call, const Costs& table,
                             const Costs& expected) {
    for (const Function function : all_functions) {
      call.function = function;
      Costs costs = table;
      int channels = 0;
      nccl::Result result = nccl::result_internal_error;
      const Uses taken = uses_of([&] { result = communicator.ask(call, costs, channels); });
      EXPECT_EQ(taken.allocations, 0) << static_cast<int>(function);
      EXPECT_EQ(taken.locks, 0) << static_cast<int>(function);
      EXPECT_EQ(result, nccl::result_success);
      EXPECT_EQ(costs, expected) << "the call did not take the way that is meant";
    }
  }
  /// In all ways that a call can go, as the communicator is now.
  static void expect_neither(const TunedCommunicator& communicator, bool is_forced) {
    const Costs table = Costs::of(5);
    const Costs nothing = Costs::of(nccl::cost_ignored);
    expect_neither(communicator, ruled, table, only(is_forced ? of_force : of_rule, 12.5F));
    expect_neither(communicator, unruled, table, is_forced ? only(of_force, 12.5F) : table);
    // What is asked for is not available.
    expect_neither(communicator, ruled, nothing, nothing);
  }
};

TEST_F(HotPathTest, WhatAllocatesOrLocksIsCounted) {
  const TunedCommunicator communicator(tuner, 8, 1);
  const std::uint64_t number = newest().number;
  const colltune_nccl_force force = force_of(of_force);
  int code = -1;
  const Uses forcing = uses_of([&] { code = control.force(number, &force); });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(forcing.allocations, 1) << "the copy of a force that is new";
  EXPECT_EQ(forcing.locks, 1);
  const Uses again = uses_of([&] { code = control.force(number, &force); });
  EXPECT_EQ(again.allocations, 0);
  EXPECT_EQ(again.locks, 1);
  EXPECT_EQ(uses_of([&] { control.list(nullptr, 0); }).locks, 1);
  const Uses opening = uses_of([&] { const TunedCommunicator another(tuner, 8, 1); });
  EXPECT_GE(opening.allocations, 2) << "made and gone again";
}

TEST_F(HotPathTest, ACallNeitherAllocatesNorLocks) {
  for (const int version : {4, 5, 6}) {
    SCOPED_TRACE(version);
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version);
    const TunedCommunicator communicator(one, 8, 1);
    const std::uint64_t number = newest().number;
    const colltune_nccl_force force = force_of(of_force);
    for (const bool is_observed : {false, true}) {
      SCOPED_TRACE(is_observed ? "observed" : "not observed");
      ASSERT_EQ(control.observe(number, is_observed ? 1 : 0), 0);
      expect_neither(communicator, false);
      ASSERT_EQ(control.force(number, &force), 0);
      expect_neither(communicator, true);
      ASSERT_EQ(control.force(number, nullptr), 0);
    }
    colltune_nccl_call seen{};
    ASSERT_EQ(control.last_call(number, &seen), 0);
    EXPECT_EQ(seen.count, 2 * 3 * all_functions.size()) << "all that were observed, and no other";
  }
}

TEST_F(HotPathTest, ACommunicatorWithoutRulesDoesNeither) {
  const TunedCommunicator communicator(tuner, 4, 1);
  expect_neither(communicator, ruled, Costs::of(5), Costs::of(5));
}

}  // namespace
}  // namespace colltune::test
