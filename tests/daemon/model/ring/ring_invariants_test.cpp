// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What holds for every input: of a million random ones for each rule set, and around powers of two.

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <sstream>

#include "colltune/model/ring/ring_parameters.h"

namespace colltune {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;

/// The largest number of ranks for which chunks cannot fall below 16 bytes, and the least
/// bandwidth-delay product: those that torchcomms' own tests sweep over.
constexpr std::uint64_t usual_ranks = 128;
constexpr std::uint64_t usual_bdp = 256 * kib;

struct Input {
  RingSetting setting;
  std::uint64_t message = 0;

  [[nodiscard]] bool sets_buffer() const {
    return setting.overrides.chunk_bytes > 0 || setting.overrides.chunks > 0;
  }
  [[nodiscard]] bool is_usual() const {
    const RingOverrides& overrides = setting.overrides;
    return !sets_buffer() && overrides.staging_bytes == 0 && setting.ranks <= usual_ranks &&
           (overrides.max_bdp_bytes == 0 ||
            overrides.max_bdp_bytes >= static_cast<std::int64_t>(usual_bdp));
  }
};

std::string print(const Input& input) {
  std::ostringstream text;
  text << name_of(input.setting.rules) << ' ' << name_of(input.setting.architecture) << ", "
       << input.setting.ranks << " ranks, " << input.message << " bytes of "
       << input.setting.element_bytes;
  for (const std::string& one : ring_assignments(input.setting.overrides)) text << ' ' << one;
  return text.str();
}

/// Empty, or what of the invariants does not hold.
std::string broken(const Input& input) {
  const RingSetting& setting = input.setting;
  const std::optional<RingParameters> found = ring_parameters(setting, {input.message});
  if (!found) return "untuned";
  const RingParameters& got = *found;
  const std::uint64_t chunk = got.chunk.value;
  if (chunk == 0 || got.chunks == 0 || got.blocks == 0 || got.threads == 0) return "a zero";
  const std::uint64_t staging =
      ring_staging_size(setting.rules, setting.architecture, setting.overrides).value;
  if (chunk > staging / got.chunks) return "more than is allocated";
  const std::uint64_t max_bdp = setting.overrides.max_bdp_bytes > 0
                                    ? static_cast<std::uint64_t>(setting.overrides.max_bdp_bytes)
                                : setting.architecture == RingArchitecture::hopper ? 32 * mib
                                                                                   : 128 * mib;
  const bool has_room = max_bdp >= setting.element_bytes;
  if (!input.sets_buffer() && has_room && chunk > max_bdp / got.chunks)
    return "more than the bandwidth-delay product";
  if (setting.rules != RingRules::v1 && chunk % setting.element_bytes != 0)
    return "not aligned to elements";
  const bool cuts_evenly = setting.rules == RingRules::v3 ||
                           (setting.rules == RingRules::v2 && std::has_single_bit(setting.ranks));
  if (input.is_usual() && cuts_evenly && input.message >= setting.ranks * 16 && chunk % 16 != 0)
    return "not aligned to 16 bytes";
  if (input.is_usual() && setting.rules != RingRules::v2 && got.is_limited)
    return "limited without need";
  if (setting.overrides.blocks == 0 && got.blocks > std::min<std::uint64_t>(8, setting.max_blocks))
    return "too many blocks";
  if (got.threads > setting.max_threads) return "too many threads";
  if (ring_parameters(setting, {nearest_power_of_two(input.message)}) != found)
    return "not as its nearest power of two";
  return {};
}

class RandomInputs {
 public:
  explicit RandomInputs(RingRules rules) : rules_(rules), random_(static_cast<unsigned>(rules)) {}

