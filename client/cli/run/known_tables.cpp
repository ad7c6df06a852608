// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "known_tables.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/json/output_file.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::size_t most_known = 64;
/// File systems count time in steps: of up to 10 ms in the kernel, of seconds on some servers.
constexpr std::time_t settled_after_seconds = 2;

struct Known {
  std::string state;
  std::string digest;
};

/// The newest first. A line that is none is passed over.
std::vector<Known> read(const std::filesystem::path& file) {
  std::vector<Known> all;
  std::ifstream stream(file);
  for (std::string line; all.size() < most_known && std::getline(stream, line);) {
    std::istringstream words(line);
    Known known;
    std::string rest;
    if (words >> known.state >> known.digest && !(words >> rest)) all.push_back(std::move(known));
  }
  return all;
}

std::optional<struct stat> status_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

std::string text_of(const struct stat& status) {
  return fmt::format("{} {} {} {}.{} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

}  // namespace

std::optional<std::string> state_of_build() {
  const auto program = status_of("/proc/self/exe");
  if (!program) return std::nullopt;
  return digest_of_text(text_of(*program));
}

std::optional<std::string> state_of_snapshot(const std::filesystem::path& snapshot,
                                             const std::string& asked) {
  const auto status = status_of(snapshot);
  const auto build = state_of_build();
  if (!status || !build) return std::nullopt;
  if (std::time(nullptr) - status->st_ctim.tv_sec < settled_after_seconds) return std::nullopt;
  return digest_of_text(fmt::format("{}\n{}\n{}\n{}", std::filesystem::absolute(snapshot).string(),
                                    text_of(*status), *build, asked));
}

std::optional<std::string> KnownTables::find(const std::string& state) const {
  for (Known& known : read(file_))
    if (known.state == state) return std::move(known.digest);
  return std::nullopt;
}

void KnownTables::remember(const std::string& state, const std::string& digest) const {
  std::vector<Known> all = read(file_);
  std::erase_if(all, [&](const Known& known) { return known.state == state; });
  std::string text = fmt::format("{} {}\n", state, digest);
  if (all.size() == most_known) all.pop_back();
  for (const Known& known : all) text += fmt::format("{} {}\n", known.state, known.digest);
  try {
    std::ostringstream nothing;
    write_output(file_, text, nothing);
  } catch (const Error&) {  // the next launch makes its table again
  }
}

}  // namespace colltune
