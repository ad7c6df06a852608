// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "evidence.h"

#include <bit>
#include <chrono>
#include <concepts>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "colltune/table_file/layout.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {

/// What DecisionSet is here: the facts of a generation's decisions, field by field.
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, DecisionSet>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("generation", self.generation);
  visit("environments", self.environments);
  visit("members", self.members);
  visit("compositions", self.compositions);
  visit("decisions", self.decisions);
  visit("fits", self.fits);
}

namespace {

/// Values that many decisions repeat are written once and named by number.
template <class T>
concept Shared = std::same_as<T, std::string> || std::same_as<T, Variant> ||
    std::same_as<T, Topology> || std::same_as<T, Limits>;

template <class T>
struct IsPair : std::false_type {};
template <class A, class B>
struct IsPair<std::pair<A, B>> : std::true_type {};

/// The shared values of one type, in the order in which they were met.
template <class T>
struct Pool {
  std::map<T, std::uint64_t> numbers;
  std::string bytes;
};

class Encoder {
 public:
  explicit Encoder(std::uint32_t version)
      : has_counts_(table_file::has_counts(version)), has_fits_(table_file::has_fits(version)) {}

  [[nodiscard]] std::string encode(const DecisionSet& set) {
    std::string body;
    put(body, set);
    std::string out;
    const auto add_pool = [&](const auto& pool) {
      put_number(out, pool.numbers.size());
      out += pool.bytes;
    };
    add_pool(strings_);
    add_pool(variants_);
    add_pool(topologies_);
    add_pool(limits_);
    return out + body;
  }

 private:
  /// Seven bits in each byte, the lowest first; the highest bit of a byte says that another
  /// follows.
  static void put_number(std::string& out, std::uint64_t value) {
    for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
    out += static_cast<char>(value);
  }

  Pool<std::string>& pool_of(const std::string&) { return strings_; }
  Pool<Variant>& pool_of(const Variant&) { return variants_; }
  Pool<Topology>& pool_of(const Topology&) { return topologies_; }
  Pool<Limits>& pool_of(const Limits&) { return limits_; }

  void put_whole(std::string& out, const std::string& text) {
    put_number(out, text.size());
    out += text;
  }
  void put_whole(std::string& out, const Variant& variant) {
    put(out, variant.implementation);
    put_number(out, variant.parameters.size());
    for (const Parameter& parameter : variant.parameters) {
      put(out, parameter.name);
      put(out, std::holds_alternative<std::string>(parameter.value));
      std::visit([&](const auto& setting) { put(out, setting); }, parameter.value);
    }
  }
  template <Described T>
  void put_whole(std::string& out, const T& value) {
    visit_fields(value, [&](std::string_view, const auto& field) { put(out, field); });
  }

  template <class T>
  void put(std::string& out, const T& value) {
    if constexpr (Shared<T>) {
      auto& pool = pool_of(value);
      const auto [entry, is_new] = pool.numbers.try_emplace(value, pool.numbers.size());
      if (is_new) put_whole(pool.bytes, value);
      put_number(out, entry->second);
    } else if constexpr (std::same_as<T, Counts>) {
      if (has_counts_) put_number(out, static_cast<std::uint64_t>(value));
    } else if constexpr (std::same_as<T, std::vector<VariantFit>>) {
      if (has_fits_) put_items(out, value);
    } else if constexpr (std::is_enum_v<T> || std::same_as<T, bool>) {
      put_number(out, static_cast<std::uint64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      const auto bits = std::bit_cast<std::uint64_t>(static_cast<double>(value));
      out.append(reinterpret_cast<const char*>(&bits), sizeof bits);  // NOLINT: little-endian
    } else if constexpr (std::signed_integral<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      put_number(out,
                 static_cast<std::uint64_t>(wide) << 1 ^ static_cast<std::uint64_t>(wide >> 63));
    } else if constexpr (std::unsigned_integral<T>) {
      put_number(out, value);
    } else if constexpr (std::same_as<T, Bytes>) {
      put(out, value.value);
    } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
      put(out, static_cast<std::int64_t>(value.count()));
    } else if constexpr (Described<const T>) {
      put_whole(out, value);
    } else if constexpr (IsPair<T>::value) {
      put(out, value.first);
      put(out, value.second);
    } else if constexpr (requires { value.has_value(); }) {
      put(out, value.has_value());
      if (value) put(out, *value);
    } else {
      put_items(out, value);
    }
  }
  void put_items(std::string& out, const auto& items) {
    put_number(out, items.size());
    for (const auto& item : items) put(out, item);
  }

