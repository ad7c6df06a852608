// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Every instruction set that this processor offers gives the scalar body's bits.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "arithmetic/isa/isa.h"
#include "arithmetic/processor.h"
#include "arithmetic/typed.h"
#include "colltune/kernels/arithmetic/isa_names.h"
#include "colltune/kernels/arithmetic/number_format.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using Buffer = std::vector<std::byte>;

/// Values where arithmetic has corners: zeros, subnormals, ones, ties, extremes, infinities, NaNs.
template <class T>
std::vector<T> edge_values() {
  std::vector<T> values;
  if constexpr (std::is_integral_v<T>) {
    using L = std::numeric_limits<T>;
    for (const T value : {L::min(), T(L::min() + 1), T(-1), T(0), T(1), T(2), T(3), T(L::max() / 2),
                          T(L::max() - 1), L::max()})
      values.push_back(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    for (const T value :
         {T(0), L::denorm_min(), T(3) * L::denorm_min(), L::min(), T(1), T(1) + L::epsilon(), T(3),
          T(0.1), L::max(), L::infinity(), L::quiet_NaN(), L::signaling_NaN()})
      for (const T sign : {T(1), T(-1)}) values.push_back(std::copysign(value, sign));
  } else {
    constexpr unsigned sign = sizeof(T) == 1 ? 0x80 : 0x8000;
    for (unsigned bits = 0; bits < sign; bits += sizeof(T) == 1 ? 1 : 0x3f)
      for (const unsigned with_sign : {bits, bits | sign})
        values.push_back(T{static_cast<decltype(T{}.bits)>(with_sign)});
  }
  return values;
}

/// `size` elements from `offset` of a buffer that ends with them: half edge values, half random
/// bits.
Buffer make_elements(DataType type, std::size_t count, std::size_t offset,
                     std::mt19937_64& random) {
  Buffer buffer(offset + count * size_of(type));
  with_element_type(type, [&]<class T>(T) {
    static const std::vector<T> edges = edge_values<T>();
    for (std::size_t i = 0; i < count; ++i) {
      std::byte* const element = buffer.data() + offset + i * sizeof(T);
      const std::uint64_t bits = random();
      const T& edge = edges[random() % edges.size()];
      const bool at_edge = random() % 2 == 0;
      std::memcpy(element, at_edge ? static_cast<const void*>(&edge) : &bits, sizeof(T));
    }
  });
  return buffer;
}

/// The sources of one reduction, each with an alignment of its own.
struct Sources {
  std::vector<Buffer> buffers;
  std::vector<std::size_t> offsets;

  Sources(DataType type, std::size_t number, std::size_t count, std::mt19937_64& random) {
    for (std::size_t i = 0; i < number; ++i) {
      offsets.push_back(random() % 8 == 0 ? 0 : random() % 67);
      buffers.push_back(make_elements(type, count, offsets.back(), random));
    }
  }
  std::byte* at(std::size_t i) { return buffers[i].data() + offsets[i]; }
  std::vector<const std::byte*> pointers() {
    std::vector<const std::byte*> all;
    for (std::size_t i = 0; i < buffers.size(); ++i) all.push_back(at(i));
    return all;
  }
};

/// A destination with guard bytes on both sides.
struct Guarded {
  static constexpr std::size_t guard = 64;
  Buffer bytes;
  std::size_t begin;
  std::size_t size;

  Guarded(std::size_t result_size, std::size_t offset)
      : bytes(guard + offset + result_size + guard, std::byte{0xa5}),
        begin(guard + offset),
        size(result_size) {}
  std::byte* data() { return bytes.data() + begin; }
  [[nodiscard]] bool is_untouched_around() const {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if ((i < begin || i >= begin + size) && bytes[i] != std::byte{0xa5}) return false;
    return true;
  }
  [[nodiscard]] bool holds(const Buffer& expected) const {
    return size == 0 || std::memcmp(bytes.data() + begin, expected.data(), size) == 0;
  }
};

std::string describe(const Isa& isa, const Reduction& reduction, std::size_t count,
                     std::size_t sources) {
  return std::string(isa.name) + " " + std::string(name_of(reduction.type)) + " " +
         std::string(name_of(reduction.op)) + " of " + std::to_string(sources) + " sources, " +
         std::to_string(count) + " elements, " + std::to_string(reduction.ranks) + " ranks";
}

Buffer reduce_by_scalars(std::span<const std::byte* const> sources, std::size_t count,
                         const Reduction& reduction) {
  Buffer result(count * size_of(reduction.type) + 1);  // never null
  reduce_in_rank_order(scalar_isa, sources, {.data = result.data()}, {}, count, reduction);
  result.pop_back();
  return result;
}

template <class Act>
void for_each_type_and_op(Act&& act) {
  for (const auto& type : enum_names(DataType{}))
    for (const auto& op : enum_names(ReduceOp{}))
      if (op.value != ReduceOp::none) act(type.value, op.value);
}

/// One reduction, by every instruction set and into both kinds of destination, against the scalars.
void check_reduction(const Reduction& reduction, std::size_t number, std::size_t count,
                     std::mt19937_64& random) {
  Sources sources(reduction.type, number, count, random);
  const auto pointers = sources.pointers();
  const Buffer expected = reduce_by_scalars(pointers, count, reduction);
  for_each_supported_isa([&](const Isa& isa) {
    for (const CopyMode mode : {CopyMode::cached, CopyMode::non_temporal}) {
      Guarded first(expected.size(), random() % 3 == 0 ? 0 : random() % 67);
      Guarded second(expected.size(), random() % 3 == 0 ? 0 : random() % 67);
      reduce_in_rank_order(isa, pointers, {first.data(), mode}, {second.data(), mode}, count,
                           reduction);
      fence_non_temporal_stores();
      ASSERT_TRUE(first.holds(expected)) << describe(isa, reduction, count, number);
      ASSERT_TRUE(second.holds(expected)) << describe(isa, reduction, count, number);
      ASSERT_TRUE(first.is_untouched_around()) << describe(isa, reduction, count, number);
      ASSERT_TRUE(second.is_untouched_around()) << describe(isa, reduction, count, number);
    }
  });
}

TEST(ReductionIsa, TheScalarOneIsAlwaysThereAndNoneIsTakenThatTheProcessorLacks) {
  const auto supported = supported_isas();
  ASSERT_FALSE(supported.empty());
  EXPECT_EQ(supported.front(), &scalar_isa);
  const auto names = isa_names();
  for (const Isa* isa : supported)
    for (const char* need : isa->needs)
      EXPECT_TRUE(need == nullptr || std::ranges::find(names, need) != names.end()) << need;
  for (std::size_t i = 1; i < supported.size(); ++i)
    EXPECT_LE(supported[i - 1]->vector_bytes, supported[i]->vector_bytes);
}

/// Whoever emulates a processor says which instruction set it is to offer, so that nothing passes
/// because it was left out.
TEST(IsaNames, ReachAsFarAsIsSaid) {
  const char* widest = std::getenv("COLLTUNE_TEST_WIDEST_ISA");
  if (widest == nullptr) GTEST_SKIP() << "COLLTUNE_TEST_WIDEST_ISA names none";
  EXPECT_STREQ(supported_isas().back()->name, widest);
}

TEST(IsaNames, AreWithoutThoseThatTheProcessIsToDoWithout) {
  ASSERT_EQ(std::getenv(hidden_isas), nullptr);
  const std::vector<std::string> offered = offered_isa_names();
  EXPECT_EQ(isa_names(), offered);
  const std::string architecture = cpu_architecture();
  if (!offered.empty()) {
    const std::string widest = offered.back().substr(0, 4);
    ::setenv(hidden_isas, widest.c_str(), 1);
    std::vector<std::string> rest = offered;
    std::erase_if(rest, [&](const auto& name) { return name.starts_with(widest); });
    EXPECT_EQ(isa_names(), rest);
    std::string everything;
    for (const auto& name : offered) everything += name + ",";
    ::setenv(hidden_isas, everything.c_str(), 1);
    EXPECT_TRUE(isa_names().empty());
    EXPECT_EQ(cpu_architecture().find('-'), std::string::npos) << cpu_architecture();
  }
  ::setenv(hidden_isas, "altivec", 1);
  try {
    (void)isa_names();
    ADD_FAILURE() << "an unknown name was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    const std::string message = error.what();
    EXPECT_NE(message.find("'altivec'"), std::string::npos) << message;
    for (const auto& name : offered) EXPECT_NE(message.find(name), std::string::npos) << message;
  }
  ::unsetenv(hidden_isas);
  EXPECT_EQ(cpu_architecture(), architecture);
}

TEST(ReductionIsa, EveryCountAtAnyAlignment) {
  std::mt19937_64 random(1);
  for_each_type_and_op([&](DataType type, ReduceOp op) {
    for (std::size_t count = 0; count <= 130; ++count) {
      const std::size_t number = 1 + random() % 9;
      check_reduction({type, op, static_cast<int>(number)}, number, count, random);
    }
  });
}

TEST(ReductionIsa, EveryNumberOfSourcesAndLargeCounts) {
  std::mt19937_64 random(2);
  for_each_type_and_op([&](DataType type, ReduceOp op) {
    for (std::size_t number = 1; number <= 9; ++number)
      check_reduction({type, op, static_cast<int>(number)}, number, 4096 + random() % 2048, random);
  });
}

TEST(ReductionIsa, AveragesOverAnyNumberOfRanks) {
  std::mt19937_64 random(3);
  for (const auto& type : enum_names(DataType{}))
    for (const int ranks : {1, 2, 3, 64, 100, 127, 128, 129, 256, 300, 1 << 15, 1 << 20, 1 << 30,
                            std::numeric_limits<int>::max()})
      check_reduction({type.value, ReduceOp::avg, ranks}, 2, 300, random);
}

TEST(ReductionIsa, TheDestinationsMayBeSources) {
  std::mt19937_64 random(4);
  for_each_type_and_op([&](DataType type, ReduceOp op) {
    for (const std::size_t number : {1U, 2U, 3U, 5U})
      for (const std::size_t count : {1U, 2U, 4U, 7U, 8U, 16U, 130U, 5003U}) {
        Sources sources(type, number, count, random);
        const Reduction reduction{type, op, 3};
        const Buffer expected = reduce_by_scalars(sources.pointers(), count, reduction);
        for_each_supported_isa([&](const Isa& isa) {
          for (std::size_t i = 0; i < number; ++i) {
            Sources own = sources;
            const bool twice = number > 1;
            reduce_in_rank_order(isa, own.pointers(), {own.at(i), CopyMode::cached},
                                 {twice ? own.at((i + 1) % number) : nullptr, CopyMode::cached},
                                 count, reduction);
            ASSERT_EQ(std::memcmp(own.at(i), expected.data(), expected.size()), 0)
                << describe(isa, reduction, count, number) << " into source " << i;
            ASSERT_EQ(
                std::memcmp(own.at(twice ? (i + 1) % number : i), expected.data(), expected.size()),
                0)
                << describe(isa, reduction, count, number) << " into the one after source " << i;
          }
        });
      }
  });
}

/// All patterns of a narrow type, `repeats` times.
template <class T>
std::vector<T> all_patterns(std::size_t repeats) {
  constexpr std::size_t patterns = std::size_t{1} << (8 * sizeof(T));
  std::vector<T> all(patterns * repeats);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].bits = static_cast<decltype(T{}.bits)>(i % patterns);
  return all;
}

