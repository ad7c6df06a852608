// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "tuner_context.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "colltune/nccl/choice.h"

namespace colltune::nccl {
namespace {

// They are bits of colltune_nccl_call::available.
static_assert(algorithm_count * protocol_count <= 64);

/// Asks NCCL for one entry by making all other available ones too expensive. Returns false and
/// leaves the table unchanged if NCCL could not choose the entry: an algorithm that is not
/// connected would hang.
bool choose(CostTable table, int algorithm, int protocol, float cost) noexcept {
  if (algorithm < 0 || algorithm >= table.algorithms || protocol < 0 || protocol >= table.protocols)
    return false;
  float* const entry = table.costs + algorithm * table.protocols + protocol;
  if (!(*entry >= 0)) return false;
  const auto avoid_all = [&](int entries) {
    for (int at = 0; at < entries; ++at)
      table.costs[at] = table.costs[at] >= 0 ? cost_avoided : table.costs[at];
  };
  // The usual size is a compile-time constant, so the compiler needs no loop.
  constexpr int usual = algorithm_count * protocol_count;
  if (const int entries = table.algorithms * table.protocols; entries == usual)
    avoid_all(usual);
  else
    avoid_all(entries);
  *entry = cost;
  return true;
}

/// Clamped as NCCL would. CollNet's number is not compared with what the communicator has.
void ask_for_channels(int wanted, int algorithm, int* channels) noexcept {
  if (wanted <= 0 || channels == nullptr ||
      takes_channels_on_trust(static_cast<Algorithm>(algorithm)))
    return;
  *channels = std::min(wanted, most_channels);
}

struct Entry {
  int algorithm = -1;
  int protocol = -1;
};

/// The entry that NCCL takes from a table: the cheapest; among equals the first up to 2.30, the
/// last in later versions. This library writes no negative cost unless NCCL had another one. So
/// under both rules NCCL can choose exactly the entries that are not negative.
Entry cheapest(CostTable table, bool is_plain_minimum) noexcept {
  Entry best;
  float least = 0;
  for (int algorithm = 0; algorithm < table.algorithms; ++algorithm)
    for (int protocol = 0; protocol < table.protocols; ++protocol) {
      const float cost = table.costs[algorithm * table.protocols + protocol];
      if (!(cost >= 0)) continue;
      if (best.algorithm < 0 || cost < least || (is_plain_minimum && cost == least)) {
        best = {algorithm, protocol};
        least = cost;
      }
    }
  return best;
}

std::uint64_t available_entries(CostTable table) noexcept {
  std::uint64_t bits = 0;
  const int algorithms = std::min(table.algorithms, algorithm_count);
  const int protocols = std::min(table.protocols, protocol_count);
  for (int algorithm = 0; algorithm < algorithms; ++algorithm)
    for (int protocol = 0; protocol < protocols; ++protocol)
      if (table.costs[algorithm * table.protocols + protocol] >= 0)
        bits |= std::uint64_t{1} << (algorithm * protocol_count + protocol);
  return bits;
}

bool is_same(const colltune_nccl_force& one, const colltune_nccl_force& other) noexcept {
  return one.id == other.id && one.functions == other.functions &&
         one.algorithm == other.algorithm && one.protocol == other.protocol &&
         one.channels == other.channels && one.time_us == other.time_us;
}

}  // namespace

TunerContext::~TunerContext() {
  while (forces_ != nullptr) delete std::exchange(forces_, forces_->older);
}

void TunerContext::decide(const AskedCall& call, CostTable table, int* channels) noexcept {
  const Force* const force = force_.load(std::memory_order_acquire);
  if (!is_observed_.load(std::memory_order_relaxed)) {
    apply(call, table, channels, force);
    return;
  }
  const std::uint64_t available = available_entries(table);
  // From 2.31 on NCCL also asks about kernels for symmetric windows, which are not in the table. In
  // that case the answer does not matter, and the call tells nothing about what is available.
  if (available == 0 && call.pipe_operations == 0) return;
  const bool is_plain_minimum = facts.nccl_version >= first_plain_minimum;
  const Entry own = cheapest(table, is_plain_minimum);
  colltune_nccl_call seen{.bytes = call.bytes,
                          .available = available,
                          .force_id = force == nullptr ? 0 : force->wanted.id,
                          .function = call.function,
                          .pipe_operations = call.pipe_operations,
                          .registered = call.registered,
                          .own_algorithm = own.algorithm,
                          .own_protocol = own.protocol};
  seen.outcome = apply(call, table, channels, force);
  const Entry left = cheapest(table, is_plain_minimum);
  seen.algorithm = left.algorithm;
  seen.protocol = left.protocol;
  seen.channels = channels == nullptr ? 0 : *channels;
  seen.channels_are = seen.channels == 0                            ? colltune_nccl_channels_own
                      : takes_channels_as_limit(facts.nccl_version) ? colltune_nccl_channels_most
                                                                    : colltune_nccl_channels_asked;
  record(seen);
}

std::int32_t TunerContext::apply(const AskedCall& call, CostTable table, int* channels,
                                 const Force* force) const noexcept {
  if (force != nullptr) {
    const colltune_nccl_force& wanted = force->wanted;
    const bool is_meant = call.function >= 0 && call.function < function_count &&
                          (wanted.functions >> call.function & 1U) != 0;
    if (!is_meant || wanted.algorithm < 0) return colltune_nccl_left;
    if (!choose(table, wanted.algorithm, wanted.protocol, wanted.time_us))
      return colltune_nccl_force_unavailable;
    ask_for_channels(wanted.channels, wanted.algorithm, channels);
    return colltune_nccl_forced;
  }
  const RuleIndex::Answer* const rule = rules.find(call);
  if (rule == nullptr) return colltune_nccl_left;
  if (!choose(table, rule->algorithm, rule->protocol, rule->time_us))
    return colltune_nccl_rule_unavailable;
  ask_for_channels(rule->channels, rule->algorithm, channels);
  return colltune_nccl_ruled;
}

bool TunerContext::set_force(const colltune_nccl_force* force) noexcept {
  if (force == nullptr) {
    force_.store(nullptr, std::memory_order_release);
    return true;
  }
  // A caller that alternates between a few forces, as sweeps do, allocates and fills no memory.
  Force* found = forces_;
  while (found != nullptr && !is_same(found->wanted, *force)) found = found->older;
  if (found == nullptr) {
    found = new (std::nothrow) Force{*force, forces_};
    if (found == nullptr) return false;
    forces_ = found;
  }
  force_.store(found, std::memory_order_release);
  return true;
}

const colltune_nccl_force* TunerContext::force() const noexcept {
  const Force* const force = force_.load(std::memory_order_acquire);
  return force == nullptr ? nullptr : &force->wanted;
}

void TunerContext::observe(bool is_on) noexcept {
  is_observed_.store(is_on, std::memory_order_relaxed);
}

void TunerContext::record(const colltune_nccl_call& call) noexcept {
  // There is one writer. Each word is stored with release order, so that a reader that sees a new
  // word also sees the odd turn before it.
  const std::uint64_t turn = turn_.load(std::memory_order_relaxed);
  colltune_nccl_call counted = call;
  counted.count = turn / 2 + 1;
  const auto words = std::bit_cast<std::array<std::uint64_t, call_words>>(counted);
  turn_.store(turn + 1, std::memory_order_relaxed);
  for (std::size_t word = 0; word < call_words; ++word)
    last_call_[word].store(words[word], std::memory_order_release);
  turn_.store(turn + 2, std::memory_order_release);
}

bool TunerContext::read_last_call(colltune_nccl_call& into) const noexcept {
  // A writer takes nanoseconds. A reader that meets one a thousand times meets a new one each time,
  // and may report that there is nothing yet.
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::uint64_t before = turn_.load(std::memory_order_acquire);
    if (before == 0) return false;
    std::array<std::uint64_t, call_words> words{};
    for (std::size_t word = 0; word < call_words; ++word)
      words[word] = last_call_[word].load(std::memory_order_acquire);
    if (before % 2 == 0 && turn_.load(std::memory_order_relaxed) == before) {
      into = std::bit_cast<colltune_nccl_call>(words);
      return true;
    }
  }
  return false;
}

}  // namespace colltune::nccl
