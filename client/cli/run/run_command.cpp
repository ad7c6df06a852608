// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "run_command.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "colltune/decide/statistics.h"
#include "colltune/json/output_file.h"
#include "colltune/vocabulary/error.h"
#include "known_tables.h"
#include "launch_table.h"
#include "launched.h"
#include "table_facts.h"
#include "tuned_launch.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

const char* own_variable(const char* name) { return std::getenv(name); }

/// Where files for launches lie unless the user names a folder. Their names are their content's, so
/// launches share them.
fs::path cache_folder() {
  if (const char* const caches = own_variable("XDG_CACHE_HOME");
      caches != nullptr && fs::path(caches).is_absolute())
    return fs::path(caches) / "colltune";
  if (const char* const home = own_variable("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "colltune";
  throw Error(StatusCode::invalid_argument,
              "neither XDG_CACHE_HOME nor HOME is set: name a folder for the launch's files with "
              "--files");
}

/// Where this launch's files lie.
fs::path folder_of(const RunOptions& options) {
  return options.files.empty() ? cache_folder() : fs::absolute(fs::path(options.files));
}

/// Whether an earlier launch left the file: then nothing is written, so that its folder may be
/// read-only and no launch waits for a disk.
bool is_there(const fs::path& file, const std::string& content) {
  std::error_code error;
  if (fs::file_size(file, error) != content.size() || error) return false;
  std::ifstream stream(file, std::ios::binary);
  std::string found(content.size(), '\0');
  return stream.read(found.data(), static_cast<std::streamsize>(found.size())) && found == content;
}

void write_files(const TunedLaunch& launch, const fs::path& folder, std::ostream& log) {
  std::vector<const std::pair<fs::path, std::string>*> missing;
  for (const auto& file : launch.files)
    if (!is_there(file.first, file.second)) missing.push_back(&file);
  if (missing.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(StatusCode::failed_precondition,
                fmt::format("the folder {} cannot be made: {}", folder.string(), error.message()));
  for (const auto* file : missing) write_output(file->first, file->second, log);
}

/// The file that a program writes at its end; what would stop it then is said now.
fs::path trace_file(const std::string& typed) {
  const fs::path file = fs::absolute(fs::path(typed));
  std::error_code error;
  if (fs::is_directory(file, error) || !fs::is_directory(file.parent_path(), error))
    throw Error(StatusCode::invalid_argument,
                fmt::format("--record: {} must be a file's name in a folder that is there", typed));
  return file;
}

/// What the options ask for.
struct Prepared {
  TunedLaunch launch;
  /// What it is made of; none if it only records.
  std::optional<LaunchTable> table;
  bool without_sums = false;  ///< in the table's facts
};
Prepared prepare(const RunOptions& options) {
  const Runners runners = find_runners(fs::read_symlink("/proc/self/exe"));
  const Origin& origin = options.origin;
  const bool has_decisions =
      !origin.database.empty() || !origin.server.empty() || !origin.table.empty();
  Prepared prepared;
  TunedLaunch& launch = prepared.launch;
  if (has_decisions || options.trace.empty()) {
    const LaunchWishes wishes{.numerics = options.numerics,
                              .memory = options.memory,
                              .reports = !options.is_quiet && options.comparisons == 0,
                              .folder = folder_of(options),
                              .is_folder_everywhere = !options.files.empty(),
                              .is_preloaded = options.is_preloaded,
                              .command = options.command};
    prepared.without_sums = leaves_sums_to_library(wishes, own_variable);
    prepared.table =
        read_launch_table(origin, options.environment, prepared.without_sums, wishes.folder);
    launch = make_tuned_launch(*prepared.table, runners, wishes, own_variable);
  }
  if (!options.trace.empty())
    add_recording(launch, runners, trace_file(options.trace), own_variable);
  return prepared;
}

/// Runs the command by turns with its variables and without them.
int compare(const RunOptions& options, const TunedLaunch& tuned, const HeldSignals& signals,
            std::ostream& log) {
  constexpr double confidence = 0.95;
  std::vector<double> gains;
  for (int pair = 0; pair < options.comparisons; ++pair) {
    double seconds[2] = {};
    for (const int turn : {0, 1}) {
      // Who is first changes, so that what grows slower or faster in time hits both alike.
      const bool is_tuned = (turn + pair) % 2 == 0;
      const CommandEnd end =
          launch(options.command, is_tuned ? tuned.variables : Variables{}, signals);
      seconds[is_tuned ? 1 : 0] = std::chrono::duration<double>(end.took).count();
      if (end.code == 0 && end.signal == 0) continue;
      log << fmt::format(
          "colltune run: launch {} of {} ({} colltune) ended with {}; nothing is compared\n",
          2 * pair + turn + 1, 2 * options.comparisons, is_tuned ? "with" : "without", end.code);
      return end.code != 0 ? end.code : 128 + end.signal;
    }
    gains.push_back(seconds[0] / seconds[1]);
    log << fmt::format(
        "colltune run: {:.3f} s without, {:.3f} s with colltune: {:.3f} times as fast\n",
        seconds[0], seconds[1], gains.back());
  }
  const MedianInterval found = median_interval(gains, confidence);
  const bool has_enough = samples_outside_interval(gains.size(), confidence).has_value();
  log << fmt::format(
      "colltune run: with colltune {:.3f} times as fast in the median of {} pairs of launches ({} "
      "{:.3f} "
      "to {:.3f})\n",
      found.median, gains.size(), has_enough ? "95 %:" : "too few for an interval; all:", found.low,
      found.high);
  return 0;
}

}  // namespace

int run_run(const RunOptions& options, std::ostream& out, std::ostream& log) {
  if (options.comparisons < 0)
    throw Error(
        StatusCode::invalid_argument,
        fmt::format("--ab: {} is no number of pairs of launches; allowed are numbers from 1 on",
                    options.comparisons));
  if (options.command.empty() && options.dry_run.empty())
    throw Error(StatusCode::invalid_argument,
                "no command to launch: name it after --, for example -- mpirun -n 2 ./program");
  if (options.comparisons > 0 && !options.trace.empty())
    throw Error(StatusCode::invalid_argument,
                "--record and --ab: recording takes time, which the comparison would count");
  if (options.is_preloaded && !options.trace.empty())
    throw Error(StatusCode::invalid_argument,
                "--record and --preload: calls are recorded by a component for Open MPI alone");
  std::optional<HeldSignals> signals;
  if (options.comparisons > 0) signals.emplace();
  const Prepared prepared = prepare(options);
  const TunedLaunch& tuned = prepared.launch;
  const std::string script =
      options.dry_run.empty() ? std::string() : print_variables(tuned.variables, options.dry_run);
  if (!tuned.files.empty()) write_files(tuned, folder_of(options), log);
  if (prepared.table && prepared.table->state) {
    const LaunchTable& table = *prepared.table;
    KnownTables(folder_of(options)).remember(*table.state, table.digest);
    KeptFacts(folder_of(options), table.digest, prepared.without_sums).write(table.facts);
  }
  if (!options.is_quiet)
    for (const std::string& line : tuned.lines) log << "colltune run: " << line << '\n';
  if (!options.dry_run.empty()) {
    out << script;
    return 0;
  }
  log.flush();
  if (signals) return compare(options, tuned, *signals, log);
  become(options.command, tuned.variables);
}

}  // namespace colltune
