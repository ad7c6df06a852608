// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colltune {

/// The tool interface of the MPI library (MPI_T), open as long as the object lives. Use it after
/// MPI_Init.
class MpiToolSession {
 public:
  MpiToolSession();
  MpiToolSession(const MpiToolSession&) = delete;
  MpiToolSession& operator=(const MpiToolSession&) = delete;
  ~MpiToolSession();
};

/// A control variable of the running library that holds one number or a text. Found by name, so
/// nothing is assumed from the library's version. Needs an MpiToolSession that outlives it.
/// Move-only.
class ControlVariable {
 public:
  /// Empty if this library has no such variable.
  [[nodiscard]] static std::optional<ControlVariable> find(const std::string& name);
  /// Variable `index`, from 0 to below MPI_T_cvar_get_num. Empty if it belongs to a component that
  /// is not loaded, or to an object.
  [[nodiscard]] static std::optional<ControlVariable> at(int index);

  ControlVariable(ControlVariable&& other) noexcept;
  ControlVariable& operator=(ControlVariable&& other) noexcept;
  ~ControlVariable();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int read() const;
  /// The value as text, whatever its type.
  [[nodiscard]] std::string read_text() const;
  /// Throws Error(failed_precondition), which names the variable, if the library refuses the write,
  /// or accepts it and does not keep the value.
  void write(int value);
  [[nodiscard]] bool is_writable() const;
  /// The values that it may have, with their names; empty if it is a plain number.
  [[nodiscard]] std::vector<std::pair<int, std::string>> enumerators() const;

 private:
  ControlVariable() = default;

  std::string name_;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_T_enum enumeration_ = MPI_T_ENUM_NULL;
  int scope_ = MPI_T_SCOPE_CONSTANT;
};

/// Sets variables; its destructor restores their old values.
class TemporarySettings {
 public:
  TemporarySettings() = default;
  TemporarySettings(const TemporarySettings&) = delete;
  TemporarySettings& operator=(const TemporarySettings&) = delete;
  ~TemporarySettings();
  /// Throws Error(failed_precondition) if there is no such variable or it cannot be set.
  void set(const std::string& name, int value);

 private:
  MpiToolSession session_;
  std::vector<std::pair<ControlVariable, int>> old_values_;
};

}  // namespace colltune
