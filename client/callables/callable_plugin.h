// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "colltune/callables.h"
#include "colltune/plugin.h"

namespace colltune {

/// A problem as callables see it.
[[nodiscard]] std::string problem_text(const colltune_problem& problem);
/// Parameters as callables see them.
[[nodiscard]] std::string parameters_text(const colltune_variant& variant);

/// The callables of all ranks as a plug-in of this process, while it lives. The plug-in interface
/// passes no context to its functions, so they find this object through a variable of the thread
/// that made it: that thread alone sweeps, and has one at a time.
class CallablePlugin {
 public:
  /// `entries`: those of all ranks. `own`: this rank's callables, which outlive this object. Throws
  /// Error(failed_precondition) if the thread has one already: a callable started a sweep.
  CallablePlugin(const std::vector<nlohmann::json>& entries,
                 std::span<const colltune_callable> own);
  ~CallablePlugin();
  CallablePlugin(const CallablePlugin&) = delete;
  CallablePlugin& operator=(const CallablePlugin&) = delete;

  [[nodiscard]] const colltune_plugin& table() const { return table_; }
  [[nodiscard]] const std::string& description() const { return description_; }
  /// This rank's callable of an entry's name; null if it registered none.
  [[nodiscard]] const colltune_callable* find(const std::string& name) const;

 private:
  std::string description_;
  std::vector<std::pair<std::string, const colltune_callable*>> own_;
  colltune_plugin table_;
};

}  // namespace colltune
