// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/program_settings.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace colltune {
namespace {

/// The build id in the notes of one loaded object; empty if it has none.
std::string build_id_in(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
    const char* const end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto& note = *reinterpret_cast<const ElfW(Nhdr)*>(at);
      const auto aligned = [](std::size_t size) { return (size + 3) / 4 * 4; };
      const char* const content = at + sizeof note + aligned(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID) {
        std::string id;
        for (std::size_t byte = 0; byte < note.n_descsz; ++byte)
          id += fmt::format("{:02x}", static_cast<unsigned char>(content[byte]));
        return id;
      }
      at = content + aligned(note.n_descsz);
    }
  }
  return {};
}

/// Names the code of this shared object: equal exactly for the same link.
std::string own_build_id() {
  struct Search {
    std::uintptr_t address;
    std::string id;
  } search{reinterpret_cast<std::uintptr_t>(&build_id_in), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* of) {
        auto& asked = *static_cast<Search*>(of);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = object->dlpi_phdr[i];
          const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
          if (segment.p_type != PT_LOAD || asked.address < start ||
              asked.address >= start + segment.p_memsz)
            continue;
          asked.id = build_id_in(*object);
          return 1;
        }
        return 0;
      },
      &search);
  if (search.id.empty())
    throw Error(StatusCode::failed_precondition,
                "this program or library has no build id, so that ranks cannot tell whether they "
                "run the same "
                "code; link it with --build-id");
  return search.id;
}

}  // namespace

ProgramSettings read_program_settings(const std::function<const char*(const char*)>& variable) {
  const auto value = [&](const char* name) {
    const char* const text = variable(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  const auto refuse = [](std::string_view name, std::string_view got, std::string_view allowed) {
    throw Error(StatusCode::invalid_argument, fmt::format("{}={} must be {}", name, got, allowed));
  };
  ProgramSettings settings{.table = std::string(value("COLLTUNE_TABLE")),
                           .table_digest = std::string(value("COLLTUNE_TABLE_DIGEST"))};
  if (const auto text = value("COLLTUNE_MEMORY"); !text.empty()) {
    try {
      settings.memory = parse_bytes(text);
    } catch (const Error&) {
      refuse("COLLTUNE_MEMORY", text, "a size, for example 256MiB");
    }
  }
  if (const auto text = value("COLLTUNE_NUMERICS"); !text.empty()) {
    try {
      settings.numerics = parse_name<ProgramNumerics>(text);
    } catch (const Error&) {
      refuse("COLLTUNE_NUMERICS", text, allowed_names<ProgramNumerics>());
    }
  }
  if (const auto text = value("COLLTUNE_REPORT"); !text.empty()) {
    if (text != "0" && text != "1") refuse("COLLTUNE_REPORT", text, "0 or 1");
    settings.reports = text == "1";
  }
  for (const char* const name :
       {"OMPI_MCA_coll_tuned_dynamic_rules_filename", "OMPI_MCA_coll_han_dynamic_rules_filename"})
    settings.library_follows_rules |= !value(name).empty();
  // As Open MPI reads a switch.
  constexpr std::array<std::string_view, 7> off{"", "0", "f", "false", "n", "no", "disabled"};
  for (const char* const name :
       {"OMPI_MCA_coll_tuned_use_dynamic_rules", "OMPI_MCA_coll_han_use_dynamic_file_rules"})
    settings.library_follows_rules |= std::ranges::find(off, value(name)) == off.end();
  return settings;
}

std::string fingerprint_of(const ProgramSettings& settings) {
  return fmt::format("{} {} {}", own_build_id(), settings.memory.value, name_of(settings.numerics));
}

}  // namespace colltune
