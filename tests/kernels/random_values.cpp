// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "random_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "colltune/kernels/arithmetic/number_format.h"
#include "colltune/kernels/arithmetic/reduction.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

/// Of unlike magnitudes, so that sums in unlike orders are unlike; products of eight stay normal.
template <class T, class Convert>
void fill_with(std::mt19937_64& random, std::span<std::byte> bytes, Convert convert) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    const std::uint64_t bits = random();
    const double mantissa = 1 + std::ldexp(static_cast<double>(bits >> 12), -52);
    const double value =
        std::ldexp(bits % 2 == 0 ? mantissa : -mantissa, static_cast<int>(bits / 2 % 3) - 1);
    const T element = convert(value);
    std::memcpy(bytes.data() + at, &element, sizeof element);
  }
}

bool gives_all_the_same(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::broadcast;
}

bool are_alike_on_all_ranks(Communicator& communicator, std::span<const std::byte> received) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const std::byte byte : received)
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  const auto own = static_cast<std::int64_t>(hash >> 1);
  const std::int64_t largest = communicator.all_reduce_max(own, soon_enough());
  return -communicator.all_reduce_max(-own, soon_enough()) == largest;
}

std::vector<std::byte> reduce_all_inputs(const RandomCall& call, int rank, std::size_t size) {
  const bool scatters = call.problem.collective == Collective::reduce_scatter;
  const std::size_t first = scatters ? static_cast<std::size_t>(rank) * size : 0;
  std::vector<std::vector<std::byte>> inputs;
  std::vector<const std::byte*> sources;
  for (int source = 0; source < call.ranks; ++source) {
    inputs.emplace_back(send_size(call.problem, call.ranks).value);
    fill_random(call, source, inputs.back());
    sources.push_back(inputs.back().data() + first);
  }
  std::vector<std::byte> result(size);
  reduce_in_rank_order(sources, result.data(), size / size_of(call.problem.data_type),
                       {call.problem.data_type, call.problem.reduce_op, call.ranks});
  return result;
}

}  // namespace

void fill_random(const RandomCall& call, int rank, std::span<std::byte> send) {
  std::mt19937_64 random(call.seed * 1009 + static_cast<std::uint64_t>(rank));
  switch (call.problem.data_type) {
    case DataType::f64:
      return fill_with<double>(random, send, [](double value) { return value; });
    case DataType::f32:
      return fill_with<float>(random, send, [](double value) { return static_cast<float>(value); });
    case DataType::f16:
      return fill_with<Float16>(
          random, send, [](double value) { return round_to<Float16>(static_cast<float>(value)); });
    case DataType::bf16:
      return fill_with<BFloat16>(
          random, send, [](double value) { return round_to<BFloat16>(static_cast<float>(value)); });
    case DataType::i8:
    case DataType::u8:
    case DataType::i32:
    case DataType::u32:
    case DataType::i64:
    case DataType::u64:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      break;
  }
  throw Error(StatusCode::internal,
              "no random values are made of " + std::string(name_of(call.problem.data_type)));
}

std::string find_broken_promise(Communicator& communicator, const RandomCall& call,
                                NumericClass promised, std::span<const std::byte> received) {
  if (promised == NumericClass::any) return {};
  const Collective collective = call.problem.collective;
  if (gives_all_the_same(collective) && !are_alike_on_all_ranks(communicator, received))
    return "the ranks hold unlike bits";
  if (promised != NumericClass::rank_order || !shape_of(collective).reduces || received.empty())
    return {};
  const std::vector<std::byte> expected =
      reduce_all_inputs(call, communicator.rank(), received.size());
  const auto [wrong, _] = std::ranges::mismatch(expected, received);
  if (wrong == expected.end()) return {};
  const auto at = static_cast<std::size_t>(wrong - expected.begin());
  return "element " + std::to_string(at / size_of(call.problem.data_type)) +
         " is not what rank order gives";
}

}  // namespace colltune::test
