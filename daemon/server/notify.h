// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace colltune {

/// Tells systemd a state ("READY=1", "STOPPING=1") by the protocol of sd_notify(3), where the
/// process was started with NOTIFY_SOCKET; else does nothing. Never fails: a supervisor that cannot
/// be reached notices by itself.
void notify_supervisor(std::string_view state) noexcept;

}  // namespace colltune