  bool has_counts_;
  bool has_fits_;
  Pool<std::string> strings_;
  Pool<Variant> variants_;
  Pool<Topology> topologies_;
  Pool<Limits> limits_;
};

class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, std::uint32_t version)
      : bytes_(bytes),
        has_counts_(table_file::has_counts(version)),
        has_fits_(table_file::has_fits(version)) {}

  [[nodiscard]] DecisionSet decode() {
    read_pool(strings_);
    read_pool(variants_);
    read_pool(topologies_);
    read_pool(limits_);
    DecisionSet set;
    read(set);
    if (at_ != bytes_.size()) fail("something follows the last value");
    return set;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(StatusCode::data_loss, "evidence, byte " + std::to_string(at_) + ": " + what);
  }

  std::uint8_t next_byte() {
    if (at_ == bytes_.size()) fail("it ends inside a value");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }

  std::uint64_t read_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t byte = next_byte();
      value |= (byte & 127) << shift;
      if (shift == 63 && byte > 1) break;
      if (byte < 128) return value;
    }
    fail("a number has more than 64 bits");
  }

  /// A number of items, each of at least one byte.
  std::size_t read_count() {
    const std::uint64_t count = read_number();
    if (count > bytes_.size() - at_)
      fail("there are said to be " + std::to_string(count) + " items, more than bytes are left");
    return static_cast<std::size_t>(count);
  }

  std::vector<std::string>& pool_of(const std::string&) { return strings_; }
  std::vector<Variant>& pool_of(const Variant&) { return variants_; }
  std::vector<Topology>& pool_of(const Topology&) { return topologies_; }
  std::vector<Limits>& pool_of(const Limits&) { return limits_; }

  template <class T>
  void read_pool(std::vector<T>& pool) {
    const std::size_t count = read_count();
    for (std::size_t i = 0; i < count; ++i) {
      T value;
      read_whole(value);
      pool.push_back(std::move(value));
    }
  }

  void read_whole(std::string& text) {
    const std::size_t size = read_count();
    text.assign(reinterpret_cast<const char*>(bytes_.data() + at_), size);  // NOLINT: bytes
    at_ += size;
  }
  void read_whole(Variant& variant) {
    read(variant.implementation);
    variant.parameters.resize(read_count());
    for (Parameter& parameter : variant.parameters) {
      read(parameter.name);
      bool is_word = false;
      read(is_word);
      if (is_word)
        read(parameter.value.emplace<std::string>());
      else
        read(parameter.value.emplace<std::int64_t>());
    }
  }
  template <Described T>
  void read_whole(T& value) {
    visit_fields(value, [&](std::string_view, auto& field) { read(field); });
  }

  template <class T>
  void read_narrow(T& value, auto wide) {
    if (!std::in_range<T>(wide)) fail("the number " + std::to_string(wide) + " is out of range");
    value = static_cast<T>(wide);
  }

  template <class T>
  void read(T& value) {
    if constexpr (Shared<T>) {
      const std::uint64_t number = read_number();
      const auto& pool = pool_of(value);
      if (number >= pool.size()) fail("a value is named that is not there");
      value = pool[static_cast<std::size_t>(number)];
    } else if constexpr (std::is_enum_v<T>) {
      if constexpr (std::same_as<T, Counts>)
        if (!has_counts_) return;
      const std::uint64_t number = read_number();
      for (const auto& named : enum_names(T{}))
        if (static_cast<std::uint64_t>(named.value) == number) {
          value = named.value;
          return;
        }
      fail("unknown " + std::string(enum_title(T{})) + " " + std::to_string(number));
    } else if constexpr (std::same_as<T, bool>) {
      const std::uint64_t number = read_number();
      if (number > 1) fail("neither true nor false");
      value = number == 1;
    } else if constexpr (std::floating_point<T>) {
      std::uint64_t bits = 0;
      if (bytes_.size() - at_ < sizeof bits) fail("it ends inside a value");
      std::memcpy(&bits, bytes_.data() + at_, sizeof bits);
      at_ += sizeof bits;
      value = static_cast<T>(std::bit_cast<double>(bits));
    } else if constexpr (std::signed_integral<T>) {
      const std::uint64_t folded = read_number();
      read_narrow(value, static_cast<std::int64_t>(folded >> 1 ^ (~(folded & 1) + 1)));
    } else if constexpr (std::unsigned_integral<T>) {
      read_narrow(value, read_number());
    } else if constexpr (std::same_as<T, Bytes>) {
      read(value.value);
    } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
      std::int64_t count = 0;
      read(count);
      value = std::chrono::nanoseconds(count);
    } else if constexpr (Described<T>) {
      read_whole(value);
    } else if constexpr (IsPair<T>::value) {
      read(value.first);
      read(value.second);
    } else if constexpr (requires { value.has_value(); }) {
      bool is_there = false;
      read(is_there);
      if (is_there) read(value.emplace());
    } else if constexpr (std::same_as<T, std::vector<VariantFit>>) {
      if (has_fits_) read_items(value);
    } else {
      read_items(value);
    }
  }
  void read_items(auto& items) {
    const std::size_t count = read_count();
    for (std::size_t i = 0; i < count; ++i) read(items.emplace_back());
  }

  std::span<const std::byte> bytes_;
  bool has_counts_;
  bool has_fits_;
  std::size_t at_ = 0;
  std::vector<std::string> strings_;
  std::vector<Variant> variants_;
  std::vector<Topology> topologies_;
  std::vector<Limits> limits_;
};

}  // namespace

std::string encode_evidence(const DecisionSet& set, std::uint32_t version) {
  return Encoder(version).encode(set);
}

DecisionSet decode_evidence(std::span<const std::byte> bytes, std::uint32_t version) {
  return Decoder(bytes, version).decode();
}

}  // namespace colltune