/// Every pattern of T with every one of `partners`, by every op.
template <class T>
void check_patterns(DataType type, const std::vector<T>& partners) {
  const std::vector<T> all = all_patterns<T>(1);
  std::vector<T> partner(all.size());
  const std::array sources{reinterpret_cast<const std::byte*>(all.data()),
                           reinterpret_cast<const std::byte*>(partner.data())};
  for (const T& with : partners) {
    std::fill(partner.begin(), partner.end(), with);
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg}) {
      const Reduction reduction{type, op, 3};
      const Buffer expected = reduce_by_scalars(sources, all.size(), reduction);
      for_each_supported_isa([&](const Isa& isa) {
        Guarded result(expected.size(), 0);
        reduce_in_rank_order(isa, sources, {result.data(), CopyMode::cached}, {}, all.size(),
                             reduction);
        ASSERT_TRUE(result.holds(expected))
            << isa.name << " " << name_of(type) << " " << name_of(op) << " with " << with.bits;
      });
    }
  }
}

TEST(ReductionIsa, EveryPairOfFloat8) {
  check_patterns(DataType::f8e4m3, all_patterns<Float8E4M3>(1));
  check_patterns(DataType::f8e5m2, all_patterns<Float8E5M2>(1));
}

template <class T>
std::vector<T> chosen_partners() {
  std::vector<T> partners;
  std::mt19937 random(5);
  // Zero, subnormals, around one, infinity and NaN, of both signs; then any.
  for (const unsigned bits :
       {0x0000U, 0x0001U, 0x0003U, 0x03ffU, 0x3bffU, 0x3c01U, 0x3f80U, 0x3f81U, 0x7bffU, 0x7c00U,
        0x7c01U, 0x7e00U, 0x7f7fU, 0x7f80U, 0x7f81U, 0x7fc0U})
    for (const unsigned sign : {0U, 0x8000U})
      partners.push_back({static_cast<std::uint16_t>(bits | sign)});
  for (int i = 0; i < 32; ++i) partners.push_back({static_cast<std::uint16_t>(random())});
  return partners;
}

