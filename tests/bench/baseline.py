#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Is the agent's baseline what an ordinary program has?

  tests/bench/baseline.py

Launches of the agent, which measures the baseline alone, and of an ordinary MPI program (ordinary_program.cpp) alternate,
every other round the other way round, in both environments of malloc: grown (a program that has freed something large) and
fresh (one that has not, in a process for each collective and size). The program makes as many calls back to back between two
clock reads as the agent did in its last launch, with buffers that change or stay as the agent's do (--calling). A ratio is the agent's median over the program's, of
neighbouring launches. Holds where, in each environment, the geometric mean over all cells is within 0.97 to 1.03, and no
cell's 95 % interval over the launches (Student's, of the ratios' logarithms) lies wholly outside 0.90 to 1.10. Exit code: 0
where it holds, 1 where it does not. On a quiet machine alone; some 25 minutes."""
import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

import launches
from launches import COLLECTIVES, SOURCE, Programs, balanced_time, by_trial, write_config

MPI_NAMES = dict(zip(COLLECTIVES, ["MPI_Allreduce", "MPI_Allgather", "MPI_Reduce_scatter_block", "MPI_Bcast", "MPI_Reduce",
                                   "MPI_Alltoall", "MPI_Gather", "MPI_Scatter"]))
SIZES = [64 << 2 * step for step in range(10)]  # 64 B to 16 MiB
MEAN = (0.97, 1.03)
CELL = (0.90, 1.10)
# Student's t for 95 %, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
FRESH = {"COLLTUNE_MALLOC": "fresh"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    parser.add_argument("--environments", nargs="+", choices=["grown", "fresh"], default=["grown", "fresh"])
    parser.add_argument("--calling", choices=["each", "persistent"], default="each",
                        help="each: every call comes with other buffers; persistent: all with the same")
    parser.add_argument("--launches", type=int, default=5, choices=range(2, 11), help="of each, per environment")
    parser.add_argument("--seconds", type=float, default=0.4, help="of the program, for each cell in each launch")
    parser.add_argument("--precision", type=float, default=0.01, help="of the agent: a configuration's")
    parser.add_argument("--most-rounds", type=int, default=1000, help="of the agent: of each cell, where the precision is not reached")
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "tests/bench/results")
    parser.add_argument("--unjudged", action="store_true", help="end with 0 whatever was found")
    return parser.parse_args()


def interval(ratios):
    """The 95 % interval of the ratios' geometric mean."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.mean(logs)
    reach = STUDENT[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle - reach), math.exp(middle + reach)


