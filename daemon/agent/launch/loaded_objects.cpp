// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "loaded_objects.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace colltune {
namespace {

/// The build id from an object's notes, in hexadecimal; empty if it has none.
std::string build_id_of(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + header.p_vaddr);
    const auto* const end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
      const char* const name = at + sizeof note;
      const char* const bytes = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(name, "GNU", 4) == 0) {
        std::string text;
        for (std::size_t b = 0; b < note.n_descsz; ++b)
          text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[b]));
        return text;
      }
      at = bytes + padded(note.n_descsz);
    }
  }
  return {};
}

struct Search {
  std::string file_name;
  std::string build_id;
};

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (std::filesystem::path(object->dlpi_name).filename() != search.file_name) return 0;
  search.build_id = build_id_of(*object);
  return 1;
}

std::string describe_list(std::string list) {
  std::ranges::replace(list, ':', ' ');
  std::string out;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(" \n\t", at), list.size());
    if (end > at)
      out += (out.empty() ? "" : " ") +
             describe_object(std::filesystem::path(list.substr(at, end - at)).filename().string());
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string describe_object(const std::string& file_name) {
  Search search{.file_name = file_name, .build_id = {}};
  ::dl_iterate_phdr(look_at, &search);
  constexpr std::size_t digits = 12;
  return search.build_id.empty()
             ? file_name
             : fmt::format("{} ({})", file_name, search.build_id.substr(0, digits));
}

std::map<std::string, std::string> read_loader_facts(const std::string& preload_file) {
  std::map<std::string, std::string> facts;
  const auto add = [&](const std::string& where, const std::string& list) {
    if (std::string objects = describe_list(list); !objects.empty())
      facts.emplace(where, std::move(objects));
  };
  for (const char* variable : {"LD_PRELOAD", "LD_AUDIT"})
    if (const char* list = std::getenv(variable)) add(variable, list);
  std::ifstream file(preload_file);
  add("/etc/ld.so.preload", {std::istreambuf_iterator<char>(file), {}});
  return facts;
}

}  // namespace colltune
