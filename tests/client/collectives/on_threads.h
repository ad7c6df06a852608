// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "colltune/collectives/collectives.h"
#include "planted_table.h"

namespace colltune::test {

/// A table file that is removed with this object.
class TableOnDisk {
 public:
  explicit TableOnDisk(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("colltune_rank_threads_" + std::to_string(::getpid()) + ".ctt")) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  TableOnDisk(const TableOnDisk&) = delete;
  TableOnDisk& operator=(const TableOnDisk&) = delete;
  ~TableOnDisk() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline const std::string& table_for(int ranks) {
  static std::map<int, std::string> made;
  std::string& table = made[ranks];
  if (table.empty())
    table = planted_table(1, std::array{PlantedWorld{.nodes = 1, .ranks_per_node = ranks}},
                          {.all_types = false, .persistent = true});
  return table;
}

/// "code: text", or empty.
inline std::string failure_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
}

/// Each rank's thread with its collectives, and what it threw, by rank.
inline std::vector<std::string> on_threads(int ranks, const CollectivesOptions& options,
                                           const std::function<void(Collectives&)>& body) {
  RankThreads group(ranks, options);
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      failures[static_cast<std::size_t>(rank)] = failure_of([&] {
        Collectives collectives(group, rank);
        body(collectives);
      });
    });
  threads.clear();
  return failures;
}

/// A sum of a size for which a planted table has a winner.
inline void sum_once(Collectives& collectives) {
  const std::array<float, 6> own{2, 2, 2, 2, 2, 2};
  std::array<float, 6> all{};
  collectives.all_reduce(own.data(), all.data(), own.size(), DataType::f32, ReduceOp::sum);
  EXPECT_THAT(all, ::testing::Each(2.0F * static_cast<float>(collectives.size())));
}

}  // namespace colltune::test
