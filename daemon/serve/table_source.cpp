// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/serve/table_source.h"

#include <algorithm>
#include <string>
#include <utility>

namespace colltune {

TableSource::TableSource(std::size_t kept) : kept_(std::max<std::size_t>(kept, 1)) {}

void TableSource::replace(Table table) {
  std::deque<Table> dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const Generation& added = table->generation();
  if (!tables_.empty() && tables_.front()->generation().store_uuid != added.store_uuid) {
    dropped.swap(tables_);
    served_.clear();
  }
  auto& served = served_.try_emplace(added.number, Served{added.content_digest}).first->second;
  served.is_ambiguous = served.is_ambiguous || served.digest != added.content_digest;
  const auto same = std::ranges::find_if(
      tables_, [&](const Table& held) { return held->generation() == added; });
  if (same != tables_.end()) {
    dropped.push_back(std::move(*same));
    tables_.erase(same);
  }
  tables_.push_front(std::move(table));
  while (tables_.size() > kept_) {
    dropped.push_back(std::move(tables_.back()));
    tables_.pop_back();
  }
}

TableSource::Table TableSource::get(const std::optional<Pin>& pin) const {
  const std::lock_guard lock(mutex_);
  if (tables_.empty())
    throw Error(StatusCode::unavailable,
                "the database has no published generation yet; run a sweep on it");
  if (!pin) return tables_.front();
  const std::string wanted = "generation " + std::to_string(pin->number);
  const auto served = served_.find(pin->number);
  if (!pin->digest && served != served_.end() && served->second.is_ambiguous)
    throw Error(StatusCode::failed_precondition,
                wanted + " was served here with two unlike contents (the database was restored); "
                         "ask for the newest generation again, and pin its digest too");
  std::string held;
  std::string other_digest;
  for (const Table& table : tables_) {
    const Generation& generation = table->generation();
    if (generation.number == pin->number) {
      if (!pin->digest || generation.content_digest == *pin->digest) return table;
      other_digest = generation.content_digest;
    }
    held += (held.empty() ? "" : ", ") + std::to_string(generation.number);
  }
  if (!other_digest.empty())
    throw Error(StatusCode::failed_precondition,
                wanted + " has the content " + other_digest + " here, not " + *pin->digest +
                    ": it is of another database, or of one that was restored");
  throw Error(StatusCode::not_found, wanted + " is not served here; served are " + held);
}

TableSource::Table TableSource::newest() const {
  const std::lock_guard lock(mutex_);
  return tables_.empty() ? nullptr : tables_.front();
}

std::vector<std::uint64_t> TableSource::generations() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> numbers;
  for (const Table& table : tables_) numbers.push_back(table->generation().number);
  return numbers;
}

}  // namespace colltune
