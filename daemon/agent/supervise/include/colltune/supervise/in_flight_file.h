// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/hosts/launch_host.h"
#include "colltune/vocabulary/names.h"

namespace colltune {

/// How far a launch has come, as its rank 0 reports it. Part of the file's layout: values never
/// change.
enum class LaunchState {
  starting = 0,  ///< no trial has begun
  running = 1,
  finished = 2,    ///< everything is stored; failures after this lose nothing
  refused = 3,     ///< ended cleanly by an error that a second launch would meet again
  unfinished = 4,  ///< ended cleanly; its part is stored, and further launches measure the rest
};
constexpr std::array<Named<LaunchState>, 5> enum_names(LaunchState) {
  return {{{LaunchState::starting, "starting"},
           {LaunchState::running, "running"},
           {LaunchState::finished, "finished"},
           {LaunchState::refused, "refused"},
           {LaunchState::unfinished, "unfinished"}}};
}
constexpr std::string_view enum_title(LaunchState) { return "state of a launch"; }

/// Identifies a file among all that ever had its name.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t created_ns = 0;  ///< by its creator's clock

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// `<db>.in-flight`: a file with the flight recorders of the ranks on rank 0's node (record 0 is
/// rank 0's), the sweep's name, the launch's state and its hosts. All those ranks and the
/// supervisor map it. It outlives the processes, so it shows what was in flight when they died. All
/// space is allocated at creation, so a full disk is an Error there and not a fault later.
class InFlightFile {
 public:
  /// The path of the file that belongs to a database.
  [[nodiscard]] static std::filesystem::path path_for(const std::filesystem::path& database);

  /// Whether a supervisor started this process; it then reads the file and removes it.
  [[nodiscard]] static bool is_awaited();

  /// Rank 0: creates the file, or replaces one left by an earlier launch; readers of the old file
  /// keep it. Throws Error(resource_exhausted) on a full disk, Error(failed_precondition) if the
  /// file cannot be created.
  [[nodiscard]] static InFlightFile create(const std::filesystem::path& path, int records,
                                           const std::vector<LaunchHost>& hosts = {});
  /// The other ranks of the node open it. Throws Error(failed_precondition) if it is not one of
  /// ours.
  [[nodiscard]] static InFlightFile join(const std::filesystem::path& path);
  /// Opens it for reading. Empty if there is no such file or it is not one of ours.
  [[nodiscard]] static std::optional<InFlightFile> open(const std::filesystem::path& path);

  /// A record's memory for its rank's FlightRecorder. Throws Error(out_of_range).
  [[nodiscard]] std::span<std::byte> record(int index);
  /// All records, for the watchdog and for rendering.
  [[nodiscard]] std::span<std::byte> board();
  [[nodiscard]] std::span<const std::byte> board() const;

  /// Called by rank 0 only, before the state becomes `running`. The uuid is cut at 64 bytes.
  void set_sweep(std::string_view uuid);
  void set_state(LaunchState state) noexcept;

  [[nodiscard]] std::string sweep_uuid() const;
  /// The hosts given at its creation.
  [[nodiscard]] std::vector<LaunchHost> hosts() const;
  [[nodiscard]] LaunchState state() const;
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }

 private:
  struct Header;
  struct Unmap {
    std::size_t size = 0;
    void operator()(std::byte* memory) const noexcept;
  };
  InFlightFile(std::unique_ptr<std::byte, Unmap> memory, const FileIdentity& identity);
  [[nodiscard]] static std::optional<InFlightFile> map(const std::filesystem::path& path,
                                                       bool writable);
  [[nodiscard]] Header& header() const;

  std::unique_ptr<std::byte, Unmap> memory_;
  FileIdentity identity_;
};

}  // namespace colltune
