// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/temporary_folder.h"
#include "loaded_tuner.h"
#include "support/nccl_tables.h"

namespace colltune::test {

/// What the tuner logged. NCCL's logger is a function without an object, so that this is global.
struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;  ///< guarded by mutex
};
inline Log& captured_log() {
  static Log log;
  return log;
}
inline void capture(int level, unsigned long flags, const char*, int, const char* format, ...) {
  std::array<char, 1024> text{};
  va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  EXPECT_EQ(flags, nccl::log_tuning);
  const std::lock_guard lock(captured_log().mutex);
  captured_log().lines.push_back((level == nccl::log_warn ? "WARN " : "INFO ") +
                                 std::string(text.data()));
}

/// The newest communicator of the process.
inline colltune_nccl_communicator newest_of(const TunerControl& control) {
  std::vector<colltune_nccl_communicator> all(control.list(nullptr, 0));
  control.list(all.data(), all.size());
  return all.at(all.size() - 1);
}

/// Each test begins without our variables and NCCL's, and with an empty log.
class TunerTest : public ::testing::Test {
 protected:
  TunerTest() {
    for (const char* const name :
         {"COLLTUNE_TABLE", "COLLTUNE_TABLE_DIGEST", "NCCL_ALGO", "NCCL_PROTO"})
      unsetenv(name);
    const std::lock_guard lock(captured_log().mutex);
    captured_log().lines.clear();
  }

  static std::vector<std::string> log_lines() {
    const std::lock_guard lock(captured_log().mutex);
    return captured_log().lines;
  }
  [[nodiscard]] colltune_nccl_communicator newest() const { return newest_of(control); }
  /// Publishes `rules` and names the file in the environment; returns its digest.
  std::string publish(std::vector<NcclRule> rules, const std::string& measured_with = "2.32.6") {
    const std::string digest = write_nccl_table(file, std::move(rules), 7, measured_with);
    setenv("COLLTUNE_TABLE", file.c_str(), 1);
    return digest;
  }
  void publish_bytes(std::string_view bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    setenv("COLLTUNE_TABLE", file.c_str(), 1);
  }

  literals::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "cluster.ctt";
  LoadedTuner tuner{COLLTUNE_NCCL_TUNER, 7};
  TunerControl control{tuner};
};

inline colltune_nccl_force force_of(const nccl::Choice& choice, float time_us = 12.5F,
                                    std::uint64_t id = 77) {
  return {.id = id,
          .functions = (1U << nccl::function_count) - 1,
          .algorithm = static_cast<std::int32_t>(choice.algorithm),
          .protocol = static_cast<std::int32_t>(choice.protocol),
          .channels = choice.channels,
          .time_us = time_us};
}

/// All entries too dear but one.
inline Costs only(const nccl::Choice& choice, float cost) {
  Costs costs = Costs::of(nccl::cost_avoided);
  costs.at(choice.algorithm, choice.protocol) = cost;
  return costs;
}

constexpr std::array<nccl::Function, nccl::function_count> all_functions{
    nccl::Function::broadcast, nccl::Function::reduce, nccl::Function::all_gather,
    nccl::Function::reduce_scatter, nccl::Function::all_reduce};

}  // namespace colltune::test
