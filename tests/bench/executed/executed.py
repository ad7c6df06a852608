#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What does an unmodified MPI program gain from the component for Open MPI?

  tests/bench/executed/executed.py
  tests/bench/executed/executed.py --db tuning.db
  tests/bench/executed/executed.py --table cluster.ctt --calls 100

It sweeps first, unless it gets the database of an earlier sweep, or a table file. Then launches of an ordinary MPI program
(ordinary_program.cpp: its own loop over each collective, buffers that change) with the component and without alternate, every
other round the other way round. After half of them it sweeps once more: what the first sweep's winners are worth is read from the
second one, since a winner is also who was lucky when it was chosen. Between two readings of the clock the program makes as many calls back to back as the sweep did
in that cell: a short call takes another time in a row of 4 than in one of 100. `--calls` asks for other rows. A table file does
not say what the sweep did, so without a database it needs `--calls`. A ratio is the time without over the time with, of
neighbouring launches. Holds where no cell's 95 % interval over the launches (Student's, of the ratios' logarithms) lies wholly
below 0.98, and each collective's geometric mean is at least 0.95 of what the sweep promised for the same cells (1 where the table
keeps the library's own). With --db or --table the promise is the one of the table. Exit code: 0 where it holds, 1 where it does
not. On a quiet machine alone."""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import launches  # noqa: E402
from baseline import MPI_NAMES, interval  # noqa: E402
from launches import COLLECTIVES, SOURCE, Programs, write_config  # noqa: E402
from regimes import Launch  # noqa: E402

SIZES = [8, 64, 512, 4096, 32768, 262144, 2097152, 16777216]
LEAST = 0.98
SHARE = 0.95


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes")
    parser.add_argument("--db", type=pathlib.Path, help="of a sweep of the same sizes and ranks [a new sweep, without --table]")
    parser.add_argument("--table", type=pathlib.Path, help="of the same sizes and ranks [made from the database]")
    parser.add_argument("--sweep-seconds", type=float, default=150)
    parser.add_argument("--launches", type=int, default=5, choices=range(2, 11), help="of each")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each cell in each launch")
    parser.add_argument("--calls", type=int, help="back to back in each run [as the sweep chose for each cell]")
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "tests/bench/results")
    parser.add_argument("--unjudged", action="store_true", help="end with 0 whatever was found")
    options = parser.parse_args()
    if options.calls is not None and options.calls < 1:
        parser.error(f"--calls {options.calls}: at least 1")
    if options.table and not options.db and options.calls is None:
        parser.error("--table needs --calls or --db: a table file does not say how many calls the sweep made back to back")
    return options


def judge(ratios, promised):
    """`ratios`: (collective, bytes) -> one per launch; `promised`: the sweep's. What does not hold."""
    faults = []
    for (collective, size), found in ratios.items():
        low, high = interval(found)
        if high < LEAST:
            faults.append(f"{collective} {size} B: {low:.2f} to {high:.2f}")
    for collective in dict.fromkeys(collective for collective, _ in ratios):
        cells = [cell for cell in ratios if cell[0] == collective]
        mean = statistics.geometric_mean(statistics.geometric_mean(ratios[cell]) for cell in cells)
        wanted = SHARE * statistics.geometric_mean(promised.get(cell, 1) for cell in cells)
        if mean < wanted:
            faults.append(f"{collective}: geometric mean {mean:.3f} of {wanted:.3f}")
    return faults


