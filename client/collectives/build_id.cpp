// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/collectives/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdint>

#include "colltune/vocabulary/error.h"

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

}  // namespace

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

}  // namespace colltune
