// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace colltune::test {

/// Whether this build is under ThreadSanitizer, which takes some twenty times as long. It looks at
/// memory that threads share: what one thread does alone shows it nothing.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

/// Whether this build is under AddressSanitizer, which looks at every access: each kind of access
/// once is enough.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

/// Under a sanitizer tests take a sample that has everything in it once, in turns. The other builds
/// take the whole product.
inline constexpr bool has_sanitizer = has_thread_sanitizer || has_address_sanitizer;

}  // namespace colltune::test
