#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What does Open MPI gain by the rules that colltune exports for it?

  tests/bench/peers/open_mpi_rules.py --ranks 4

A sweep measures Open MPI's default and its forced algorithms (or --db names a database that has), and `colltune export
openmpi` writes the rules. Another sweep finds the best forced algorithm at held-out sizes, which lie between the measured
ones. Then launches of an ordinary MPI program (ordinary_program.cpp) alternate, in another order each time: Open MPI as it
is, with the rules, and with the best algorithms forced; so no choice is judged by the launch that made it. Per cell: how much
faster the rules are than the default and than the best forced algorithm, the median over the launches and its bounds.

It holds where the geometric mean over all cells is at least 0.95 against the best forced algorithm and at least 1.00 against
the default, and where no cell's upper bound against the default is below 0.97. (Cells in which the rules keep the default are
judged, too.) Exit code: 0 where it holds, 1 where it does not. On a quiet machine alone."""
import argparse
import csv
import io
import json
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from baseline import MPI_NAMES  # noqa: E402
from launches import (COLLECTIVES, SOURCE, Programs, bounds_of_median, calls_of, machine, store, write_config)  # noqa: E402

SIZES = [64 << 2 * step for step in range(9)]  # 64 B to 4 MiB
AGAINST_BEST = 0.95
AGAINST_DEFAULT = 1.00
AIM = {4: 1.05}  # against the default, by ranks
CELL = 0.97
ARMS = ["default", "rules", "best"]
DYNAMIC = "OMPI_MCA_coll_tuned_use_dynamic_rules"
FILE = "OMPI_MCA_coll_tuned_dynamic_rules_filename"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--db", type=pathlib.Path, help="a database with decisions of family mpi for ordinary calls [a new sweep]")
    parser.add_argument("--for", dest="release", default="4.1.x", help="the release that mpirun is of [4.1.x]")
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="bytes, of the sweep; with --db its own")
    parser.add_argument("--held-out", type=int, nargs="+", help="bytes [between the measured sizes]")
    parser.add_argument("--launches", type=int, default=5, choices=range(2, 21), help="of each arm")
    parser.add_argument("--sweep-seconds", type=float, default=4.0, help="of a sweep, for each cell")
    parser.add_argument("--seconds", type=float, default=0.3, help="of the program, for each cell in each launch")
    parser.add_argument("--results", type=pathlib.Path, help="folder to keep what was found in")
    parser.add_argument("--unjudged", action="store_true", help="end with 0 whatever was found")
    return parser.parse_args()


def between(sizes, ranks):
    """A size between each two neighbours that ranks can share out in elements of 8 bytes."""
    unit = 8 * ranks
    found = []
    for low, high in zip(sorted(sizes), sorted(sizes)[1:]):
        middle = round(math.sqrt(low * high) / unit) * unit
        if low < middle < high:
            found.append(middle)
    return found


def ranked_by_cell(text, ranks):
    """(collective, bytes) -> the rows of family mpi for ordinary calls of so many ranks, the fastest first, from
    `colltune export csv`."""
    cells = {}
    for row in csv.DictReader(io.StringIO(text)):
        if (row["family"], row["calling"], row["ranks"]) == ("mpi", "each", str(ranks)) and row["registered"] == "false":
            cells.setdefault((row["collective"], int(row["message_size_bytes"])), []).append(row)
    for rows in cells.values():
        rows.sort(key=lambda row: int(row["median_ns"]))
    return cells


def best_settings(rows):
    """What forces the fastest of them that the environment of mpirun can: its name, and variables (none: the default)."""
    for row in rows:
        if row["is_baseline"] == "true":
            return row["variant"], {}
        if row["apply_by"] == "environment":
            return row["variant"], dict(one.split("=", 1) for one in row["apply_variables"].split())
    return None


def launches_of(best):
    """The fewest launches in which each cell has its settings: a list of (variables, cells). One launch forces one algorithm
    of each collective. `best`: cell -> variables."""
    by_collective = {}
    for cell in best:
        settings = by_collective.setdefault(cell[0], {})
        settings.setdefault(tuple(sorted(best[cell].items())), []).append(cell)
    groups = []
    for settings in by_collective.values():
        for number, (variables, cells) in enumerate(settings.items()):
            if number == len(groups):
                groups.append(({}, []))
            groups[number][0].update(variables)
            groups[number][1].extend(cells)
    return groups


def order_of(launch):
    """The arms in another order each time: each is first, second and last alike."""
    turned = ARMS[launch % len(ARMS):] + ARMS[:launch % len(ARMS)]
    return turned if launch // len(ARMS) % 2 == 0 else turned[::-1]


def judge(times, ranks):
    """`times`: cell -> arm -> ns, one per launch. Returns the rows, the geometric means and what does not hold."""
    rows, faults = [], []
    for (collective, size), arms in times.items():
        row = {"collective": collective, "bytes": size, **{f"{arm}_ns": arms[arm] for arm in ARMS}}
        for arm in ("default", "best"):
            ratios = [theirs / ours for theirs, ours in zip(arms[arm], arms["rules"])]
            low, high, sure = bounds_of_median(ratios)
            row[arm] = {"ratio": statistics.median(ratios), "low": low, "high": high, "each_bound_is_sure": sure}
        if row["default"]["high"] < CELL:
            faults.append(f"{collective} {size} B against the default: {row['default']['low']:.3f} to "
                          f"{row['default']['high']:.3f}, below {CELL}")
        rows.append(row)
    means = {arm: statistics.geometric_mean(row[arm]["ratio"] for row in rows) for arm in ("default", "best")}
    for arm, bar in (("best", AGAINST_BEST), ("default", AGAINST_DEFAULT)):
        if means[arm] < bar:
            faults.append(f"geometric mean against the {arm}: {means[arm]:.3f}, below {bar:.2f}")
    return rows, {**means, "aim": AIM.get(ranks)}, faults


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.programs = Programs(options.build, options.mpirun, options.ranks)
        self.program = str(options.build / "tests/bench/ordinary_program")

    def sweep(self, name, sizes):
        """Measures Open MPI's default and its forced algorithms; returns the database."""
        wanted = [f"mpi.{one}{form}" for one in self.options.collectives for form in ("", "_tuned")]
        config = write_config(self.folder, name, calling="each", collectives=self.options.collectives, sizes=sizes,
                              implementations={"include": wanted}, soak={"runs": 0},
                              budget_seconds=self.options.sweep_seconds * len(self.options.collectives) * len(sizes))
        database = self.folder / f"{name}.db"
        self.programs.sweep(config, database)
        return database

    def ranked(self, database):
        done = self.programs.run(self.programs.colltune, "export", "csv", "--db", str(database), codes=(0,))
        return ranked_by_cell(done.stdout, self.options.ranks)

    def export(self, database):
        rules = self.folder / "rules.conf"
        self.programs.run(self.programs.colltune, "export", "openmpi", "--for", self.options.release, "--db", str(database),
                          "-o", str(rules), codes=(0,))
        return rules

    def time(self, cells, calls, environment):
        """cell -> ns, by one launch of the ordinary program."""
        names = {MPI_NAMES[collective]: collective for collective, _ in cells}
        wanted = [f"{MPI_NAMES[collective]}:{size}:{calls[collective, size]}" for collective, size in cells]
        done = self.programs.run(*self.programs.launch, self.program, "grown", "each", str(self.options.seconds), *wanted,
                                 environment=environment, codes=(0,))
        found = {}
        for line in done.stdout.splitlines():
            cell = json.loads(line)
            found[names[cell["collective"]], cell["bytes"]] = cell["median_ns"]
        if missing := [cell for cell in cells if cell not in found]:
            sys.exit(f"the ordinary program did not time {missing}")
        return found

    def measure(self, best, calls, rules):
        """cell -> arm -> ns, one per launch."""
        cells = list(best)
        launches = {"default": [({}, cells)], "rules": [({DYNAMIC: "1", FILE: str(rules)}, cells)], "best": launches_of(best)}
        times = {cell: {arm: [] for arm in ARMS} for cell in cells}
        for launch in range(self.options.launches):
            for arm in order_of(launch):
                for environment, of_launch in launches[arm]:
                    for cell, nanoseconds in self.time(of_launch, calls, environment).items():
                        times[cell][arm].append(nanoseconds)
            print(f"launch {launch + 1} of {self.options.launches}", file=sys.stderr)
        return times


def main():
    options = arguments()
    before = machine()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, pathlib.Path(folder))
        database = options.db or bench.sweep("measured", options.sizes)
        measured = {size for (collective, size) in bench.ranked(database) if collective in options.collectives}
        if not measured:
            sys.exit(f"{database} has no decision of family mpi for ordinary calls of {options.ranks} ranks and these collectives")
        sizes = options.held_out or between(measured, options.ranks)
        if shared := measured & set(sizes):
            sys.exit(f"--held-out: {sorted(shared)} were measured for the rules")
        if not sizes:
            sys.exit("there is no size between the measured ones: name some by --held-out")
        rules = bench.export(database)
        held_out = bench.sweep("held_out", sizes)
        calls = calls_of(bench.programs.json_of("show", "measurements", "--db", str(held_out)))
        chosen = {cell: found for cell, rows in bench.ranked(held_out).items()
                  if cell in calls and (found := best_settings(rows)) is not None}
        if not chosen:
            sys.exit("nothing was measured at the held-out sizes: --sweep-seconds gives it more time")
        times = bench.measure({cell: variables for cell, (_, variables) in chosen.items()}, calls, rules)
        text = rules.read_text()
    rows, means, faults = judge(times, options.ranks)
    print(f"{'collective':<16}{'bytes':>10}{'rules us':>12}   default / rules         best / rules            the best forced")
    for row in rows:
        row["best_variant"] = chosen[row["collective"], row["bytes"]][0]
        ratios = "   ".join(f"{row[arm]['ratio']:>6.3f} ({row[arm]['low']:.3f} to {row[arm]['high']:.3f})" for arm in ("default", "best"))
        print(f"{row['collective']:<16}{row['bytes']:>10}{statistics.median(row['rules_ns']) / 1e3:>12.2f}   {ratios}   {row['best_variant']}")
    lost = len(options.collectives) * len(sizes) - len(rows)
    print(f"{options.ranks} ranks, {len(rows)} cells at held-out sizes" + (f" ({lost} were not measured)" if lost else "") +
          f", {options.launches} launches of each\n"
          f"geometric mean against the default {means['default']:.3f} (at least {AGAINST_DEFAULT:.2f}" +
          (f", aim {means['aim']:.2f}" if means["aim"] else "") + f"), against the best forced algorithm {means['best']:.3f} "
          f"(at least {AGAINST_BEST:.2f})\n" + ("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults)))
    if options.results:
        print("kept in", store(options.results, f"open_mpi_rules_{options.ranks}", before,
                               {"cells": rows, "geometric_means": means, "faults": faults}, ranks=options.ranks,
                               release=options.release, rules=text))
    return 0 if options.unjudged or not faults else 1


if __name__ == "__main__":
    sys.exit(main())
