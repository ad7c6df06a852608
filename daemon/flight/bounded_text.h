// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

namespace colltune {

/// Text that grows in memory given by the caller and is cut where that ends. Allocates nothing.
class BoundedText {
 public:
  explicit BoundedText(std::span<char> out) : out_(out) {}

  BoundedText& operator<<(std::string_view text) {
    const std::size_t size = std::min(text.size(), out_.size() - size_);
    std::copy_n(text.data(), size, out_.data() + size_);
    size_ += size;
    return *this;
  }
  template <std::integral Number>
  BoundedText& operator<<(Number number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    // The bound tells gcc 12 that `end` lies within `digits`, which it cannot see.
    const auto size = static_cast<std::size_t>(end - digits.data());
    return *this << std::string_view(digits.data(), std::min(size, digits.size()));
  }
  /// Appends seconds with three decimals.
  BoundedText& operator<<(std::chrono::nanoseconds time) {
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(time < time.zero() ? -time : time)
            .count();
    const auto rest = milliseconds % 1000;
    return *this << (time < time.zero() ? "-" : "") << milliseconds / 1000 << "."
                 << (rest < 100 ? "0" : "") << (rest < 10 ? "0" : "") << rest << " s";
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::string_view view() const { return {out_.data(), size_}; }

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
};

}  // namespace colltune
