// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table_loader.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "colltune/db/store.h"

namespace colltune {
namespace {

/// The newest generation; empty where there is none yet.
std::optional<PublishedTable> read_published(const std::filesystem::path& file) {
  const StoreReader reader(file);
  try {
    return reader.published();
  } catch (const Error& error) {
    if (error.code() == StatusCode::not_found) return {};
    throw;
  }
}

}  // namespace

TableLoader::TableLoader(std::filesystem::path database) : database_(std::move(database)) {
  if (identify(file())) return;
  throw Error(StatusCode::failed_precondition,
              "there is no database " + database_.string() + " and no snapshot " +
                  snapshot_path(database_).string() + "; colltune-agent sweep --db creates it");
}

std::filesystem::path TableLoader::file() const {
  const std::filesystem::path snapshot = snapshot_path(database_);
  return identify(snapshot) ? snapshot : database_;
}

std::optional<TableLoader::Identity> TableLoader::identify(const std::filesystem::path& file) {
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return {};
  return Identity{.device = facts.st_dev,
                  .inode = facts.st_ino,
                  .modified_ns = facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec,
                  .size = static_cast<std::uint64_t>(facts.st_size)};
}

void TableLoader::forget() {
  seen_.reset();
  failures_ = 0;
}

std::shared_ptr<const DecisionTable> TableLoader::load_if_changed(Clock::time_point now) {
  const std::filesystem::path path = file();
  const std::optional<Identity> identity = identify(path);
  const bool is_due = failures_ > 0 && now >= next_attempt_;
  if (!identity || (identity == seen_ && !is_due)) return nullptr;
  if (identity != seen_) failures_ = 0;
  seen_ = identity;
  try {
    auto table = load(path);
    failures_ = 0;
    return table;
  } catch (...) {
    wait_ = failures_ == 0 ? first_wait : std::min(wait_ * 2, longest_wait);
    ++failures_;
    next_attempt_ = now + wait_;
    throw;
  }
}

std::shared_ptr<const DecisionTable> TableLoader::load(const std::filesystem::path& path) {
  std::optional<PublishedTable> published = read_published(path);
  if (!published) return nullptr;
  left_out_ = describe(published->left_out);
  return std::make_shared<const DecisionTable>(std::move(*published));
}

}  // namespace colltune
