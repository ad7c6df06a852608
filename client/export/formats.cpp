// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/formats.h"

#include <fmt/format.h>

#include <array>

namespace colltune {
namespace {

constexpr std::array<ExportFormat, 8> formats{{
    {.name = "json",
     .what = "one JSON document with evidence and ranges of sizes (configs/export.schema.json)",
     .consumer = "any program",
     .numbers = "all decisions of the regime",
     .cannot = "nothing is left out of `decisions`; `tables` leave out what unlike ranks compose",
     .example = "json --db tuning.db -o decisions.json"},
    {.name = "csv",
     .what = "a row for each ranked variant, with its evidence and how to apply it",
     .consumer = "spreadsheets and scripts (quotes as in RFC 4180, names of columns first)",
     .numbers = "all decisions of the regime",
     .cannot = "parts of compositions, members of worlds, facts of environments",
     .example = "csv --db tuning.db -o decisions.csv"},
    {.name = "table",
     .what =
         "a table file of one environment (proto/table_file/README.md): what `--table` and others "
         "look up without a daemon",
     .consumer =
         "C and C++ clients, NCCL's tuner of colltune, `--table` of lookup, explain, export "
         "and show decisions",
     .numbers = "all decisions of the regime in one environment",
     .cannot = "decisions of several environments",
     .example = "table --db tuning.db -o cluster.ctt",
     .is_of_environment = true,
     .is_binary = true},
    {.name = "openmpi",
     .what = "a file of rules for Open MPI's coll/tuned: its own algorithms where they were "
             "measured to beat its default",
     .consumer =
         "coll/tuned of Open MPI 4.1.x, of 5.0.x (format 2 from 5.0.7 on), and of 6.x (JSON; "
         "by its reader's source, not run)",
     .numbers = "family `mpi`, ordinary calls, measured with that very release",
     .cannot =
         "types, operators and, before 6.x, nodes: a rule is for all of them; scatter by size",
     .example = "openmpi --for 4.1.x --db tuning.db -o rules.conf",
     .is_for_releases = true,
     .is_of_environment = true},
    {.name = "openmpi-han",
     .what = "a file of rules for Open MPI's coll/han: where it was measured to beat the default "
             "between hosts",
     .consumer = "coll/han of Open MPI 4.1.x (read back in 4.1.4)",
     .numbers = "family `mpi` on several nodes, ordinary calls, measured with that very release",
     .cannot =
         "types, operators, nodes and ranks of each; what runs inside coll/han; algorithms of "
         "coll/tuned (those are `openmpi`'s); all_to_all and reduce_scatter",
     .example = "openmpi-han --for 4.1.x --db tuning.db -o han.conf",
     .is_for_releases = true,
     .is_of_environment = true},
    {.name = "nccl",
     .what = "a file for NVIDIA's example tuner plug-in: NCCL's algorithms, protocols and channels",
     .consumer = "plugins/tuner/example of NCCL (ext-tuner/example), 2.28 and newer",
     .numbers = "family `nccl`, forced choices, ordinary calls",
     .cannot = "NCCL's own choice: calls without a line run on one channel, so where the default "
               "stays, the equally fast choice stands; types and operators; all_to_all, gather, "
               "scatter; symmetric windows",
     .example = "nccl --db tuning.db -o nccl_tuner.conf",
     .is_of_environment = true},
    {.name = "ctran-ring",
     .what = "variables for torchcomms' ring all_reduce: what colltune's ring on GPUs won with",
     .consumer = "ctring of torchcomms (NCCL_CTRAN_ALLREDUCE_RING_*, 2026-08), by a POSIX shell",
     .numbers = "family `colltune`, ordinary all_reduce calls that `cuda.all_reduce_ring` won",
     .cannot = "sizes: one choice for all, by the least worst regret; the number of chunks where "
               "several numbers of ranks were measured; launches and vectors of our kernel",
     .example = "ctran-ring --db tuning.db -o ctring.sh",
     .is_of_environment = true},
    {.name = "mpi-env",
     .what = "the environment that the numbers were measured in, as lines of a shell",
     .consumer = "a POSIX shell that starts mpirun",
     .numbers = "the environment of decisions that were measured with MPI: malloc, transport, "
                "variables",
     .cannot = "what is no variable: binding, malloc's history, files and limits are comments",
     .example = "mpi-env --db tuning.db -o environment.sh",
     .is_of_environment = true},
}};

}  // namespace

std::span<const ExportFormat> export_formats() { return formats; }

std::string export_formats_table() {
  std::string text =
      "| command | consumer | from what (nothing: exit 3) | cannot express |\n"
      "|---|---|---|---|\n";
  for (const ExportFormat& format : formats)
    text += fmt::format("| `export {}{}` | {} | {} | {} |\n", format.name,
                        format.is_for_releases ? " --for RELEASE" : "", format.consumer,
                        format.numbers, format.cannot);
  return text;
}

std::string describe(const ExportFormat& format) {
  return fmt::format(
      "Read by {}.\nMade of {}; exit 3 with the reason where there is nothing.\n"
      "Cannot express: {}.\n",
      format.consumer, format.numbers, format.cannot);
}

}  // namespace colltune
