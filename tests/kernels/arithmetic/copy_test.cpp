// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/arithmetic/copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "arithmetic/isa/isa.h"

namespace colltune {
namespace {

constexpr std::size_t guard = 64;

/// Copies from a buffer that ends with the source into the middle of a guarded one.
void check_copy(const Isa& isa, std::size_t size, std::size_t from, std::size_t to, CopyMode mode) {
  std::mt19937 random(static_cast<unsigned>(size + 7 * from));
  std::vector<std::byte> source(from + size);
  for (std::byte& byte : source) byte = static_cast<std::byte>(random());
  std::vector<std::byte> destination(guard + to + size + guard, std::byte{0xa5});
  std::vector<std::byte> expected = destination;
  if (size > 0) std::memcpy(expected.data() + guard + to, source.data() + from, size);
  isa.copy(destination.data() + guard + to, source.data() + from, size, mode);
  fence_non_temporal_stores();
  ASSERT_EQ(destination, expected) << isa.name << ": " << size << " bytes from " << from << " to "
                                   << to << (mode == CopyMode::cached ? "" : ", non-temporal");
}

TEST(Copy, EverySizeAtAnyAlignment) {
  for_each_supported_isa([](const Isa& isa) {
    for (const CopyMode mode : {CopyMode::cached, CopyMode::non_temporal})
      for (std::size_t size = 0; size <= 600; ++size)
        check_copy(isa, size, size % 67, (3 * size) % 71, mode);
  });
}

TEST(Copy, LargeBlocksAtAnyAlignment) {
  for_each_supported_isa([](const Isa& isa) {
    for (const CopyMode mode : {CopyMode::cached, CopyMode::non_temporal})
      for (std::size_t shift = 0; shift < 66; ++shift) {
        check_copy(isa, 100'003 + shift, shift, (5 * shift) % 67, mode);
        check_copy(isa, 4096, 0, shift, mode);
      }
  });
}

TEST(Copy, TakesTheWidestInstructionSet) {
  const std::vector<std::byte> source(70'001, std::byte{7});
  for (const CopyMode mode : {CopyMode::cached, CopyMode::non_temporal}) {
    std::vector<std::byte> destination(source.size());
    copy_bytes(destination.data(), source.data(), source.size(), mode);
    fence_non_temporal_stores();
    EXPECT_EQ(destination, source);
  }
}

}  // namespace
}  // namespace colltune
