// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "empty.h"

namespace colltune::device {
namespace {

struct Empty {
  static constexpr bool reduces = false;
  template <class Context, class Reducer>
  COLLTUNE_DEVICE static void run(Context&, const DeviceCall&, const Reducer&) {}
};

}  // namespace

DeviceAlgorithm make_empty_algorithm() {
  return make_device<Empty>({.name = "empty", .description = "does nothing"});
}

}  // namespace colltune::device
