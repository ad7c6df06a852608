// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "colltune/kernels/implementation.h"
#include "colltune/plugin.h"
#include "description.h"
#include "shared_object.h"

namespace colltune {

/// A loaded and checked plug-in, shared by its implementations and operations. Immutable.
struct LoadedPlugin {
  std::optional<SharedObject> object;        ///< empty: the table is this process's own
  const colltune_plugin* table;              ///< lives in `object`, if there is one
  decltype(colltune_plugin::bind) bind;      ///< null: operations keep their buffers
  decltype(colltune_plugin::rebind) rebind;  ///< null: operations keep their size and root
  std::string family;
  std::string digest;  ///< of what describe() returned; ranks with equal digests can meet
};

/// Adapts an implementation of a plug-in to colltune's interface.
[[nodiscard]] std::unique_ptr<const Implementation> make_plugin_implementation(
    std::shared_ptr<const LoadedPlugin> plugin, DescribedImplementation described);

}  // namespace colltune
