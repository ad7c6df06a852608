// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Copies of libcolltune_client.so in one process, as a framework and its plug-in may bring them.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <thread>

#include "colltune/client.h"
#include "colltune/db/store.h"
#include "daemon.h"
#include "literal_decisions.h"
#include "process.h"

namespace colltune::testing {
namespace {

/// A file of the library that was loaded by its own path, and its functions.
class LoadedCopy {
 public:
  explicit LoadedCopy(std::string path) : path_(std::move(path)) { load(); }
  ~LoadedCopy() { ::dlclose(handle_); }
  LoadedCopy(const LoadedCopy&) = delete;
  LoadedCopy& operator=(const LoadedCopy&) = delete;

  void reload() {
    if (::dlclose(handle_) != 0) throw std::runtime_error(::dlerror());
    load();
  }

  /// Fetches the daemon's table, asks it and, without a table, the daemon; what all that said.
  [[nodiscard]] std::string ask(const std::string& address) const {
    colltune_error error{};
    error.struct_size = sizeof error;
    colltune_client* client = nullptr;
    colltune_table* table = nullptr;
    colltune_answer* answer = nullptr;
    colltune_answer* once = nullptr;
    colltune_query query{};
    query.struct_size = sizeof query;
    query.collective = "all_reduce";
    query.data_type = "f32";
    query.message_size_bytes = 1024;
    std::string said;
    const bool is_good =
        function<&colltune_open>("colltune_open")(address.c_str(), 60'000, &client, &error) == 0 &&
        function<&colltune_table_fetch>("colltune_table_fetch")(client, nullptr, &table, &error) ==
            0 &&
        function<&colltune_table_lookup>("colltune_table_lookup")(table, &query, &answer, &error) ==
            0 &&
        function<&colltune_lookup_once>("colltune_lookup_once")(client, &query, &once, &error) == 0;
    if (is_good) {
      const auto winner = function<&colltune_answer_winner>("colltune_answer_winner");
      said = std::string(function<&colltune_table_digest>("colltune_table_digest")(table)) + " " +
             winner(answer) + " " + winner(once);
    } else {
      said = error.message;
    }
    const auto free = function<&colltune_answer_free>("colltune_answer_free");
    free(answer);
    free(once);
    function<&colltune_table_close>("colltune_table_close")(table);
    function<&colltune_close>("colltune_close")(client);
    return said;
  }

 private:
  void load() {
    handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(::dlerror());
  }

  /// The copy's own function of the type that the header declares.
  template <auto declared>
  [[nodiscard]] decltype(declared) function(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<decltype(declared)>(found);
  }

  std::string path_;
  void* handle_ = nullptr;
};

class Copies : public ::testing::Test {
 protected:
  Copies() {
    for (const char* const folder : {"a", "b"}) {
      std::filesystem::create_directory(folder_.file(folder));
      const std::string path = folder_.file(folder) + "/libcolltune_client.so.0";
      std::filesystem::copy_file(COLLTUNE_CLIENT_FILE, path);
      paths_.push_back(path);
    }
    Store store(database_);
    store.put_environment(test_environment());
    store.begin_sweep({.uuid = "sweep-1",
                       .started_at = "2026-01-01T00:00:00Z",
                       .configuration = "{}",
                       .environment_digest = digest_of(test_environment())});
    (void)store.publish(std::array{decision(test_key(1024), {ranked("cpu.one_shot{n=2}", 1000, 2.0),
                                                             ranked("mpi.default", 2000, 1.0)})},
                        "2026-01-01T00:01:00Z");
    daemon_ = std::make_unique<DaemonProcess>(folder_, database_);
    daemon_->wait_until_ready();
  }

  TemporaryFolder folder_;
  std::string database_ = folder_.file("tuning.db");
  std::vector<std::string> paths_;
  std::unique_ptr<DaemonProcess> daemon_;
};

constexpr const char* winners = " cpu.one_shot{n=2} cpu.one_shot{n=2}";

TEST_F(Copies, AskByTurnsAndAtOnce) {
  const LoadedCopy first(paths_[0]);
  const std::string said = first.ask(daemon_->address);
  EXPECT_EQ(said.size(), 32 + std::string(winners).size()) << said;
  EXPECT_TRUE(said.ends_with(winners)) << said;
  const LoadedCopy second(paths_[1]);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(second.ask(daemon_->address), said);
    EXPECT_EQ(first.ask(daemon_->address), said);
  }
  std::array<std::string, 2> at_once;
  {
    const std::jthread one([&] { at_once[0] = first.ask(daemon_->address); });
    const std::jthread other([&] { at_once[1] = second.ask(daemon_->address); });
  }
  EXPECT_EQ(at_once, (std::array{said, said}));
}

TEST_F(Copies, AreClosedAndOpenedAHundredTimes) {
  LoadedCopy first(paths_[0]);
  LoadedCopy second(paths_[1]);
  const std::string said = first.ask(daemon_->address);
  EXPECT_TRUE(said.ends_with(winners)) << said;
  for (int time = 0; time < 100; ++time) {
    LoadedCopy& copy = time % 2 == 0 ? first : second;
    copy.reload();
    ASSERT_EQ(copy.ask(daemon_->address), said) << time;
  }
}

}  // namespace
}  // namespace colltune::testing
