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
  if (!tables_.empty() && tables_.front()->generation().store_uuid != added.store_uuid)
    dropped.swap(tables_);
  const auto same = std::ranges::find_if(
      tables_, [&](const Table& held) { return held->generation().number == added.number; });
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

TableSource::Table TableSource::get(const std::optional<std::uint64_t>& generation) const {
  const std::lock_guard lock(mutex_);
  if (tables_.empty())
    throw Error(StatusCode::unavailable,
                "the database has no published generation yet; run a sweep on it");
  if (!generation) return tables_.front();
  std::string held;
  for (const Table& table : tables_) {
    const std::uint64_t number = table->generation().number;
    if (number == *generation) return table;
    held += (held.empty() ? "" : ", ") + std::to_string(number);
  }
  throw Error(StatusCode::not_found, "generation " + std::to_string(*generation) +
                                         " is not served here; served are " + held);
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
