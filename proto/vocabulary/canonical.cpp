// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/canonical.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "colltune/vocabulary/environment.h"

namespace colltune {

std::string digest_of_text(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes.digest) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string digest_of(const Environment& environment) { return digest_of_value(environment); }

}  // namespace colltune
