// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune {

/// In the regime `fresh` of malloc: from now on SQLite's memory comes from where that of the
/// agent's C++ lies, and not from malloc. Before SQLite is used at all; otherwise nothing changes.
void keep_sqlite_in_own_heap();

}  // namespace colltune
