// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_object.h"

#include <dlfcn.h>

#include <array>
#include <fstream>
#include <string>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Tells a wrong file from a shared object that cannot be linked: dlopen's text for both is alike.
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
}

}  // namespace

SharedObject::SharedObject(const std::filesystem::path& path) {
  check_file(path);
  // A path without a slash would be searched for elsewhere.
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
