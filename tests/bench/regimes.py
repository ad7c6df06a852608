#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What do ordinary calls lose of what persistent calls gain, and do other variants win?

  tests/bench/regimes.py

Launches that measure ordinary calls (`"calling": "each"`: every call comes with other buffers, and what it does to bind them
is timed) and persistent calls alternate, every other round the other way round. In each launch the fastest of colltune's
variants and the fastest of Open MPI's, its default among them, are chosen; how much faster the one is than the other is read
from the other launches of the same regime. So no choice is judged by the launch that made it. Per cell: the median over all
pairs of launches, and the bounds of the median over the launches that chose. On a quiet machine alone; some 25 minutes."""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from launches import (COLLECTIVES, SOURCE, Programs, balanced_ratio, balanced_time, bounds_of_median, by_trial, machine,
                      store, write_config)

REGIMES = ["each", "persistent"]
SIZES = [8 << 3 * step for step in range(8)]  # 8 B to 16 MiB


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    parser.add_argument("--launches", type=int, default=5, choices=range(2, 11), help="of each regime")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a launch, for each cell")
    parser.add_argument("--results", type=pathlib.Path, help="folder to keep what was found in")
    return parser.parse_args()


class Launch:
    """What one sweep measured: cell -> variant -> its measurements, one per pass."""

    def __init__(self, measurements):
        self.cells = {}
        for (_, key, variant, is_twin), passes in by_trial(measurements).items():
            problem = json.loads(key)["problem"]
            if not is_twin and balanced_time(passes) is not None:
                cell = problem["collective"], problem["message_size_bytes"]
                self.cells.setdefault(cell, {})[variant] = passes

    def fastest(self, cell, prefix):
        """The variant, None where none was measured."""
        times = {variant: balanced_time(passes) for variant, passes in self.cells.get(cell, {}).items()
                 if variant.startswith(prefix)}
        return min(times, key=times.get) if times else None

    def ratio(self, cell, reference, rival):
        """How much faster `rival` is than `reference` in this launch; None where that was not measured."""
        of_cell = self.cells.get(cell, {})
        if reference not in of_cell or rival not in of_cell:
            return None
        return balanced_ratio(of_cell[reference], of_cell[rival])


def judge(launches, cell):
    """How much faster colltune's fastest variant is than Open MPI's, each chosen in one launch and judged in the others:
    the median over all pairs, the bounds over the choosing launches, and the choices."""
    of_launch, chosen = [], []
    for launch in launches:
        ours, theirs = launch.fastest(cell, "cpu."), launch.fastest(cell, "mpi.")
        judged = [ratio for other in launches if other is not launch
                  and (ratio := other.ratio(cell, theirs, ours)) is not None]
        if judged:
            of_launch.append(statistics.median(judged))
            chosen.append(ours)
    if not of_launch:
        return None
    low, high, _ = bounds_of_median(of_launch)
    return {"ratio": statistics.median(of_launch), "low": low, "high": high, "launches": len(of_launch),
            "winner": max(set(chosen), key=chosen.count)}


def loss(launches, cell, own, other):
    """How much more time `other` takes than `own` in these launches; None where they were not both measured."""
    ratios = [ratio for launch in launches if (ratio := launch.ratio(cell, other, own)) is not None]
    return statistics.median(ratios) if ratios else None


def measure(options, folder, programs):
    found = {regime: [] for regime in REGIMES}
    cells = len(options.collectives) * len(options.sizes)
    for number in range(options.launches):
        for regime in REGIMES if number % 2 == 0 else reversed(REGIMES):
            config = write_config(folder, regime, calling=regime, collectives=options.collectives, sizes=options.sizes,
                                  budget_seconds=options.seconds * cells, soak={"runs": 0})
            database = folder / f"{regime}_{number}.db"
            programs.sweep(config, database)
            found[regime].append(Launch(programs.json_of("show", "measurements", "--db", str(database))))
            print(f"launch {number + 1} of {options.launches}, {regime}", file=sys.stderr)
    return found


def main():
    options = arguments()
    before = machine()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options, pathlib.Path(folder), Programs(options.build, options.mpirun, options.ranks))
    rows = []
    print(f"{'collective':<16}{'bytes':>10}{'each':>8} (bounds)        {'persistent':>10} (bounds)        of it   "
          "loss by the other's winner")
    for collective in options.collectives:
        for size in options.sizes:
            judged = {regime: judge(found[regime], (collective, size)) for regime in REGIMES}
            if not all(judged.values()):
                print(f"{collective:<16}{size:>10}   not measured in two launches of each regime")
                continue
            each, persistent = judged["each"], judged["persistent"]
            differs = each["winner"] != persistent["winner"]
            lost = loss(found["each"], (collective, size), each["winner"], persistent["winner"]) if differs else None
            rows.append({"collective": collective, "bytes": size, **judged, "differs": differs, "loss": lost})
            print(f"{collective:<16}{size:>10}{each['ratio']:>8.2f} ({each['low']:.2f} to {each['high']:.2f})"
                  f"{persistent['ratio']:>10.2f} ({persistent['low']:.2f} to {persistent['high']:.2f}){each['ratio'] / persistent['ratio']:>8.2f}"
                  + (f"   {lost:.2f}" if lost else "   -" if not differs else "   ?"))
    summary = []
    for collective in options.collectives:
        own = [row for row in rows if row["collective"] == collective]
        if not own:
            continue
        means = {regime: statistics.geometric_mean(row[regime]["ratio"] for row in own) for regime in REGIMES}
        slower = [row["bytes"] for row in own if row["each"]["high"] < 1]
        summary.append({"collective": collective, **means, "surely_slower": slower,
                        "differ": sum(row["differs"] for row in own), "cells": len(own)})
        print(f"{collective:<16} each {means['each']:.2f}, persistent {means['persistent']:.2f}, of it "
              f"{means['each'] / means['persistent']:.2f}; {summary[-1]['differ']} of {len(own)} winners differ"
              + (f"; SURELY SLOWER: {slower}" if slower else ""))
    if options.results:
        print("kept in", store(options.results, f"regimes_{options.ranks}", before, {"cells": rows, "collectives": summary},
                               ranks=options.ranks))


if __name__ == "__main__":
    main()