def promises_of(winners, promised, measurements):
    """What `winners` are worth by a sweep's measurements; where it measured one too little, as `promised` before."""
    found = Launch(measurements)
    libraries = {cell: variant for cell, variants in found.cells.items() for variant, passes in variants.items()
                 if passes[0]["is_baseline"]}
    judged = {cell: found.ratio(cell, libraries[cell], winner) for cell, winner in winners.items() if cell in libraries}
    return {cell: judged.get(cell) or promised[cell] for cell in winners}


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.programs = Programs(options.build, options.mpirun, options.ranks)
        self.cells = [(collective, size) for collective in options.collectives for size in options.sizes]
        self.folder = folder
        self.is_judged_by_another = options.db is None and options.table is None
        database = self.sweep("sweep") if self.is_judged_by_another else options.db
        self.table = options.table
        if self.table is None:
            self.table = folder / "sweep.ctt"
            self.programs.run(self.programs.colltune, "export", "table", "--db", str(database), "-o", str(self.table), codes=(0,))
        self.calls = self.choose_calls(database)
        self.winners, self.promised = self.read_promises()

    def sweep(self, name):
        config = write_config(self.folder, name, collectives=self.options.collectives, sizes=self.options.sizes,
                              budget_seconds=self.options.sweep_seconds, soak={"seconds": 0.1}, precision=0.01)
        database = self.folder / f"{name}.db"
        self.programs.sweep(config, database)
        return database

    def judge_by_another_sweep(self):
        measurements = self.programs.json_of("show", "measurements", "--db", str(self.sweep("another")))
        self.promised = promises_of(self.winners, self.promised, measurements)

    def choose_calls(self, database):
        """(collective, bytes) -> calls back to back in each run."""
        if self.options.calls is not None:
            return dict.fromkeys(self.cells, self.options.calls)
        calls = launches.calls_of(self.programs.json_of("show", "measurements", "--db", str(database)))
        if missing := [f"{collective} {size} B" for collective, size in self.cells if (collective, size) not in calls]:
            sys.exit(f"the sweep did not measure the library's own {', '.join(missing)}: --sweep-seconds gives it more time, "
                     "--collectives and --sizes name fewer cells")
        return {cell: calls[cell] for cell in self.cells}

    def read_promises(self):
        """(collective, bytes) -> the winner, and the sweep's speed-up, where a variant of ours is chosen."""
        winners, promised = {}, {}
        for decision in self.programs.json_of("show", "decisions", "--table", str(self.table)):
            problem = decision["key"]["problem"]
            if decision["family"] == "any" and decision["verdict"] == "displaced" and decision["winner"].startswith("cpu."):
                cell = problem["collective"], problem["message_size_bytes"]
                winners[cell], promised[cell] = decision["winner"], decision["speedup_over_baseline"]
        return winners, promised

    def measure(self, has_component):
        """(collective, bytes) -> median, ns."""
        environment = {"COLLTUNE_TABLE": ""}
        if has_component:
            environment = {"COLLTUNE_TABLE": str(self.table),
                           "OMPI_MCA_mca_base_component_path": f"{self.options.build / 'lib/openmpi'}:SYSTEM_DEFAULT:USER_DEFAULT"}
        words = [f"{MPI_NAMES[collective]}:{size}:{self.calls[collective, size]}" for collective, size in self.cells]
        done = self.programs.run(*self.programs.launch, str(self.options.build / "tests/bench/ordinary_program"), "grown", "each",
                                 str(self.options.seconds), *words, codes=(0,), environment=environment)
        if "colltune:" in done.stderr:
            sys.exit(f"the component did not run everything: {done.stderr}")
        names = {name: collective for collective, name in MPI_NAMES.items()}
        return {(names[cell["collective"]], cell["bytes"]): cell["median_ns"]
                for cell in map(json.loads, done.stdout.splitlines())}

    def compare(self):
        times = {cell: {"with_ns": [], "without_ns": []} for cell in self.cells}
        for launch in range(self.options.launches):
            if self.is_judged_by_another and launch == self.options.launches // 2:
                self.judge_by_another_sweep()
            sides = [("with_ns", True), ("without_ns", False)]
            for side, has_component in sides if launch % 2 == 0 else reversed(sides):
                for cell, median in self.measure(has_component).items():
                    times[cell][side].append(median)
            print(f"launch {launch + 1} of {self.options.launches}", file=sys.stderr)
        return times


def main():
    options = arguments()
    before = launches.machine()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        times = bench.compare()
    ratios = {cell: [theirs / mine for mine, theirs in zip(both["with_ns"], both["without_ns"])] for cell, both in times.items()}
    faults = judge(ratios, bench.promised)
    print(f"an ordinary program's calls without the component over those with it, {options.ranks} ranks\n"
          f"{'collective':<16}{'bytes':>10}{'calls':>7}{'without us':>12}{'with us':>12}{'ratio':>8}   95 % interval   promised")
    rows = []
    for cell, both in times.items():
        low, high = interval(ratios[cell])
        rows.append({"collective": cell[0], "bytes": cell[1], "calls": bench.calls[cell], **both, "interval": [low, high],
                     "promised": bench.promised.get(cell)})
        print(f"{cell[0]:<16}{cell[1]:>10}{bench.calls[cell]:>7}{statistics.median(both['without_ns']) / 1e3:>12.2f}"
              f"{statistics.median(both['with_ns']) / 1e3:>12.2f}{statistics.geometric_mean(ratios[cell]):>8.2f}"
              f"   {low:.2f} to {high:.2f}   " + (f"{bench.promised[cell]:.2f}" if cell in bench.promised else "the library's own"))
    means = {}
    for collective in options.collectives:
        cells = [cell for cell in ratios if cell[0] == collective]
        means[collective] = [statistics.geometric_mean(statistics.geometric_mean(ratios[cell]) for cell in cells),
                             statistics.geometric_mean(bench.promised.get(cell, 1) for cell in cells)]
        print(f"{collective:<16}geometric mean {means[collective][0]:.2f}, promised {means[collective][1]:.2f}")
    print("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults))
    launches.store(options.results, f"executed_{options.ranks}", before, {"means": means, "faults": faults, "cells": rows})
    return 0 if options.unjudged or not faults else 1


if __name__ == "__main__":
    sys.exit(main())
