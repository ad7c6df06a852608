// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "colltune/db/store.h"

namespace colltune::test {

/// A fresh folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] Environment some_environment(const std::string& cpu_model = "Some CPU");
[[nodiscard]] TuningKey some_key(std::uint64_t message_size, const Environment& environment);
/// Every field differs from its default; unlike `number`s give unlike trials.
[[nodiscard]] Measurement some_measurement(int number, const Environment& environment);
[[nodiscard]] Decision some_decision(std::uint64_t message_size, const Environment& environment,
                                     const std::string& winner = "mpi.ring");
/// Of the trial of some_measurement(number).
[[nodiscard]] FailureRecord some_failure(int number, const Environment& environment);
[[nodiscard]] QuarantineRecord some_quarantine(int number, const Environment& environment);
[[nodiscard]] SweepRecord some_sweep(const std::string& uuid, const Environment& environment);

/// Of the ranks of some_key's topology: two kinds.
[[nodiscard]] Members some_members();
[[nodiscard]] Composition some_composition();

/// What a database holds, as its reader tells it.
struct Contents {
  std::vector<SweepRecord> sweeps;
  std::vector<EnvironmentRecord> environments;
  std::vector<Measurement> measurements;
  Generation generation;
  std::vector<Decision> decisions;
  std::vector<FailureRecord> failures;
  std::vector<QuarantineRecord> quarantines;  ///< released ones too
  std::vector<WorldMembers> members;          ///< of the published decisions
  std::vector<Composition> compositions;      ///< all
  friend bool operator==(const Contents&, const Contents&) = default;
};
[[nodiscard]] Contents read_all(const StoreReader& reader);

/// What a value of an older version becomes in a file that was migrated.
[[nodiscard]] Measurement as_of_version_3(Measurement measurement);
[[nodiscard]] Measurement as_of_version_2(Measurement measurement);
[[nodiscard]] Decision as_of_version_2(Decision decision);

/// Which fields of the samples are kept; the others have the values that migration gives them.
enum class Fields { all, of_version_4, of_version_3, of_version_2 };

/// Fills a new database at `path` with two environments, a sweep with the members of its world,
/// three failures, two quarantines (one of them released), a composition, and two generations:
/// what version_5.sql to version_8.sql hold. With the fields of version 4 it is what version_4.sql
/// holds, with those of version 3 what version_3.sql holds, with those of version 2 what
/// version_2.sql holds, and without the failures and quarantines what version_1.sql holds.
void fill(const std::filesystem::path& path, Fields fields = Fields::all);

/// The code of the Error that `act` throws, its message in `message`; a test failure otherwise.
template <class Act>
StatusCode error_of(Act&& act, std::string* message = nullptr) {
  try {
    act();
  } catch (const Error& error) {
    if (message) *message = error.what();
    return error.code();
  }
  ADD_FAILURE() << "no Error was thrown";
  return StatusCode::internal;
}

}  // namespace colltune::test
