// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune {

/// Sends what protobuf's library says to the program's log, at the level `debug`, a few lines a
/// second at most: what a peer sends must not fill a disk.
void limit_library_log();

}  // namespace colltune
