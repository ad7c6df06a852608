// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_object.h"

#include <dlfcn.h>
#include <elf.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Refuses a file that is shorter than its headers say. The linker would map it all the same, and
/// the process would die of SIGBUS at the first access. The linker reports other defects itself.
void check_segments(std::ifstream& file, std::uint64_t size, const std::string& name) {
  const auto read = [&](std::uint64_t at, auto& value) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return static_cast<std::size_t>(file.gcount()) == sizeof value;
  };
  const auto fail = [&] {
    throw Error(StatusCode::invalid_argument,
                "plug-in " + name + ": is cut off: it ends before what its ELF header says");
  };
  Elf64_Ehdr header{};
  if (!read(0, header)) return;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (header.e_phoff > size || !read(header.e_phoff + i * sizeof segment, segment)) fail();
    const bool is_there = segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset;
    if (segment.p_type != PT_NULL && !is_there) fail();
  }
}

/// Distinguishes a wrong file from a shared object that cannot be linked: dlopen's messages for the
/// two are alike.
void check_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    throw Error(StatusCode::failed_precondition, "plug-in " + name + ": there is no such file");
  if (!std::filesystem::is_regular_file(status))
    throw Error(StatusCode::invalid_argument,
                "plug-in " + name + ": is no regular file; give the shared object itself");
  constexpr std::string_view elf{
      "\x7f"
      "ELF"};
  std::array<char, elf.size()> begin{};
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open())
    throw Error(StatusCode::permission_denied, "plug-in " + name + ": cannot be read");
  file.read(begin.data(), begin.size());
  if (std::string_view(begin.data(), static_cast<std::size_t>(file.gcount())) != elf)
    throw Error(StatusCode::invalid_argument,
                "plug-in " + name + ": is no shared object (it does not begin as an ELF file)");
  check_segments(file, std::filesystem::file_size(path), name);
}

}  // namespace

SharedObject::SharedObject(const std::filesystem::path& path) {
  check_file(path);
  // dlopen would search for a path without a slash elsewhere.
  const std::string absolute = std::filesystem::absolute(path).string();
  handle_.reset(::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (handle_) return;
  const char* const reason = ::dlerror();
  throw Error(StatusCode::failed_precondition, "plug-in " + path.string() + ": cannot be loaded: " +
                                                   (reason ? reason : "no reason given"));
}

void* SharedObject::find(const char* symbol) const noexcept {
  return ::dlsym(handle_.get(), symbol);
}

void SharedObject::Closer::operator()(void* handle) const noexcept { ::dlclose(handle); }

}  // namespace colltune
