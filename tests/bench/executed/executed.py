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
not say what the sweep did, so without a database it needs `--calls`. A hypervisor moves its virtual cores between near and far
ones, and short calls take two or three times as long there. So each visit of a cell says how long a cache line took before and
after it, in a launch as in the sweep. A ratio is the time without over the time with, of visits that met the same state of the
machine, in the order of time; a promise is what the second sweep found in that state. Holds where no cell's 95 % interval over
the pairs (Student's, of the ratios' logarithms) lies wholly below 0.98, each cell has two pairs, and each collective's geometric
mean is at least 0.95 of what the sweep promised for the same cells and states (1 where the table
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
from launches import COLLECTIVES, SOURCE, Programs, boundary_of, key_of, pairs_of, state_of, write_config  # noqa: E402
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


def promised_in(promised, cell, state):
    """`promised`: cell -> state -> how many times as fast; of the state None where nothing is known of that state."""
    of_cell = promised.get(cell, {})
    return of_cell.get(state, of_cell.get(None, 1))


def means_of(pairs, promised, collective):
    """What the cells of a collective gave, and what was promised for the same visits."""
    cells = [cell for cell in pairs if cell[0] == collective and pairs[cell]]
    if not cells:
        return None
    mean = statistics.geometric_mean
    return (mean(mean(ratio for _, ratio in pairs[cell]) for cell in cells),
            mean(mean(promised_in(promised, cell, state) for state, _ in pairs[cell]) for cell in cells))


def judge(pairs, promised):
    """`pairs`: (collective, bytes) -> (state, ratio) of each two visits; `promised`: as promised_in takes it. What does not
    hold."""
    faults = []
    for (collective, size), found in pairs.items():
        if len(found) < 2:
            faults.append(f"{collective} {size} B: {len(found)} visits of both sides in one state")
            continue
        low, high = interval([ratio for _, ratio in found])
        if high < LEAST:
            faults.append(f"{collective} {size} B: {low:.2f} to {high:.2f}")
    for collective in dict.fromkeys(collective for collective, _ in pairs):
        means = means_of(pairs, promised, collective)
        if means and means[0] < SHARE * means[1]:
            faults.append(f"{collective}: geometric mean {means[0]:.3f} of {SHARE * means[1]:.3f}")
    return faults


def hand_overs_of(measurements):
    """Of each visit of a cell in a sweep."""
    visits = {(key_of(one), one["pass"]): one["conditions"].get("hand_over_ns") for one in measurements}
    return [took for took in visits.values() if took]


def promises_of(winners, promised, measurements):
    """What `winners` are worth by a sweep's measurements, in all and in each state of the machine; where it measured one too
    little, as `promised` before."""
    # A sweep hands over more than a cache line, so its times have another boundary.
    boundary = boundary_of(hand_overs_of(measurements))

    def of_state(state):
        return [one for one in measurements if state is None or state_of([one["conditions"].get("hand_over_ns")], boundary) == state]
    found = {cell: {None: worth} for cell, worth in promised.items()}
    for state in (None, "near", "far") if boundary is not None else (None,):
        launch = Launch(of_state(state))
        libraries = {cell: variant for cell, variants in launch.cells.items() for variant, passes in variants.items()
                     if passes[0]["is_baseline"]}
        for cell, winner in winners.items():
            if cell in libraries and (worth := launch.ratio(cell, libraries[cell], winner)):
                found[cell][state] = worth
    return found


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
        self.another = []

    def sweep(self, name):
        config = write_config(self.folder, name, collectives=self.options.collectives, sizes=self.options.sizes,
                              budget_seconds=self.options.sweep_seconds, soak={"seconds": 0.1}, precision=0.01)
        database = self.folder / f"{name}.db"
        self.programs.sweep(config, database)
        return database

    def judge_by_another_sweep(self):
        self.another = self.programs.json_of("show", "measurements", "--db", str(self.sweep("another")))

    def judged(self):
        """As promised_in takes it."""
        return promises_of(self.winners, self.promised, self.another)

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
        """(collective, bytes) -> median, ns, and how long a cache line took before and after, ns."""
        environment = {"COLLTUNE_TABLE": ""}
        if has_component:
            # At once: what is set up and prepared later would mix the library's calls into the first cells.
            environment = {"COLLTUNE_TABLE": str(self.table), "COLLTUNE_PATIENCE": "0",
                           "OMPI_MCA_mca_base_component_path": f"{self.options.build / 'lib/openmpi'}:SYSTEM_DEFAULT:USER_DEFAULT"}
        words = [f"{MPI_NAMES[collective]}:{size}:{self.calls[collective, size]}" for collective, size in self.cells]
        done = self.programs.run(*self.programs.launch, str(self.options.build / "tests/bench/ordinary_program"), "grown", "each",
                                 str(self.options.seconds), *words, codes=(0,), environment=environment)
        if "colltune:" in done.stderr:
            sys.exit(f"the component did not run everything: {done.stderr}")
        names = {name: collective for collective, name in MPI_NAMES.items()}
        return {(names[cell["collective"]], cell["bytes"]): (cell["median_ns"], cell["hand_over_ns"])
                for cell in map(json.loads, done.stdout.splitlines())}

    def compare(self):
        visits = {cell: {"with": [], "without": []} for cell in self.cells}
        for launch in range(self.options.launches):
            if self.is_judged_by_another and launch == self.options.launches // 2:
                self.judge_by_another_sweep()
            sides = [("with", True), ("without", False)]
            for side, has_component in sides if launch % 2 == 0 else reversed(sides):
                for cell, visit in self.measure(has_component).items():
                    visits[cell][side].append(visit)
            print(f"launch {launch + 1} of {self.options.launches}", file=sys.stderr)
        return visits


def main():
    options = arguments()
    before = launches.machine()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        visits = bench.compare()
    boundary = boundary_of([took for both in visits.values() for side in both.values() for _, hand_overs in side
                            for took in hand_overs if took])
    promised = bench.judged()
    pairs = {cell: pairs_of(both["with"], both["without"], boundary) for cell, both in visits.items()}
    faults = judge(pairs, promised)
    states = "one state of the machine" if boundary is None else f"two states of the machine, near and far ({boundary:.0f} ns a cache line)"
    print(f"an ordinary program's calls without the component over those with it, {options.ranks} ranks, {states}\n"
          f"{'collective':<16}{'bytes':>10}{'calls':>7}{'without us':>12}{'with us':>12}{'ratio':>8}   95 % interval   pairs   promised")
    rows = []
    for cell, both in visits.items():
        found = [ratio for _, ratio in pairs[cell]]
        low, high = interval(found) if len(found) > 1 else (None, None)
        medians = {side: statistics.median(ns for ns, _ in both[side]) / 1e3 for side in both}
        rows.append({"collective": cell[0], "bytes": cell[1], "calls": bench.calls[cell],
                     **{f"{side}_ns": [ns for ns, _ in both[side]] for side in both},
                     **{f"{side}_hand_over_ns": [hand_overs for _, hand_overs in both[side]] for side in both},
                     "pairs": pairs[cell], "interval": [low, high],
                     "promised": {state or "all": worth for state, worth in promised.get(cell, {}).items()} or None})
        print(f"{cell[0]:<16}{cell[1]:>10}{bench.calls[cell]:>7}{medians['without']:>12.2f}{medians['with']:>12.2f}"
              + (f"{statistics.geometric_mean(found):>8.2f}   {low:.2f} to {high:.2f}" if len(found) > 1 else "       -   -           ")
              + f"{len(found):>8}   "
              + (" ".join(f"{state or 'all'} {worth:.2f}" for state, worth in promised[cell].items()) if cell in promised
                 else "the library's own"))
    means = {}
    for collective in options.collectives:
        if found := means_of(pairs, promised, collective):
            means[collective] = list(found)
            print(f"{collective:<16}geometric mean {found[0]:.2f}, promised {found[1]:.2f}, of it {found[0] / found[1]:.2f}")
    print("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults))
    launches.store(options.results, f"executed_{options.ranks}", before, {"boundary_ns": boundary, "means": means, "faults": faults, "cells": rows})
    return 0 if options.unjudged or not faults else 1


if __name__ == "__main__":
    sys.exit(main())
