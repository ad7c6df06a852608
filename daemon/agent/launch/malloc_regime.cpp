// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "malloc_regime.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/error.h"
#include "loaded_objects.h"

namespace colltune {
namespace {

// glibc's malloc.c: DEFAULT_MMAP_THRESHOLD_MAX on 64-bit machines. When a mapped block of at most
// this size is freed, its size becomes the mmap threshold, and twice its size the trim threshold.
constexpr std::size_t greatest_threshold = std::size_t{32} << 20;
constexpr std::size_t greatest_trim_threshold = 2 * greatest_threshold;
// Leaves room for the block's header and the rounding to pages.
constexpr std::size_t growing_block = greatest_threshold - (std::size_t{64} << 10);

constexpr const char* allocator_fact = "malloc";

std::optional<std::size_t> threshold(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? std::nullopt
                         : std::optional<std::size_t>(std::strtoull(text, nullptr, 0));
}

bool is_raised() {
  const auto mmap = threshold("MALLOC_MMAP_THRESHOLD_");
  const auto trim = threshold("MALLOC_TRIM_THRESHOLD_");
  return mmap && trim && *mmap >= greatest_threshold && *trim >= greatest_trim_threshold;
}

/// Whether malloc takes large blocks from the heap instead of mapping them.
bool keeps_large_blocks() {
  constexpr std::size_t large = std::size_t{4} << 20;
  const std::size_t mapped = mallinfo2().hblks;
  void* volatile block = std::malloc(large);
  const bool is_mapped = mallinfo2().hblks > mapped;
  std::free(block);
  return !is_mapped;
}

bool is_glibc(const std::string& object) { return object.starts_with("libc.so"); }

/// The file name of the object that a function lies in; empty: none is known.
std::string object_of(const void* function) {
  Dl_info info{};
  if (function == nullptr || ::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).filename().string();
}

/// Whether `function` is but an entry through which a program calls it, as programs have that are
/// linked to fixed addresses (Debian's python3): its address is then one of the program.
bool is_entry_only(const void* function) {
  Dl_info info{};
  void* symbol = nullptr;
  return ::dladdr1(function, &info, &symbol, RTLD_DL_SYMENT) != 0 && symbol != nullptr &&
         static_cast<const ElfW(Sym)*>(symbol)->st_shndx == SHN_UNDEF;
}

/// The first of the loaded objects, in the order in which names are looked up, that has a malloc of
/// its own.
std::string first_with_malloc() {
  std::string found;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* into) {
        if (object->dlpi_name == nullptr || *object->dlpi_name == '\0') return 0;  // the program
        void* const handle = ::dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr) return 0;
        const std::string of = object_of(::dlsym(handle, "malloc"));
        ::dlclose(handle);
        if (of != std::filesystem::path(object->dlpi_name).filename()) return 0;
        *static_cast<std::string*>(into) = of;
        return 1;
      },
      &found);
  return found;
}

/// The object whose malloc this process uses.
std::string find_allocator() {
  const void* const function = ::dlsym(RTLD_DEFAULT, "malloc");
  std::string object = object_of(function);
  if (!object.empty() && is_entry_only(function)) object = first_with_malloc();
  return object.empty() ? "unknown" : object;
}

std::string describe_allocator() {
  const std::string object = find_allocator();
  return is_glibc(object) ? std::string("glibc ") + gnu_get_libc_version()
                          : describe_object(object);
}

}  // namespace

MallocRegime read_malloc_regime() {
  const char* text = std::getenv(malloc_regime_variable);
  const std::string_view regime = text == nullptr ? "" : text;
  if (regime.empty() || regime == "grown") return MallocRegime::grown;
  if (regime == "fresh") return MallocRegime::fresh;
  throw Error(StatusCode::invalid_argument, std::string(malloc_regime_variable) + ": found '" +
                                                std::string(regime) +
                                                "', allowed are grown (the default) and fresh");
}

void prepare_malloc(MallocRegime regime) {
  if (regime == MallocRegime::fresh) return;
  void* volatile block = std::malloc(growing_block);
  if (block == nullptr) return;  // then no message of this size will be measured either
  // glibc raises its thresholds by the size alone, and gives the pages back; others may keep them.
  if (!is_glibc(find_allocator())) std::memset(block, 1, growing_block);
  std::free(block);
}

std::map<std::string, std::string> read_malloc_facts() {
  std::map<std::string, std::string> facts{{allocator_fact, describe_allocator()}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    // COLLTUNE_MALLOC is left out: describe_malloc records the regime.
    if (const auto name = text.substr(0, equals);
        name != malloc_regime_variable && where_recorded(name) == RecordedIn::malloc_settings)
      facts.emplace(name, text.substr(equals + 1));
  }
  // jemalloc reads its settings from the target of this symbolic link.
  std::error_code error;
  if (const auto target = std::filesystem::read_symlink("/etc/malloc.conf", error); !error)
    facts.emplace("/etc/malloc.conf", target.string());
  return facts;
}

std::string describe_malloc(MallocRegime regime) {
  const auto facts = read_malloc_facts();
  std::string out = facts.at(allocator_fact);
  if (is_glibc(find_allocator()))
    out += is_raised()                     ? " raised"
           : regime == MallocRegime::fresh ? " fresh"
           : keeps_large_blocks()          ? " grown"
                                           : " set";
  for (const auto& [name, value] : facts)
    if (name != allocator_fact) out += " " + to_text(Assignment{name, value});
  return out;
}

}  // namespace colltune
