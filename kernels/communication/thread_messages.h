// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "colltune/kernels/messages.h"

namespace colltune {

/// Where messages between threads lie until they are taken. Thread-safe.
class Mailbox;
[[nodiscard]] std::shared_ptr<Mailbox> make_mailbox();

/// Messages of rank `rank` over `mailbox`. A send is done when its bytes were taken, as a large one
/// is under MPI.
[[nodiscard]] std::unique_ptr<Messages> make_thread_messages(std::shared_ptr<Mailbox> mailbox,
                                                             int rank, std::size_t numbers);

}  // namespace colltune
