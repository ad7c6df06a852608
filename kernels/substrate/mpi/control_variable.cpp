// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi/control_variable.h"

#include <array>

#include "colltune/vocabulary/error.h"
#include "mpi/mpi_handles.h"

namespace colltune {
namespace {

constexpr int longest_name = 256;

}  // namespace

MpiToolSession::MpiToolSession() {
  int provided = 0;
  check_mpi(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), "MPI_T_init_thread");
}

MpiToolSession::~MpiToolSession() { MPI_T_finalize(); }

std::optional<ControlVariable> ControlVariable::find(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return {};
  ControlVariable variable;
  variable.name_ = name;
  std::array<char, longest_name> text{};
  std::array<char, longest_name> description{};
  int text_length = longest_name;
  int description_length = longest_name;
  int verbosity = 0;
  int binding = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  if (MPI_T_cvar_get_info(index, text.data(), &text_length, &verbosity, &type,
                          &variable.enumeration_, description.data(), &description_length, &binding,
                          &variable.scope_) != MPI_SUCCESS)
    return {};
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &variable.handle_, &count) != MPI_SUCCESS ||
      count != 1)
    return {};
  return variable;
}

ControlVariable::ControlVariable(ControlVariable&& other) noexcept
    : name_(std::move(other.name_)),
      handle_(std::exchange(other.handle_, MPI_T_CVAR_HANDLE_NULL)),
      enumeration_(other.enumeration_),
      scope_(other.scope_) {}

ControlVariable& ControlVariable::operator=(ControlVariable&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(handle_, other.handle_);
  std::swap(enumeration_, other.enumeration_);
  std::swap(scope_, other.scope_);
  return *this;
}

ControlVariable::~ControlVariable() {
  if (handle_ != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_handle_free(&handle_);
}

int ControlVariable::read() const {
  // A bool fills one byte only, an int four; both are little-endian and never longer than this.
  std::array<int, 4> value{};
  check_mpi(MPI_T_cvar_read(handle_, value.data()), "MPI_T_cvar_read of " + name_);
  return value[0];
}

void ControlVariable::write(int value) {
  if (MPI_T_cvar_write(handle_, &value) != MPI_SUCCESS || read() != value)
    throw Error(StatusCode::failed_precondition, "the MPI library does not let its variable " +
                                                     name_ + " be set to " + std::to_string(value));
}

bool ControlVariable::is_writable() const {
  return scope_ != MPI_T_SCOPE_CONSTANT && scope_ != MPI_T_SCOPE_READONLY;
}

std::vector<std::pair<int, std::string>> ControlVariable::enumerators() const {
  std::vector<std::pair<int, std::string>> all;
  if (enumeration_ == MPI_T_ENUM_NULL) return all;
  std::array<char, longest_name> text{};
  int length = longest_name;
  int count = 0;
  check_mpi(MPI_T_enum_get_info(enumeration_, &count, text.data(), &length),
            "MPI_T_enum_get_info of " + name_);
  for (int i = 0; i < count; ++i) {
    int value = 0;
    length = longest_name;
    check_mpi(MPI_T_enum_get_item(enumeration_, i, &value, text.data(), &length),
              "MPI_T_enum_get_item of " + name_);
    all.emplace_back(value, text.data());
  }
  return all;
}

void TemporarySettings::set(const std::string& name, int value) {
  auto variable = ControlVariable::find(name);
  if (!variable)
    throw Error(StatusCode::failed_precondition, "this MPI library has no variable " + name);
  const int old = variable->read();
  old_values_.emplace_back(std::move(*variable), old);
  old_values_.back().first.write(value);
}

TemporarySettings::~TemporarySettings() {
  for (auto entry = old_values_.rbegin(); entry != old_values_.rend(); ++entry) {
    try {
      entry->first.write(entry->second);
    } catch (const Error&) {
      // It was written a moment ago; a destructor has nobody to tell.
    }
  }
}

}  // namespace colltune
