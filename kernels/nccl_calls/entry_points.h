// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/implementation.h"
#include "nccl_library/library.h"

namespace colltune::nccl {

/// Entries of the catalogue over the libraries that `runtime` opens: NCCL's own choice for each
/// collective, its forced choices, what a call itself selects, and its own choice on communicators
/// with other settings, with other operators and in symmetric windows.
[[nodiscard]] Implementations make_library_choice(const std::shared_ptr<const Runtime>& runtime);
[[nodiscard]] Implementations make_configured(const std::shared_ptr<const Runtime>& runtime);
[[nodiscard]] Implementations make_premultiplied(const std::shared_ptr<const Runtime>& runtime);
[[nodiscard]] Implementations make_symmetric(const std::shared_ptr<const Runtime>& runtime);
[[nodiscard]] Implementations make_selected(const std::shared_ptr<const Runtime>& runtime);
[[nodiscard]] Implementations make_forced(const std::shared_ptr<const Runtime>& runtime);

}  // namespace colltune::nccl