TEST(ReductionIsa, EveryPatternOfSixteenBitsWithChosenPartners) {
  check_patterns(DataType::f16, chosen_partners<Float16>());
  check_patterns(DataType::bf16, chosen_partners<BFloat16>());
}

/// Minimum and maximum of one source: the way to float and back, and nothing else.
template <class T>
void check_way_to_float_and_back(DataType type) {
  const std::vector<T> all = all_patterns<T>(1);
  const std::array source{reinterpret_cast<const std::byte*>(all.data())};
  for_each_supported_isa([&](const Isa& isa) {
    std::vector<T> result(all.size());
    reduce_in_rank_order(isa, source, {reinterpret_cast<std::byte*>(result.data())}, {}, all.size(),
                         {type, ReduceOp::min, 1});
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(result[i].bits, round_to<T>(to_float(all[i])).bits)
          << isa.name << " " << name_of(type) << " " << all[i].bits;
  });
}

TEST(ReductionIsa, EveryPatternGoesToFloatAndBackAsItsFormatSays) {
  check_way_to_float_and_back<Float16>(DataType::f16);
  check_way_to_float_and_back<BFloat16>(DataType::bf16);
  check_way_to_float_and_back<Float8E4M3>(DataType::f8e4m3);
  check_way_to_float_and_back<Float8E5M2>(DataType::f8e5m2);
}

