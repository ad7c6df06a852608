// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce: every rank reads all ranks' inputs and reduces them itself. 1 round, (n - 1)
// S bytes read and n S bytes reduced per rank; DeepSpeed's "symmetric_naive"
// (csrc/cpu/comm/shm.cpp).

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void write(ScheduleWriter& writer, const Variant&) {
  // In place, a rank would overwrite what others may not have read yet.
  const auto publish = [&](const Block& block) {
    return writer.shape().in_place && writer.ranks() > 1 ? writer.keep(block)
                                                         : writer.publish(block);
  };
  std::vector<Block> published;
  for (int rank = 0; rank < writer.ranks(); ++rank)
    published.push_back(publish(writer.input(rank)));
  for (int rank = 0; rank < writer.ranks(); ++rank) {
    std::vector<Block> sources = published;
    sources[static_cast<std::size_t>(rank)] = writer.input(rank);
    writer.combine(writer.output(rank), std::move(sources), true);
  }
}

}  // namespace

Implementations make_one_shot() {
  return make_scheduled({{.name = "cpu.all_reduce_one_shot",
                          .description = "every rank reduces everything: 1 round, (n-1)S bytes "
                                         "read per rank (DeepSpeed symmetric_naive)",
                          .collective = Collective::all_reduce,
                          .write_wave = write}});
}

}  // namespace colltune::cpu