  Input next() {
    Input input{.setting = {.rules = rules_,
                            .architecture = one_in(2) ? RingArchitecture::hopper
                                                      : RingArchitecture::default_values,
                            .ranks = one_in(8) ? 1 + below(100'000) : 1 + below(usual_ranks),
                            .max_blocks = 1 + below(128),
                            .max_threads = 32 * (1 + below(32)),
                            .element_bytes = std::uint64_t{1} << below(5),
                            .queue_pairs = below(32),
                            .devices_of_rank = below(4)},
                .message = log_uniform(64 * gib)};
    RingOverrides& overrides = input.setting.overrides;
    if (one_in(2)) return input;
    if (one_in(3)) overrides.chunk_bytes = signed_of(log_uniform(gib));
    if (one_in(3)) overrides.chunks = signed_of(log_uniform(10'000));
    if (one_in(3)) overrides.max_bdp_bytes = signed_of(log_uniform(gib));
    if (one_in(3)) overrides.staging_bytes = signed_of(log_uniform(gib));
    if (one_in(4)) overrides.max_blocks = signed_of(1 + below(64));
    if (one_in(4))
      overrides.blocks = signed_of(1 + below(overrides.max_blocks > 0
                                                 ? static_cast<std::uint64_t>(overrides.max_blocks)
                                                 : 64));
    if (one_in(4)) overrides.threads = signed_of(1 + below(input.setting.max_threads));
    if (one_in(4)) overrides.large_chunk_ranks = signed_of(below(200));
    if (one_in(4)) overrides.qp_threshold_min = signed_of(below(mib)) - 1;
    if (one_in(4)) overrides.qp_threshold_max = signed_of(below(mib)) - 1;
    return input;
  }

 private:
  static std::int64_t signed_of(std::uint64_t value) { return static_cast<std::int64_t>(value); }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool one_in(std::uint64_t number) { return below(number) == 0; }
  /// From 0 to `most`, each power of two as often as the others.
  std::uint64_t log_uniform(std::uint64_t most) {
    const auto bits = static_cast<std::uint64_t>(std::bit_width(most));
    const std::uint64_t mask = (std::uint64_t{2} << below(bits)) - 1;
    return std::min(random_() & mask, most);
  }

  RingRules rules_;
  std::mt19937_64 random_;
};

class RingInvariants : public ::testing::TestWithParam<RingRules> {};

TEST_P(RingInvariants, HoldForAMillionRandomInputs) {
  RandomInputs inputs(GetParam());
  int limited = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const Input input = inputs.next();
    const std::string why = broken(input);
    ASSERT_EQ(why, "") << print(input);
    if (i % 100 == 0 && ring_parameters(input.setting, {input.message})->is_limited) ++limited;
  }
  EXPECT_GT(limited, 0);  // or the limit was never put to the test
}

TEST_P(RingInvariants, HoldAroundPowersOfTwo) {
  for (const RingArchitecture architecture :
       {RingArchitecture::default_values, RingArchitecture::hopper})
    for (const std::uint64_t ranks : {2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128})
      for (std::uint64_t bdp = usual_bdp; bdp <= 128 * mib; bdp *= 2)
        for (std::uint64_t base = 1; base <= 64 * gib; base *= 2)
          for (const std::uint64_t message : {base, base + 1, base + base / 2 - 1, base + base / 2,
                                              base + base / 2 + 1, 2 * base - 1, 2 * base}) {
            Input input{
                .setting = {.rules = GetParam(), .architecture = architecture, .ranks = ranks},
                .message = message};
            input.setting.overrides.max_bdp_bytes = static_cast<std::int64_t>(bdp);
            ASSERT_EQ(broken(input), "") << print(input);
          }
}

TEST_P(RingInvariants, ALargerChunkNeverHasFewerBlocks) {
  for (const RingArchitecture architecture :
       {RingArchitecture::default_values, RingArchitecture::hopper}) {
    std::uint64_t before = 0;
    for (std::uint64_t chunk = 4; chunk <= 16 * mib; chunk *= 2) {
      RingSetting setting{.rules = GetParam(), .architecture = architecture, .ranks = 8};
      setting.overrides.chunk_bytes = static_cast<std::int64_t>(chunk);
      const std::uint64_t blocks = ring_parameters(setting, {mib})->blocks;
      EXPECT_GE(blocks, before) << chunk;
      before = blocks;
    }
    EXPECT_EQ(before, architecture == RingArchitecture::hopper ? 4U : 8U);
  }
}

INSTANTIATE_TEST_SUITE_P(AllRules, RingInvariants,
                         ::testing::Values(RingRules::v1, RingRules::v2, RingRules::v3),
                         [](const auto& one) { return std::string(name_of(one.param)); });

}  // namespace
}  // namespace colltune