template <class T>
T reduce_pair(const Isa& isa, T a, T b, DataType type, ReduceOp op) {
  const std::array sources{reinterpret_cast<const std::byte*>(&a),
                           reinterpret_cast<const std::byte*>(&b)};
  T result{};
  reduce_in_rank_order(isa, sources, {reinterpret_cast<std::byte*>(&result)}, {}, 1, {type, op, 2});
  return result;
}

TEST(ReductionIsa, ExtremaKeepTheFirstOfEqualsAndTheFirstSourcesNaN) {
  for_each_supported_isa([](const Isa& isa) {
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      EXPECT_TRUE(std::signbit(reduce_pair(isa, -0.0F, 0.0F, DataType::f32, op))) << isa.name;
      EXPECT_FALSE(std::signbit(reduce_pair(isa, 0.0F, -0.0F, DataType::f32, op))) << isa.name;
      const auto nan = std::bit_cast<float>(0xff812345U);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(reduce_pair(isa, nan, 1.0F, DataType::f32, op)),
                0xff812345U)
          << isa.name;
      EXPECT_EQ(reduce_pair(isa, 1.0F, nan, DataType::f32, op), 1.0F) << isa.name;
      EXPECT_EQ(reduce_pair(isa, Float16{0xfc01}, Float16{0x3c00}, DataType::f16, op).bits, 0xfe00)
          << isa.name;
      EXPECT_EQ(reduce_pair(isa, BFloat16{0xff81}, BFloat16{0}, DataType::bf16, op).bits, 0xffc1)
          << isa.name;
    }
  });
}

TEST(ReductionIsa, SumsWriteOneNaN) {
  const auto negative = std::bit_cast<float>(0xffc12345U);
  const auto payload = std::bit_cast<float>(0x7fa00001U);
  const float infinity = std::numeric_limits<float>::infinity();
  for_each_supported_isa([&](const Isa& isa) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::avg})
      for (const auto& [a, b] : {std::pair{negative, payload}, {payload, negative}, {1, negative}})
        EXPECT_EQ(std::bit_cast<std::uint32_t>(reduce_pair(isa, a, b, DataType::f32, op)),
                  0x7fc00000U)
            << isa.name;
    const float made = reduce_pair(isa, infinity, -infinity, DataType::f32, ReduceOp::sum);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(made), 0x7fc00000U) << isa.name;
    const double wide = reduce_pair(isa, -std::numeric_limits<double>::quiet_NaN(), 1.0,
                                    DataType::f64, ReduceOp::sum);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(wide), 0x7ff8000000000000U) << isa.name;
    EXPECT_EQ(reduce_pair(isa, Float16{0xfe00}, Float16{0}, DataType::f16, ReduceOp::sum).bits,
              0x7e00)
        << isa.name;
  });
}

TEST(Reduction, TwoAndThreeSourcesHaveShortForms) {
  const std::array<float, 3> a{1, 2, 3};
  const std::array<float, 3> b{10, 20, 30};
  const std::array<float, 3> c{100, 200, 300};
  std::array<float, 3> result{};
  const auto bytes = [](const auto& values) {
    return reinterpret_cast<const std::byte*>(values.data());
  };
  const Destination destination{reinterpret_cast<std::byte*>(result.data()), CopyMode::cached};
  reduce_two(bytes(a), bytes(b), destination, 3, {DataType::f32, ReduceOp::sum, 2});
  EXPECT_EQ(result, (std::array<float, 3>{11, 22, 33}));
  reduce_three(bytes(a), bytes(b), bytes(c), destination, 3, {DataType::f32, ReduceOp::sum, 3});
  EXPECT_EQ(result, (std::array<float, 3>{111, 222, 333}));
}

TEST(Reduction, RefusesAnAverageOverNoRanks) {
  float one = 1;
  auto* const data = reinterpret_cast<std::byte*>(&one);
  EXPECT_THROW(divide_by_ranks(data, 1, DataType::f32, 0), Error);
}

}  // namespace
}  // namespace colltune
