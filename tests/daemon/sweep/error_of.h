// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {

/// What is wrong with `action`'s input: the message of its Error(invalid_argument), or "no error".
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

}  // namespace colltune
