// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "colltune/kernels/messages.h"

namespace colltune {

/// Holds messages between threads until they are received. Thread-safe.
class Mailbox;
[[nodiscard]] std::shared_ptr<Mailbox> make_mailbox();

/// Messages of rank `rank` over `mailbox`. A send completes when its bytes have been received, like
/// a large (rendezvous) send under MPI.
[[nodiscard]] std::unique_ptr<Messages> make_thread_messages(std::shared_ptr<Mailbox> mailbox,
                                                             int rank, std::size_t numbers);

}  // namespace colltune
