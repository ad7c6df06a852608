// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "control_variable.h"

#include <array>
#include <cstring>

#include "colltune/vocabulary/error.h"
#include "mpi_handles.h"

namespace colltune {
namespace {

constexpr int longest_name = 256;
constexpr std::size_t longest_text = std::size_t{1} << 16;

}  // namespace

MpiToolSession::MpiToolSession() {
  // Open MPI takes the level that is asked for here as the program's own from then on, with its
  // locks or without them (4.1.4): so ask for what the program has.
  int level = MPI_THREAD_SINGLE;
  int is_initialized = 0;
  PMPI_Initialized(&is_initialized);
  if (is_initialized != 0) PMPI_Query_thread(&level);
  int provided = 0;
  check_mpi(MPI_T_init_thread(level, &provided), "MPI_T_init_thread");
}

MpiToolSession::~MpiToolSession() {
#ifdef MPICH_VERSION
  // MPI_Init reads variables that MPI_T_finalize has freed (MPICH 4.0.2): a session that ends
  // before it stays open. (Open MPI's must end, since it reads its environment anew at the next.)
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0) return;
#endif
  MPI_T_finalize();
}

std::optional<ControlVariable> ControlVariable::find(const std::string& name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return {};
  return at(index);
}

std::optional<ControlVariable> ControlVariable::at(int index) {
  ControlVariable variable;
  std::array<char, longest_name> text{};
  std::array<char, longest_name> description{};
  int text_length = longest_name;
  int description_length = longest_name;
  int verbosity = 0;
  int binding = 0;
  if (MPI_T_cvar_get_info(index, text.data(), &text_length, &verbosity, &variable.type_,
                          &variable.enumeration_, description.data(), &description_length, &binding,
                          &variable.scope_) != MPI_SUCCESS ||
      binding != MPI_T_BIND_NO_OBJECT)
    return {};
  variable.name_ = text.data();
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &variable.handle_, &count) != MPI_SUCCESS ||
      (count != 1 && variable.type_ != MPI_CHAR))
    return {};
  return variable;
}

ControlVariable::ControlVariable(ControlVariable&& other) noexcept
    : name_(std::move(other.name_)),
      handle_(std::exchange(other.handle_, MPI_T_CVAR_HANDLE_NULL)),
      type_(other.type_),
      enumeration_(other.enumeration_),
      scope_(other.scope_) {}

ControlVariable& ControlVariable::operator=(ControlVariable&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(handle_, other.handle_);
  std::swap(type_, other.type_);
  std::swap(enumeration_, other.enumeration_);
  std::swap(scope_, other.scope_);
  return *this;
}

ControlVariable::~ControlVariable() {
  if (handle_ != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_handle_free(&handle_);
}

int ControlVariable::read() const {
  // A bool fills only one byte, an int four. Both are little-endian and never longer than this.
  std::array<int, 4> value{};
  check_mpi(MPI_T_cvar_read(handle_, value.data()), "MPI_T_cvar_read of " + name_);
  return value[0];
}

std::string ControlVariable::read_text() const {
  // Open MPI reports 2048 for every text, and copies all of it.
  std::vector<char> bytes(longest_text);
  check_mpi(MPI_T_cvar_read(handle_, bytes.data()), "MPI_T_cvar_read of " + name_);
  const auto value_of = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data(), sizeof value);
    return std::to_string(value);
  };
  if (type_ == MPI_CHAR) return bytes.data();
  if (type_ == MPI_DOUBLE) return value_of(double{});
  if (type_ == MPI_UNSIGNED_LONG || type_ == MPI_UNSIGNED_LONG_LONG || type_ == MPI_COUNT)
    return value_of(0ULL);
  if (type_ == MPI_UNSIGNED) return value_of(0U);
  return value_of(0);  // also for a bool, which fills one byte
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
      // The variable accepted a write before; a destructor cannot report a failure.
    }
  }
}

}  // namespace colltune
