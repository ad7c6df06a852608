// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colltune {

/// The tool interface of the MPI library (MPI_T), open while the object lives. After MPI_Init.
class MpiToolSession {
 public:
  MpiToolSession();
  MpiToolSession(const MpiToolSession&) = delete;
  MpiToolSession& operator=(const MpiToolSession&) = delete;
  ~MpiToolSession();
};

/// A control variable of the running library that holds one number or a text; found by name, so
/// that nothing is assumed from a version. Needs an MpiToolSession that outlives it. Move-only.
class ControlVariable {
 public:
  /// Empty where this library has no such variable.
  [[nodiscard]] static std::optional<ControlVariable> find(const std::string& name);
  /// Of the variables from 0 to MPI_T_cvar_get_num. Empty where it belongs to nothing that is
  /// loaded, or to an object.
  [[nodiscard]] static std::optional<ControlVariable> at(int index);

  ControlVariable(ControlVariable&& other) noexcept;
  ControlVariable& operator=(ControlVariable&& other) noexcept;
  ~ControlVariable();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int read() const;
  /// The value as text, whatever its type.
  [[nodiscard]] std::string read_text() const;
  /// Throws Error(failed_precondition) that names the variable where the library refuses, or takes
  /// the write and does not keep it.
  void write(int value);
  [[nodiscard]] bool is_writable() const;
  /// The values that it may take with their names; empty where it is a plain number.
  [[nodiscard]] std::vector<std::pair<int, std::string>> enumerators() const;

 private:
  ControlVariable() = default;

  std::string name_;
  MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_T_enum enumeration_ = MPI_T_ENUM_NULL;
  int scope_ = MPI_T_SCOPE_CONSTANT;
};

/// Sets variables and puts their old values back with its own end.
class TemporarySettings {
 public:
  TemporarySettings() = default;
  TemporarySettings(const TemporarySettings&) = delete;
  TemporarySettings& operator=(const TemporarySettings&) = delete;
  ~TemporarySettings();
  /// Throws Error(failed_precondition) where there is no such variable or it cannot be set.
  void set(const std::string& name, int value);

 private:
  MpiToolSession session_;
  std::vector<std::pair<ControlVariable, int>> old_values_;
};

}  // namespace colltune
