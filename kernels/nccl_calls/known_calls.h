// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "colltune/vocabulary/collective.h"

namespace colltune::nccl {

/// What NCCL's choice for a call depends on, apart from the collective and the communicator.
struct CallForm {
  std::size_t count = 0;
  int root = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::none;

  friend bool operator==(const CallForm&, const CallForm&) = default;
};

/// The forms of an operation's calls so far. Of forms with the same place in the table the last one
/// is remembered alone: the others count as new again, which costs time but is right. Never
/// allocates.
class KnownCalls {
 public:
  static constexpr std::size_t places = 64;

  /// Notes a call; returns whether its form is new.
  bool note(const CallForm& form) noexcept {
    Place& place = all_[place_of(form)];
    if (place.is_used && place.form == form) return false;
    place = {.is_used = true, .form = form};
    return true;
  }

 private:
  struct Place {
    bool is_used = false;
    CallForm form;
  };

  /// The top bits of a product with 2^64 divided by the golden ratio (Knuth, volume 3, 6.4).
  static std::size_t place_of(const CallForm& form) noexcept {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;
    const std::uint64_t small = static_cast<std::uint64_t>(form.root) << 16U |
                                static_cast<std::uint64_t>(form.type) << 8U |
                                static_cast<std::uint64_t>(form.op);
    constexpr unsigned bits = 58;  // leaves the 6 bits of a place
    static_assert(places == std::size_t{1} << (64 - bits));
    return static_cast<std::size_t>(((form.count + small * factor) * factor) >> bits);
  }

  std::array<Place, places> all_{};
};

}  // namespace colltune::nccl
