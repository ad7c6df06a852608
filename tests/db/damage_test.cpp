// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Damaged files: every read is an Error or returns exactly what was written.

#include <fstream>
#include <random>
#include <sstream>

#include "samples.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream all;
  all << stream.rdbuf();
  return all.str();
}

void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

/// Reads everything; true where it was an Error(data_loss), false where it was `expected`.
bool is_noticed(const std::filesystem::path& file, const Contents& expected) {
  try {
    EXPECT_EQ(read_all(StoreReader(file)), expected);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::data_loss) << error.what();
    EXPECT_NE(std::string(error.what()).find(file.string()), std::string::npos) << error.what();
    return true;
  }
}

class FlippedBits : public testing::TestWithParam<bool> {};

TEST_P(FlippedBits, AreNoticedOrChangeNothing) {
  const bool in_snapshot = GetParam();
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const auto source = in_snapshot ? snapshot_path(folder / "a.db") : folder / "a.db";
  const Contents expected = read_all(StoreReader(source));
  const std::string sound = bytes_of(source);
  std::mt19937_64 random(20260102);
  constexpr int flips = has_sanitizer ? 200 : 800;
  int noticed = 0;
  for (int i = 0; i < flips; ++i) {
    // A third of the flips hit the header and the first page, which every other read rests on.
    const std::size_t at = random() % (i % 3 == 0 ? 4096 : sound.size());
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (random() % 8)));
    SCOPED_TRACE("byte " + std::to_string(at) + " of " + std::to_string(sound.size()));
    write_bytes(folder / "b.db", damaged);
    noticed += is_noticed(folder / "b.db", expected) ? 1 : 0;
    for (const char* name : {"b.db-wal", "b.db-shm"}) std::filesystem::remove(folder / name);
    if (HasFailure()) return;
  }
  EXPECT_GT(noticed, flips / 8);
}
INSTANTIATE_TEST_SUITE_P(LiveAndSnapshot, FlippedBits, testing::Bool(),
                         [](const auto& which) { return which.param ? "snapshot" : "live"; });

TEST(Damage, ARowThatWasChangedIsNamed) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  std::string bytes = bytes_of(folder / "a.db");
  const std::string detail = "a \"quoted\" detail";
  const auto at = bytes.find(detail);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'A';
  write_bytes(folder / "a.db", bytes);
  const StoreReader reader(folder / "a.db");
  std::string message;
  EXPECT_EQ(error_of([&] { (void)reader.measurements(); }, &message), StatusCode::data_loss);
  EXPECT_NE(message.find("table measurement, row "), std::string::npos) << message;
  EXPECT_EQ(reader.published().decisions.size(), 12U);  // the other tables are sound
}

TEST(Damage, ATruncatedFileIsNoticed) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string bytes = bytes_of(folder / "a.db");
  for (const std::size_t kept : {bytes.size() / 2, bytes.size() - 4096, std::size_t{4096}}) {
    write_bytes(folder / "b.db", bytes.substr(0, kept));
    EXPECT_EQ(error_of([&] { StoreReader reader(folder / "b.db"); }), StatusCode::data_loss);
    EXPECT_EQ(error_of([&] { Store store(folder / "b.db"); }), StatusCode::data_loss);
    EXPECT_EQ(bytes_of(folder / "b.db").size(), kept);
  }
}

TEST(Damage, AnOverwrittenHeaderIsNoticed) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  std::string bytes = bytes_of(folder / "a.db");
  bytes.replace(0, 100, 100, '\0');
  write_bytes(folder / "b.db", bytes);
  EXPECT_EQ(error_of([&] { StoreReader reader(folder / "b.db"); }), StatusCode::data_loss);
  EXPECT_EQ(error_of([&] { Store store(folder / "b.db"); }), StatusCode::data_loss);
  EXPECT_EQ(bytes_of(folder / "b.db"), bytes);
}

TEST(Damage, AnIndexThatDoesNotFitItsTableIsFoundWhenTheOwnerOpens) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const std::string sound = bytes_of(folder / "a.db");
  const Contents expected = read_all(StoreReader(folder / "a.db"));
  // Indexes hold the name once more than the rows do: readers do not see those places. (A page's
  // unused bytes may hold it too, which is no damage.)
  const std::string name = "sweep-1";
  int found = 0;
  for (auto at = sound.find(name); at != std::string::npos; at = sound.find(name, at + 1)) {
    std::string damaged = sound;
    damaged[at] = 'S';
    write_bytes(folder / "b.db", damaged);
    bool is_seen = true;
    try {
      is_seen = read_all(StoreReader(folder / "b.db")) != expected;
    } catch (const Error&) {
    }
    for (const char* suffix : {"b.db-wal", "b.db-shm"}) std::filesystem::remove(folder / suffix);
    if (is_seen) continue;
    try {
      const Store store(folder / "b.db");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::data_loss) << error.what();
      ++found;
    }
    for (const char* suffix : {"b.db-wal", "b.db-shm"}) std::filesystem::remove(folder / suffix);
  }
  EXPECT_GT(found, 0);
}

TEST(Damage, TheOwnerRefusesADamagedFileAndLeavesIt) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  std::string bytes = bytes_of(folder / "a.db");
  const auto at = bytes.find("CREATE TABLE decision");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 25] = static_cast<char>(bytes[at + 25] ^ 1);
  write_bytes(folder / "a.db", bytes);
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }), StatusCode::data_loss);
}

}  // namespace
}  // namespace colltune::test
