// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Chains: each rank passes the message on to the next one, chunk by chunk, so that all links work
// at once. n - 1 rounds, S bytes per rank (Open MPI's "pipeline").

#include "schedule/scheduled_implementation.h"

namespace colltune::cpu {
namespace {

void chain_broadcast(ScheduleWriter& writer, const Variant&) {
  const int ranks = writer.ranks();
  const int root = writer.shape().root;
  for (int place = 1; place < ranks; ++place) {
    const int from = (root + place - 1) % ranks;
    writer.move(writer.output((root + place) % ranks),
                place == 1 ? writer.input(root) : writer.output(from));
  }
  writer.copy(writer.output(root), writer.input(root));
}

void chain_reduce(ScheduleWriter& writer, const Variant&) {
  const int ranks = writer.ranks();
  const int root = writer.shape().root;
  Block sum = writer.input((root + ranks - 1) % ranks);
  if (ranks == 1) writer.combine(writer.output(root), {sum}, true);
  for (int place = ranks - 2; place >= 0; --place) {
    const int rank = (root + place) % ranks;
    const Block to = place == 0 ? writer.output(rank) : writer.temporary(rank);
    writer.combine(to, {writer.input(rank), writer.publish(sum)}, place == 0);
    sum = to;
  }
}

}  // namespace

Implementations make_chain() {
  return make_scheduled({{.name = "cpu.broadcast_chain",
                          .description = "handed on from rank to rank in chunks: n-1 rounds, S "
                                         "bytes per rank (Open MPI pipeline)",
                          .collective = Collective::broadcast,
                          .write_wave = chain_broadcast,
                          .min_ranks = 3,
                          .is_pipeline = true},
                         {.name = "cpu.reduce_chain",
                          .description = "summed from rank to rank in chunks: n-1 rounds, S bytes "
                                         "per rank (Open MPI pipeline)",
                          .collective = Collective::reduce,
                          .write_wave = chain_reduce,
                          .numeric_class = NumericClass::same_bits,
                          .min_ranks = 3,
                          .is_pipeline = true}});
}

}  // namespace colltune::cpu