def judge(cells):
    """`cells`: (collective, bytes) -> ratios, one per launch. Returns the geometric mean and what does not hold."""
    mean = statistics.geometric_mean(statistics.geometric_mean(ratios) for ratios in cells.values())
    faults = []
    if not MEAN[0] <= mean <= MEAN[1]:
        faults.append(f"geometric mean {mean:.3f}")
    for (collective, size), ratios in cells.items():
        low, high = interval(ratios)
        if high < CELL[0] or low > CELL[1]:
            faults.append(f"{collective} {size} B: {low:.3f} to {high:.3f}")
    return mean, faults


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.programs = Programs(options.build, options.mpirun, options.ranks)
        self.cells = [(collective, size) for collective in options.collectives for size in options.sizes]
        self.databases = 0
        self.calls = {}  # per sample, as the agent chose them last

    def agent(self, environment, collectives):
        """(collective, bytes) -> median, ns."""
        self.databases += 1
        database = str(self.folder / f"{self.databases}.db")
        config = write_config(self.folder, f"baseline_{self.databases}", collectives=collectives, sizes=self.options.sizes,
                              implementations={"include": [f"mpi.{one}" for one in collectives]},
                              calling=self.options.calling, passes=1, soak={"runs": 0}, decision={"most_kept_waiting": 1},
                              # Each cell ends when its median is known so well, whatever the launch's start took.
                              precision=self.options.precision)
        sweep = [*self.programs.launch, self.programs.agent, "sweep", "--config", str(config), "--db", database,
                 "--quiet", "--allow-oversubscribe", "--most-rounds", str(self.options.most_rounds)]
        if environment == "fresh":
            sweep = [self.programs.agent, "supervise", "--db", database, "--", *sweep]
        self.programs.run(*sweep, environment=FRESH if environment == "fresh" else {"COLLTUNE_MALLOC": "grown"})
        found = {}
        for (_, _, _, is_twin), passes in by_trial(self.programs.json_of("show", "measurements", "--db", database)).items():
            problem = passes[0]["key"]["problem"]
            if not is_twin and passes[0]["is_baseline"]:
                cell = problem["collective"], problem["message_size_bytes"]
                found[cell] = balanced_time(passes)
                self.calls[cell] = passes[0]["calls_per_sample"]
        return found

    def program(self, environment, collectives):
        """The same by the ordinary program."""
        names = {MPI_NAMES[collective]: collective for collective in self.options.collectives}
        wanted = [f"{MPI_NAMES[collective]}:{size}:{self.calls[collective, size]}"
                  for collective, size in self.cells if collective in collectives]
        found = {}
        for words in [[word] for word in wanted] if environment == "fresh" else [wanted]:
            done = self.programs.run(*self.programs.launch, str(self.options.build / "tests/bench/ordinary_program"),
                                     environment, self.options.calling, str(self.options.seconds), *words, codes=(0,))
            for line in done.stdout.splitlines():
                cell = json.loads(line)
                found[names[cell["collective"]], cell["bytes"]] = cell["median_ns"]
        return found

    def compare(self, environment):
        """What both found, launch by launch."""
        times = {cell: {"agent_ns": [], "program_ns": []} for cell in self.cells}
        # Where each cell has processes of its own, both sides of a collective follow each other at once: in the minutes that
        # all of them take the machine changes.
        groups = [[one] for one in self.options.collectives] if environment == "fresh" else [self.options.collectives]
        for launch in range(self.options.launches):
            sides = [("agent_ns", self.agent), ("program_ns", self.program)]
            for collectives in groups:
                cells = [cell for cell in self.cells if cell[0] in collectives]
                # The program makes as many calls as the agent did last.
                is_first = any(cell not in self.calls for cell in cells)
                for side, measure in sides if launch % 2 == 0 or is_first else reversed(sides):
                    found = measure(environment, collectives)
                    if missing := [cell for cell in cells if found.get(cell) is None]:
                        sys.exit(f"{environment}, launch {launch + 1}: no {side} of {missing}: it was not measured")
                    for cell in cells:
                        times[cell][side].append(found[cell])
            print(f"{environment}: launch {launch + 1} of {self.options.launches}", file=sys.stderr)
        return times


def main():
    options = arguments()
    before = launches.machine()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        for environment in options.environments:
            times = bench.compare(environment)
            ratios = {cell: [mine / theirs for mine, theirs in zip(both["agent_ns"], both["program_ns"])]
                      for cell, both in times.items()}
            mean, faults = judge(ratios)
            print(f"\n{environment}: the agent's baseline over an ordinary program's loop\n"
                  f"{'collective':<16}{'bytes':>10}{'agent us':>12}{'program us':>12}{'ratio':>8}   95 % interval")
            rows = []
            for (collective, size), both in times.items():
                low, high = interval(ratios[collective, size])
                rows.append({"collective": collective, "bytes": size, "calls": bench.calls[collective, size], **both, "interval": [low, high]})
                print(f"{collective:<16}{size:>10}{statistics.median(both['agent_ns']) / 1e3:>12.2f}"
                      f"{statistics.median(both['program_ns']) / 1e3:>12.2f}"
                      f"{statistics.geometric_mean(ratios[collective, size]):>8.3f}   {low:.3f} to {high:.3f}")
            print(f"geometric mean {mean:.4f}; " + ("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults)))
            found[environment] = {"geometric_mean": mean, "faults": faults, "cells": rows}
    launches.store(options.results, f"baseline_{options.calling}", before, found)
    return 0 if options.unjudged or not any(one["faults"] for one in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
