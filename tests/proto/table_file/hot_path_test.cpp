// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A lookup takes no memory. The program counts what asks for some.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table_file/table_file.h"
#include "proto/table_file/random_decisions.h"

namespace {
std::atomic<std::uint64_t> allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace colltune::testing {
namespace {

TEST(TableLookup, TakesNoMemory) {
  DecisionSet set = RandomDecisions(4).make(30);
  set.fits = fits_of(set.decisions);
  const TableFile file(encode_table(content_of(set)), "memory");
  const TableView& view = file.view();
  std::vector<GroupKey> keys;
  std::vector<std::string> meshes;
  for (const Decision& decision : set.decisions)
    meshes.push_back(decision.key.problem.mesh ? mesh_name(*decision.key.problem.mesh) : "");
  for (std::size_t i = 0; i < set.decisions.size(); ++i) {
    const Decision& decision = set.decisions[i];
    const auto world = view.find_world(table_file::digest_of_topology(decision.key.topology));
    ASSERT_TRUE(world);
    keys.push_back({.call = pack_call(decision.key.problem, regime_of(decision.key)),
                    .world = *world,
                    .family = decision.family,
                    .mesh = meshes[i]});
  }
  const std::uint64_t before = allocations;
  std::uint64_t answered = 0;
  std::uint64_t predicted = 0;
  std::int64_t time = 0;
  for (const GroupKey& key : keys)
    for (std::uint64_t size = 1; size < (1U << 30); size *= 3)
      if (const auto answer = view.find(key, {size})) {
        ++answered;
        time += answer->time().count() + answer->baseline_time().count();
        time += static_cast<std::int64_t>(view.variant(answer->variant).text.size());
        if (const auto interval = answer->interval()) {
          ++predicted;
          time += interval->high.count();
        }
      }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(answered, 300U);
  EXPECT_GT(predicted, 50U);
  EXPECT_GT(time, 0);
  const auto counted = std::make_unique<int>(1);
  EXPECT_GT(allocations, before) << "the counter counts";
}

}  // namespace
}  // namespace colltune::testing
