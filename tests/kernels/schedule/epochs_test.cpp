// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What vector bodies store, past the caches or through them, is there when a signal says so: by
// value, since ThreadSanitizer sees neither.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "arithmetic/isa/isa.h"
#include "colltune/kernels/communication/bounded_wait.h"
#include "colltune/kernels/communication/signals.h"
#include "support/full_run.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

// Of each instruction set, half of them by each way to store; the sanitizers make each some twenty
// times as long.
std::uint64_t number_of_epochs() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 10'000;
#else
  return is_full_run() ? 1'000'000 : 100'000;
#endif
}
// Passed half-way.
constexpr std::uint64_t end_of_32_bits = std::uint64_t{1} << 32;
// Five cache lines: vectors of each width, none left over.
constexpr std::size_t elements = 80;
using Block = std::array<float, elements>;

/// Exact, and so are sums of two; neighbouring epochs, ranks and elements differ.
Block block_of(std::uint64_t epoch, int rank) {
  Block block;
  const auto first = static_cast<float>((2 * epoch + static_cast<unsigned>(rank)) % (1U << 20));
  for (std::size_t i = 0; i < elements; ++i) block[i] = first + static_cast<float>(4 * i);
  return block;
}

Block sum_of(const Block& a, const Block& b) {
  Block sum;
  for (std::size_t i = 0; i < elements; ++i) sum[i] = a[i] + b[i];
  return sum;
}

const std::byte* bytes(const Block& block) {
  return reinterpret_cast<const std::byte*>(block.data());
}
std::byte* bytes(Block& block) { return reinterpret_cast<std::byte*>(block.data()); }

/// Two ranks that each write a block per epoch into one of two slots, in turn, and read the peer's.
/// Copies and sums take turns at writing and at reading.
class Exchange {
 public:
  Exchange(Communicator& communicator, const Isa& isa, CopyMode mode)
      : rank_(communicator.rank()),
        isa_(isa),
        mode_(mode),
        memory_(communicator.allocate({slots * sizeof(Block) + Signals::size(1)}, soon_enough())),
        signals_(communicator, *memory_, slots * sizeof(Block), mode),
        abort_flag_(communicator.abort_flag()) {}

  /// Returns how many blocks were not as written.
  std::uint64_t run(std::uint64_t first, std::uint64_t count) {
    std::uint64_t wrong = 0;
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::minutes(3);
    for (std::uint64_t epoch = first; epoch < first + count; ++epoch) {
      const Block own = block_of(epoch, rank_);
      const Block peer = block_of(epoch, 1 - rank_);
      // A peer that has signalled this epoch has read the one before last, which lay here.
      std::byte* const to = slot(rank_, epoch);
      if (epoch % 2 == 0)
        isa_.copy(to, bytes(own), sizeof own, mode_);
      else
        add(own, {to, mode_}, bytes(own));
      signals_.set(0, epoch);
      // Not wait_until: where others use the cores too, who spins may wait for who cannot run.
      BoundedWait wait(deadline, abort_flag_, true);
      while (signals_.get(1 - rank_, 0) < epoch) wait.step(1 - rank_, "the epoch");
      const std::byte* const from = slot(1 - rank_, epoch);
      Block got{};
      if (epoch % 2 == 0)
        add(own, {bytes(got), CopyMode::cached}, from);
      else
        isa_.copy(bytes(got), from, sizeof got, CopyMode::cached);
      const Block expected = epoch % 2 == 0 ? sum_of(own, peer) : sum_of(peer, peer);
      if (got != expected) ++wrong;
    }
    return wrong;
  }

 private:
  static constexpr std::size_t slots = 2;
  static_assert(slots * sizeof(Block) % Signals::stride == 0);

  [[nodiscard]] std::byte* slot(int rank, std::uint64_t epoch) const {
    return memory_->part(rank).data() + epoch % slots * sizeof(Block);
  }
  void add(const Block& own, const Destination& to, const std::byte* other) const {
    const std::array sources{bytes(own), other};
    reduce_in_rank_order(isa_, sources, to, {}, elements, {DataType::f32, ReduceOp::sum, 2});
  }

  int rank_;
  const Isa& isa_;
  CopyMode mode_;
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  const AbortFlag& abort_flag_;
};

TEST(Epochs, AllArriveWholeInEveryInstructionSetAcrossTheEndOf32Bits) {
  const std::uint64_t epochs = number_of_epochs();
  for_each_supported_isa([&](const Isa& isa) {
    for (const CopyMode mode : {CopyMode::cached, CopyMode::non_temporal}) {
      run_ranks(2, [&](Communicator& communicator) {
        Exchange exchange(communicator, isa, mode);
        EXPECT_EQ(exchange.run(end_of_32_bits - epochs / 4, epochs / 2), 0U)
            << isa.name << (mode == CopyMode::cached ? "" : ", past the caches") << ", rank "
            << communicator.rank();
        communicator.barrier(soon_enough());
      });
    }
  });
}

TEST(Epochs, ThreadSanitizerSeesTheScalarBodies) {
#ifdef __SANITIZE_THREAD__
  EXPECT_STREQ(supported_isas().back()->name, "scalar") << "a build for it is to have no others";
#else
  GTEST_SKIP() << "not under ThreadSanitizer";
#endif
}

}  // namespace
}  // namespace colltune::test
