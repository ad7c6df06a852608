// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "colltune/json/json.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"
#include "row.h"
#include "sample_codec.h"

namespace colltune::db {

// How the fields of a described type become columns: through its visit_fields, so that there is no
// second list. Integers, times and sizes become INTEGER (64 bits; unsigned ones by their bits);
// enums, variants and text become TEXT; lists of numbers become packed BLOBs; all other composites
// become JSON text, or NULL if they are optional and empty.

/// Fields whose own fields become columns.
template <class T>
concept Flattened = std::same_as<T, Problem> || std::same_as<T, Topology>;
/// Fields that are rows of another table.
template <class T>
concept StoredElsewhere = std::same_as<T, TuningKey> || std::same_as<T, std::vector<RankedVariant>>;
template <class T>
concept PackedList =
    std::same_as<T, std::vector<std::chrono::nanoseconds>> || std::same_as<T, std::vector<int>>;

template <class T>
void add_columns(std::vector<std::string>& names) {
  T value{};
  visit_fields(value, [&]<class Field>(std::string_view name, Field&) {
    if constexpr (Flattened<Field>)
      add_columns<Field>(names);
    else if constexpr (!StoredElsewhere<Field>)
      names.emplace_back(name);
  });
}

/// The table `name` with the columns `before`, those of T, and `after`.
template <class T>
[[nodiscard]] Table table_of(std::string name, const std::vector<std::string>& before,
                             const std::vector<std::string>& after) {
  Table table{std::move(name), before};
  add_columns<T>(table.columns);
  table.columns.insert(table.columns.end(), after.begin(), after.end());
  return table;
}

template <class T>
[[nodiscard]] Value to_column(const T& value) {
  if constexpr (NamedEnum<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::integral<T>) {
    return static_cast<std::int64_t>(value);
  } else if constexpr (std::floating_point<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::same_as<T, Bytes>) {
    return static_cast<std::int64_t>(value.value);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    return std::int64_t{value.count()};
  } else if constexpr (std::same_as<T, std::string>) {
    return value;
  } else if constexpr (std::same_as<T, Variant>) {
    return to_string(value);
  } else if constexpr (PackedList<T>) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(value.size());
    for (const auto& item : value) {
      if constexpr (std::same_as<T, std::vector<int>>)
        numbers.push_back(item);
      else
        numbers.push_back(item.count());
    }
    return pack_numbers(numbers);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? to_column(*value) : Value(std::string());
  } else {
    try {
      return to_json_value(value).dump();
    } catch (const nlohmann::json::exception& error) {  // text that is not UTF-8
      throw Error(StatusCode::invalid_argument, std::string("cannot be stored: ") + error.what());
    }
  }
}

template <class T>
void put_fields(Row& row, const T& value) {
  visit_fields(value, [&]<class Field>(std::string_view, const Field& field) {
    if constexpr (Flattened<Field>)
      put_fields(row, field);
    else if constexpr (!StoredElsewhere<Field>)
      row.push_back(to_column(field));
  });
}

/// Walks over the values of a row that was read.
class RowCursor {
 public:
  explicit RowCursor(const Row& row) : row_(row) {}

  template <class T>
  void get(T& value) {
    if constexpr (NamedEnum<T>) {
      value = parse_name<T>(next<std::string>());
    } else if constexpr (std::same_as<T, bool>) {
      value = next<std::int64_t>() != 0;
    } else if constexpr (std::integral<T>) {
      value = static_cast<T>(next<std::int64_t>());
    } else if constexpr (std::floating_point<T>) {
      value = static_cast<T>(next<double>());
    } else if constexpr (std::same_as<T, Bytes>) {
      value.value = static_cast<std::uint64_t>(next<std::int64_t>());
    } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
      value = std::chrono::nanoseconds(next<std::int64_t>());
    } else if constexpr (std::same_as<T, std::string>) {
      value = next<std::string>();
    } else if constexpr (std::same_as<T, Variant>) {
      value = parse_variant(next<std::string>());
    } else if constexpr (PackedList<T>) {
      value.clear();
      for (const std::int64_t number : unpack_numbers(next<Blob>()))
        value.emplace_back(static_cast<typename T::value_type>(number));
    } else if constexpr (requires { value.has_value(); }) {
      const auto& text = next<std::string>();
      if (text.empty())
        value.reset();
      else if constexpr (std::same_as<typename T::value_type, std::string>)
        value = text;
      else
        value = from_json_value<typename T::value_type>(nlohmann::json::parse(text, nullptr, false),
                                                        text);
    } else {
      const auto& text = next<std::string>();
      const auto json = nlohmann::json::parse(text, nullptr, false);
      value = from_json_value<T>(json, text);
    }
  }
  /// Empty if the column is NULL.
  [[nodiscard]] std::optional<std::int64_t> get_number_or_null() {
    if (std::holds_alternative<Null>(row_.at(at_))) {
      ++at_;
      return {};
    }
    return next<std::int64_t>();
  }
  template <class T>
  void get_fields(T& value) {
    visit_fields(value, [&]<class Field>(std::string_view, Field& field) {
      if constexpr (Flattened<Field>)
        get_fields(field);
      else if constexpr (!StoredElsewhere<Field>)
        get(field);
    });
  }

 private:
  template <class T>
  const T& next() {
    if (const auto* value = std::get_if<T>(&row_.at(at_++))) return *value;
    throw Error(StatusCode::data_loss,
                "column " + std::to_string(at_) + " is not of its declared type");
  }

  const Row& row_;
  std::size_t at_ = 0;
};

/// Reads every selected row into a T by `read(cursor, id)`. A row that cannot be understood gives
/// Error(data_loss) that names table and row.
template <class Read>
void read_rows(Connection& connection, const Table& table, const std::string& condition,
               const Row& parameters, Read&& read) {
  for_each_row(connection, table, condition, parameters, [&](std::int64_t id, const Row& row) {
    RowCursor cursor(row);
    try {
      read(cursor, id, row);
    } catch (const Error& error) {
      fail_row(connection, table.name, id, std::string("cannot be understood: ") + error.what());
    }
  });
}

}  // namespace colltune::db
