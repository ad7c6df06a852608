// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune::test {

/// Sets an environment variable, which `broken/flawed.cpp` reads, for as long as it lives.
class Setting {
 public:
  Setting(std::string name, const std::string& value) : name_(std::move(name)) {
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Setting() { ::unsetenv(name_.c_str()); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  std::string name_;
};

/// The flaw that the flawed plug-in shows while this lives.
class Flaw : public Setting {
 public:
  explicit Flaw(const std::string& name) : Setting("COLLTUNE_TEST_FLAW", name) {}
};

/// The code and text of the Error that `act` throws; a text that matches nothing where it does not.
struct Thrown {
  int code = 0;
  std::string text = "nothing was thrown";
};
template <class Act>
Thrown thrown_by(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.what()};
  }
  return {};
}

}  // namespace colltune::test
