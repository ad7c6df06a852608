// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/host_capability.h"

#include <sched.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>

#include "arithmetic/isa/isa.h"
#include "arithmetic/processor.h"
#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/arithmetic/isa_names.h"
#include "colltune/machine/usable_cores.h"
#include "colltune/vocabulary/error.h"
#include "communication/rank_places.h"
#include "shared_memory/cross_memory.h"

namespace colltune {
namespace {

/// What the ranks of a node tell each other.
struct Told {
  cpu_set_t threads;  ///< that the rank may run on
  ProcessMemory word;
  std::int64_t failures = 0;  ///< words of others that it could not read
};

constexpr std::int64_t word_of(int rank) { return 1000 + rank; }

/// 1 if the word of `rank` cannot be read, else 0.
std::int64_t fails_to_read(const ProcessMemory& word, int rank) {
  std::int64_t seen = 0;
  try {
    read_memory(word, 0, std::as_writable_bytes(std::span(&seen, 1)));
  } catch (const Error&) {
    // The kernel or the container forbids it: this is what the probe tests for.
  }
  return seen == word_of(rank) ? 0 : 1;
}

/// What the ranks of this rank's node are together. Launchers bind each rank to cores of its own,
/// so that one rank's binding says nothing about the others.
struct Neighbours {
  cpu_set_t threads;         ///< that any of them may run on
  bool read_memory = false;  ///< each can read every other's
};
/// Collective. One allocation, since a program's communicator waits for this.
Neighbours meet_neighbours(Communicator& communicator, Deadline deadline) {
  const auto memory = communicator.allocate(Bytes{sizeof(Told)}, deadline);
  const std::int64_t word = word_of(communicator.rank());
  Told own{.word = own_memory(std::as_bytes(std::span(&word, 1)))};
  CPU_ZERO(&own.threads);
  ::sched_getaffinity(0, sizeof own.threads, &own.threads);
  const auto tell = [&] {
    std::memcpy(memory->part(communicator.rank()).data(), &own, sizeof own);
    communicator.barrier(deadline);
  };
  const auto for_each = [&](const auto& use) {
    for (int rank = 0; rank < communicator.size(); ++rank)
      if (const auto part = memory->part(rank); !part.empty()) {
        Told told;
        std::memcpy(&told, part.data(), sizeof told);
        use(told, rank);
      }
  };
  tell();
  Neighbours all;
  CPU_ZERO(&all.threads);
  for_each([&](const Told& told, int rank) {
    CPU_OR(&all.threads, &all.threads, &told.threads);
    own.failures += fails_to_read(told.word, rank);
  });
  communicator.barrier(deadline);  // all have read what is written again
  tell();
  all.read_memory = true;
  for_each([&](const Told& told, int) { all.read_memory &= told.failures == 0; });
  communicator.barrier(deadline);  // nobody unmaps what another still reads
  return all;
}

/// In how many places of `level` the ranks of this rank's node are.
int places_of_node(const Communicator& communicator, Locality level) {
  const std::span<const int> nodes = communicator.nodes();
  const std::vector<int>& places = communicator.places().on(level);
  const int own = nodes[static_cast<std::size_t>(communicator.rank())];
  std::set<int> found;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (nodes[rank] == own) found.insert(places[rank]);
  return static_cast<int>(found.size());
}

}  // namespace

Capability detect_host_capability(Communicator& communicator, Deadline deadline) {
  Capability capability;
  capability.architecture = cpu_architecture();
  for (const std::string& name : isa_names()) capability.features["isa." + name] = "";
  if (supported_isas().back()->streams) capability.features[std::string(streaming_feature)] = "";
  const Neighbours neighbours = meet_neighbours(communicator, deadline);
  capability.features["cpu.cores"] = std::to_string(count_cores(neighbours.threads));
  for (const Locality level : {Locality::numa, Locality::cache})
    capability.features[places_feature(level)] =
        std::to_string(places_of_node(communicator, level));
  if (neighbours.read_memory) capability.features[std::string(cma_feature)] = "";
  return capability;
}

}  // namespace colltune
