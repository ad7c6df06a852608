// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sqlite/sample_codec.h"

#include <limits>

#include "samples.h"

namespace colltune::test {
namespace {

using db::Blob;

Blob blob(std::initializer_list<int> bytes) {
  Blob made;
  for (const int byte : bytes) made.bytes.push_back(static_cast<std::byte>(byte));
  return made;
}

TEST(SampleCodec, WritesTheDocumentedForm) {
  const std::vector<std::int64_t> numbers{100, 102, 99, 99};
  // Version, count, then the differences 100, 2, -3, 0 as zigzag varints.
  EXPECT_EQ(db::pack_numbers(numbers), blob({1, 4, 0xc8, 0x01, 4, 5, 0}));
  EXPECT_EQ(db::pack_numbers({}), blob({1, 0}));
}

TEST(SampleCodec, ReadsBackEveryNumber) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  for (const std::vector<std::int64_t>& numbers :
       {std::vector<std::int64_t>{}, {0}, {-1}, {most, least, most, 0, least}, {1, 2, 3, 300, 2}})
    EXPECT_EQ(db::unpack_numbers(db::pack_numbers(numbers)), numbers);
}

TEST(SampleCodec, RefusesWhatItDoesNotWrite) {
  for (const Blob& bad : {blob({}), blob({2, 0}), blob({1}), blob({1, 1}), blob({1, 1, 0x80}),
                          blob({1, 1, 0, 0}), blob({1, 0xff, 0xff, 0xff, 0xff, 0x0f}),
                          blob({1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02})})
    EXPECT_EQ(error_of([&] { (void)db::unpack_numbers(bad); }), StatusCode::data_loss);
}

}  // namespace
}  // namespace colltune::test
