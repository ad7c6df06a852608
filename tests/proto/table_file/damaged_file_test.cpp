// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table_file/table_file.h"
#include "proto/table_file/random_decisions.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;
using namespace table_file;

std::string small_file(bool has_fits = false) {
  DecisionSet set = RandomDecisions(5).make(4);
  if (has_fits) set.fits = fits_of(set.decisions);
  return encode_table(content_of(set));
}

/// Everything that a reader can do with these bytes; empty if an error says that they are damaged.
std::optional<DecisionSet> read_all(const std::string& bytes) {
  try {
    const TableFile file(bytes, "damaged.ctt");
    for (TableView::Group group = 0; group < file.view().groups().size(); ++group)
      for (std::uint64_t size = 1; size < (std::uint64_t{1} << 40); size *= 3)
        if (const auto answer = file.view().find(group, {size})) {
          (void)answer->time();
          (void)answer->baseline_time();
          if (const auto interval = answer->interval()) (void)file.view().string(interval->model);
          (void)file.view().variant(answer->variant);
        }
    return file.read_decisions();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("damaged.ctt"));
    return std::nullopt;
  }
}

/// Sets both digests to what the bytes are.
void sign(std::string& bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto sections = sections_of(header);
  if (!sections || sections->end != bytes.size()) return;
  const auto all = std::as_bytes(std::span(bytes));
  header.evidence_digest = digest_of(all.subspan(sections->evidence));
  std::memcpy(bytes.data(), &header, sizeof header);
  header.digest = digest_of_table(all.first(sections->evidence));
  std::memcpy(bytes.data(), &header, sizeof header);
}

TEST(DamagedTableFile, NoFlippedByteGoesUnnoticed) {
  for (const bool has_fits : {false, true}) {
    const std::string sound = small_file(has_fits);
    ASSERT_TRUE(read_all(sound));
    for (std::size_t at = 0; at < sound.size(); ++at) {
      std::string damaged = sound;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      EXPECT_FALSE(read_all(damaged)) << "byte " << at;
    }
  }
}

TEST(DamagedTableFile, NoLengthButItsOwnIsTaken) {
  const std::string sound = small_file();
  for (std::size_t length = 0; length < sound.size(); ++length)
    EXPECT_FALSE(read_all(sound.substr(0, length))) << length;
  EXPECT_FALSE(read_all(sound + '\0'));
}

constexpr std::array<unsigned char, 5> odd_values{0x00, 0x01, 0x7f, 0x80, 0xff};
// In turn where exceptions are slow.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t values_a_byte = 2;
#else
constexpr std::size_t values_a_byte = odd_values.size();
#endif

/// Whoever makes such a file also makes its digests: then only the checks of its numbers help.
TEST(DamagedTableFile, NoNumberLeadsOutOfTheFileEvenWithSoundDigests) {
  for (const bool has_fits : {false, true}) {
    const std::string sound = small_file(has_fits);
    int refused = 0;
    for (std::size_t at = 0; at < sound.size(); ++at)
      for (std::size_t i = 0; i < values_a_byte; ++i) {
        std::string damaged = sound;
        damaged[at] = static_cast<char>(odd_values[(at + i) % odd_values.size()]);
        if (damaged == sound) continue;
        sign(damaged);
        if (!read_all(damaged)) ++refused;
      }
    EXPECT_GT(refused, 1000);
  }
}

TEST(DamagedTableFile, ErrorNamesThePlace) {
  std::string damaged = small_file();
  Header header;
  std::memcpy(&header, damaged.data(), sizeof header);
  const auto sections = sections_of(header);
  const std::uint32_t variant = 0x00ffffff;
  std::memcpy(
      damaged.data() + sections->ranges + sizeof(RangeRecord) + offsetof(RangeRecord, variant),
      &variant, sizeof variant);
  sign(damaged);
  try {
    (void)TableFile(damaged, "damaged.ctt");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::data_loss);
    EXPECT_THAT(error.what(), HasSubstr("damaged.ctt is no whole table file (ranges, record 1): "
                                        "names an unknown variant"));
  }
}

}  // namespace
}  // namespace colltune::testing
