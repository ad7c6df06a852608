// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/plugin/load_plugin.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/decision.h"
#include "plugin_implementation.h"

namespace colltune {
namespace {

// The families and name prefixes of colltune itself, including those that this build lacks: on
// another machine, a plug-in's decision must never be taken for one of theirs.
constexpr std::array<std::string_view, 6> reserved_families{any_family, "colltune", "cpu",
                                                            "cuda",     "mpi",      "nccl"};

// Bounds the read of a text whose writer forgot to terminate it.
constexpr std::size_t longest_description = std::size_t{1} << 20U;
constexpr std::size_t longest_family = 64;

constexpr std::size_t size_of_first_revision = offsetof(colltune_plugin, bind);
constexpr const char* entry_symbol = "colltune_plugin_entry";

[[noreturn]] void fail(StatusCode code, const std::string& file, const std::string& what) {
  throw Error(code, file + ": " + what);
}

const colltune_plugin* enter(const SharedObject& object, const std::string& file) {
  void* const symbol = object.find(entry_symbol);
  if (symbol == nullptr)
    fail(StatusCode::invalid_argument, file,
         std::string("is no plug-in: it does not export ") + entry_symbol);
  const auto entry = reinterpret_cast<decltype(&colltune_plugin_entry)>(symbol);
  const colltune_plugin* const table = entry(colltune_plugin_abi_version);
  if (table == nullptr)
    fail(StatusCode::failed_precondition, file,
         "does not serve version " + std::to_string(colltune_plugin_abi_version) +
             " of the plug-in interface, which this colltune speaks");
  return table;
}

void check_table(const colltune_plugin& table, const std::string& file) {
  // Only the size may be read before the size is checked.
  if (table.struct_size < size_of_first_revision)
    fail(StatusCode::failed_precondition, file,
         "its table has a struct_size of " + std::to_string(table.struct_size) +
             " bytes; at least " + std::to_string(size_of_first_revision) + " are needed");
  if (table.abi_version != colltune_plugin_abi_version)
    fail(StatusCode::failed_precondition, file,
         "is of version " + std::to_string(table.abi_version) +
             " of the plug-in interface; this colltune speaks version " +
             std::to_string(colltune_plugin_abi_version));
  const auto require = [&file](const void* pointer, const char* name) {
    if (pointer == nullptr)
      fail(StatusCode::invalid_argument, file, std::string("'") + name + "' is NULL in its table");
  };
  require(table.family, "family");
  if (::strnlen(table.family, longest_family + 1) > longest_family)
    fail(StatusCode::invalid_argument, file,
         "its family has more than " + std::to_string(longest_family) + " bytes");
  require(reinterpret_cast<const void*>(table.describe), "describe");
  require(reinterpret_cast<const void*>(table.supports), "supports");
  require(reinterpret_cast<const void*>(table.prepare), "prepare");
  require(reinterpret_cast<const void*>(table.start), "start");
  require(reinterpret_cast<const void*>(table.wait), "wait");
  require(reinterpret_cast<const void*>(table.destroy), "destroy");
}

/// A function that later revisions appended to the table; null if the plug-in does not have it.
template <class Function>
Function appended(const colltune_plugin& table, Function colltune_plugin::*function) {
  const auto* const at = reinterpret_cast<const std::byte*>(&(table.*function));
  const auto* const begin = reinterpret_cast<const std::byte*>(&table);
  const bool has_it = table.struct_size >= static_cast<std::size_t>(at - begin) + sizeof(Function);
  return has_it ? table.*function : nullptr;
}

void check_family(std::string_view family, const std::string& file) {
  if (!is_printable_name(family) || family.find('.') != std::string_view::npos)
    fail(StatusCode::invalid_argument, file,
         "its family '" + std::string(family) +
             "' is no name; use letters, digits, '_' and '-', at least one");
  if (std::ranges::find(reserved_families, family) == reserved_families.end()) return;
  std::string reserved;
  for (const auto name : reserved_families)
    reserved += (reserved.empty() ? "" : ", ") + std::string(name);
  fail(StatusCode::invalid_argument, file,
       "its family '" + std::string(family) + "' is reserved, as are " + reserved +
           "; give it a name of its own");
}

/// Checks `table` and makes its implementations. `object`: what it lives in, if it was loaded.
Implementations implementations_of(const colltune_plugin& table, std::optional<SharedObject> object,
                                   const std::string& where) {
  check_table(table, where);
  check_family(table.family, where);
  const char* const text = table.describe();
  if (text == nullptr)
    fail(StatusCode::invalid_argument, where, "describe() returned NULL instead of JSON text");
  if (::strnlen(text, longest_description + 1) > longest_description)
    fail(StatusCode::invalid_argument, where,
         "describe() returned more than " + std::to_string(longest_description) + " bytes of text");
  auto described = parse_description(text, where + ": describe(): ");
  const auto bind = appended(table, &colltune_plugin::bind);
  const auto rebind = appended(table, &colltune_plugin::rebind);
  if (rebind != nullptr && bind == nullptr)
    fail(StatusCode::invalid_argument, where,
         "'bind' is NULL in its table, but not 'rebind'; a plug-in with 'rebind' has both");
  const auto plugin =
      std::make_shared<const LoadedPlugin>(LoadedPlugin{.object = std::move(object),
                                                        .table = &table,
                                                        .bind = bind,
                                                        .rebind = rebind,
                                                        .family = table.family,
                                                        .digest = digest_of_text(text)});
  Implementations made;
  for (auto& entry : described)
    made.push_back(make_plugin_implementation(plugin, std::move(entry)));
  return made;
}

}  // namespace

Implementations load_plugin(const std::filesystem::path& path) {
  const std::string where = "plug-in " + path.string();
  SharedObject object(path);
  const colltune_plugin* const table = enter(object, where);
  return implementations_of(*table, std::move(object), where);
}

Implementations adopt_plugin(const colltune_plugin& table, const std::string& where) {
  return implementations_of(table, std::nullopt, where);
}

void add_plugin(Implementations& catalogue, const std::filesystem::path& path) {
  Implementations made = load_plugin(path);
  for (const auto& implementation : made)
    if (find_implementation(catalogue, implementation->name()) != nullptr)
      fail(StatusCode::already_exists, "plug-in " + path.string(),
           "its implementation '" + std::string(implementation->name()) +
               "' is already there; each name can be used once, over all plug-ins");
  std::ranges::move(made, std::back_inserter(catalogue));
  std::ranges::sort(catalogue, {}, [](const auto& entry) { return entry->name(); });
}

}  // namespace colltune
