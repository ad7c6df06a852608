// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Where a database may lie: foreign files, folders, media, full disks, network file systems.

#include <sys/mount.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "samples.h"
#include "sqlite/connection.h"
#include "sqlite/file_system.h"

namespace colltune::test {
namespace {

/// A small tmpfs; `mounted()` is false where this process may not mount.
class SmallDisk {
 public:
  explicit SmallDisk(const char* options)
      : mounted_(mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, options) == 0) {}
  ~SmallDisk() {
    if (mounted_) umount2(folder_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] bool make_read_only() const {
    return mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  bool mounted_;
};

TEST(Place, AFileThatIsNotOursIsRefusedAndLeft) {
  const TemporaryFolder folder;
  std::ofstream(folder / "text") << "not a database";
  std::ofstream(folder / "long") << std::string(10000, 'x');
  {
    db::Connection other(folder / "other.db", db::OpenMode::owner);
    other.execute("CREATE TABLE t (a)");
  }
  for (const char* name : {"text", "long", "other.db"}) {
    const auto size = std::filesystem::file_size(folder / name);
    std::string message;
    EXPECT_EQ(error_of([&] { Store store(folder / name); }, &message),
              StatusCode::failed_precondition);
    EXPECT_NE(message.find("is not a colltune database"), std::string::npos) << message;
    EXPECT_EQ(error_of([&] { StoreReader reader(folder / name); }),
              StatusCode::failed_precondition);
    EXPECT_EQ(std::filesystem::file_size(folder / name), size);
  }
  EXPECT_EQ(error_of([&] { Store store(folder.path()); }), StatusCode::failed_precondition);
  EXPECT_EQ(error_of([&] { StoreReader reader(folder.path()); }), StatusCode::failed_precondition);
}

TEST(Place, WhatIsNotThereIsNotFound) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { Store store(folder / "no/such/folder.db"); }),
            StatusCode::failed_precondition);
  EXPECT_EQ(error_of([&] { StoreReader reader(folder / "none.db"); }),
            StatusCode::failed_precondition);
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db"));
}

TEST(Place, NetworkFileSystemsAreRefusedWithTheWayOut) {
  for (const std::uint64_t magic : {0x6969ULL, 0xff534d42ULL, 0x0bd00bd0ULL, 0x47504653ULL,
                                    0x01021997ULL, 0x65735546ULL, 0x00c36400ULL}) {
    std::string message;
    EXPECT_EQ(error_of([&] { db::refuse_network_file_system(magic, "/data/a.db"); }, &message),
              StatusCode::failed_precondition);
    EXPECT_NE(message.find("--json results.jsonl"), std::string::npos) << message;
    EXPECT_NE(message.find("colltune import"), std::string::npos) << message;
  }
  EXPECT_EQ(db::network_file_system_name(0x6969), "NFS");
  for (const std::uint64_t local :
       {0xef53ULL, 0x58465342ULL, 0x9123683eULL, 0x01021994ULL, 0x794c7630ULL, 0x2fc12fc1ULL})
    EXPECT_NO_THROW(db::refuse_network_file_system(local, "/data/a.db"));
}

TEST(Place, AFullDiskLosesNothingAndGoesOnWhenThereIsSpace) {
  const SmallDisk disk("size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const auto& folder = disk.folder();
  const Environment environment = some_environment();
  std::ofstream(folder / "ballast") << std::string(200'000, 'x');
  std::vector<Measurement> acknowledged;
  Store store(folder / "a.db");
  store.put_environment(environment);
  store.begin_sweep(some_sweep("s", environment));
  StatusCode code{};
  for (int i = 0; i < 10000; ++i) {
    const Measurement one = some_measurement(i, environment);
    try {
      store.append("s", std::vector{one});
    } catch (const Error& error) {
      code = error.code();
      break;
    }
    acknowledged.push_back(one);
  }
  EXPECT_EQ(code, StatusCode::resource_exhausted);
  EXPECT_GT(acknowledged.size(), 20U);
  EXPECT_EQ(store.measurements("s"), acknowledged);
  std::filesystem::remove(folder / "ballast");
  const auto next = some_measurement(static_cast<int>(acknowledged.size()), environment);
  store.append("s", std::vector{next});
  acknowledged.push_back(next);
  EXPECT_EQ(store.measurements("s"), acknowledged);
}

TEST(Place, AFullDiskAtTheSnapshotKeepsTheGeneration) {
  const SmallDisk disk("size=1m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const auto& folder = disk.folder();
  const Environment environment = some_environment();
  {
    Store store(folder / "a.db");
    store.put_environment(environment);
    const Generation one = store.publish(std::vector{some_decision(8, environment)}, "t1");
    const auto left = std::filesystem::space(folder.path()).available;
    // Space for the commit, none for a whole copy.
    std::ofstream(folder / "ballast") << std::string(left - 100'000, 'x');
    std::string message;
    EXPECT_EQ(error_of([&] { store.publish(std::vector{some_decision(16, environment)}, "t2"); },
                       &message),
              StatusCode::resource_exhausted);
    EXPECT_NE(message.find("generation 2 is stored"), std::string::npos) << message;
    EXPECT_EQ(StoreReader(snapshot_path(folder / "a.db")).published().generation, one);
    std::filesystem::remove(folder / "ballast");
  }
  Store store(folder / "a.db");
  EXPECT_EQ(StoreReader(snapshot_path(folder / "a.db")).published().generation.number, 2U);
}

TEST(Place, AReadOnlyMediumIsRead) {
  const SmallDisk disk("size=4m");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount a tmpfs";
  const auto& folder = disk.folder();
  fill(folder / "a.db");
  const Contents written = read_all(StoreReader(folder / "a.db"));
  for (const char* name : {"a.db-wal", "a.db-shm"}) std::filesystem::remove(folder / name);
  if (!disk.make_read_only()) GTEST_SKIP() << "cannot remount read-only";
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), written);
  EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), written);
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }), StatusCode::permission_denied);
}

TEST(Place, AReaderNeverWritesIntoTheFile) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const auto before = std::filesystem::last_write_time(folder / "a.db");
  for (int i = 0; i < 3; ++i) (void)read_all(StoreReader(folder / "a.db"));
  EXPECT_EQ(std::filesystem::last_write_time(folder / "a.db"), before);
}

}  // namespace
}  // namespace colltune::test
