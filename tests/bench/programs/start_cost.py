#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What does `colltune run` add to a program that does nothing?

  tests/bench/programs/start_cost.py                   measures a small table first, half a minute
  tests/bench/programs/start_cost.py --db tuning.db    with the decisions of a database

Launches with `colltune run --db` and without alternate, every other pair the other way round: of `true`, of `true` under mpirun, and
of a program of MPI_Init, one allreduce and MPI_Finalize (start_program.c), whose ranks time these three themselves. Printed are
medians, and the median of the pairs' differences with its 95 % interval; beside it, how much more time processors were in use, which
loads of others disturb less. Holds where no difference's interval lies wholly above its
bar; the first launch with a generation, which makes the table, has none. Exit code: 0 where it holds, 1 where it does not. On a quiet
machine alone."""
import argparse
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import launches  # noqa: E402
from launches import COLLECTIVES, SOURCE, Programs, bounds_of_median  # noqa: E402

# Milliseconds more, at most. Of a launch under mpirun: what `colltune run` and a rank's start and end may add.
MOST_MS = {"true, first launch": None, "true": 10, "mpirun true": 10, "mpirun start_program": 13, "MPI_Init": 2, "first allreduce": 1, "MPI_Finalize": 1}
TIMES = re.compile(r"init ([0-9.]+) allreduce ([0-9.]+) finalize ([0-9.]+)")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--db", type=pathlib.Path, help="decisions [what a short sweep finds]")
    parser.add_argument("--table", type=pathlib.Path, help="decisions of a table file instead")
    parser.add_argument("--pairs", type=int, default=30, help="of launches, of each program")
    parser.add_argument("--sweep-seconds", type=float, default=24)
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "tests/bench/results")
    parser.add_argument("--unjudged", action="store_true", help="end with 0 whatever was found")
    return parser.parse_args()


def make_database(programs, folder, seconds):
    config = launches.write_config(folder, "sweep", collectives=COLLECTIVES, types=["f32"], ops=["sum"], sizes="64,4KiB,64KiB,1MiB",
                                   budget_seconds=seconds, soak={"seconds": 0.1}, precision=0.01)
    database = folder / "tuning.db"
    programs.sweep(config, database)
    return database


def used_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def launch(command, environment):
    """Seconds, seconds of processors in all its processes, and what it printed."""
    used_before = used_seconds()
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    took = time.perf_counter() - begin
    if done.returncode != 0:
        Programs.give_up(done, f"ended with {done.returncode}")
    return took, used_seconds() - used_before, done.stdout


def wait_until_remembered(command, environment):
    """A database that is new may change unseen, so its table is remembered a little later."""
    for _ in range(100):
        launch(command, environment)
        if (pathlib.Path(environment["XDG_CACHE_HOME"]) / "colltune/known-tables").exists():
            return
        time.sleep(0.1)
    sys.exit("the table of the database is made anew at each launch")


def alternate(command, prefix, pairs, environment, is_first=False):
    """Side -> name -> milliseconds of each launch."""
    times = {"with": {}, "without": {}}
    # The first launch of each side finds nothing in the caches of the system.
    for words in ([*prefix, *command], command):
        launch(words, environment)
    for pair in range(pairs):
        sides = [("with", [*prefix, *command]), ("without", command)]
        for side, words in sides if pair % 2 == 0 else reversed(sides):
            if is_first:
                shutil.rmtree(environment["XDG_CACHE_HOME"], ignore_errors=True)
            took, used, out = launch(words, environment)
            times[side].setdefault("launch", []).append(took * 1e3)
            times[side].setdefault("processors", []).append(used * 1e3)
            of_ranks = [list(map(float, found)) for found in TIMES.findall(out)]
            for name, values in zip(("MPI_Init", "first allreduce", "MPI_Finalize"), zip(*of_ranks)):
                times[side].setdefault(name, []).append(statistics.mean(values))
    return times


def differences(times, name):
    return [mine - theirs for mine, theirs in zip(times["with"][name], times["without"][name])]


def judge(rows):
    """What lies wholly above its bar."""
    return [f"{row['what']}: {row['interval_ms'][0]:.2f} ms more or worse" for row in rows
            if MOST_MS[row["what"]] is not None and row["interval_ms"][0] > MOST_MS[row["what"]]]


def main():
    options = arguments()
    before = launches.machine()
    programs = Programs(options.build, options.mpirun, options.ranks)
    rows = []
    print(f"{'milliseconds':<24}{'without':>10}{'with':>10}{'more':>8}   95 %               at most   processors'")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "caches")}
        origin = ["--table", str(options.table)]
        if options.table is None:
            origin = ["--db", str(options.db or make_database(programs, folder, options.sweep_seconds))]
        prefix = [programs.colltune, "run", "--quiet", *origin, "--"]
        decisions = len(programs.json_of("show", "decisions", *origin, "--family", "all"))
        if options.table is None:
            wait_until_remembered([*prefix, "/bin/true"], environment)
        for name, command in (("true, first launch", ["/bin/true"]), ("true", ["/bin/true"]), ("mpirun true", [*programs.launch, "/bin/true"]),
                              ("mpirun start_program", [*programs.launch, str(options.build / "tests/bench/start_program")])):
            times = alternate(command, prefix, options.pairs, environment, name.endswith("first launch"))
            for part in times["with"]:
                if part == "processors":
                    continue
                what = name if part == "launch" else part
                more = differences(times, part)
                low, high, certainty = bounds_of_median(more)
                row = {"what": what, "with_ms": times["with"][part], "without_ms": times["without"][part], "interval_ms": [low, high],
                       "certainty": certainty}
                more_used = ""
                if part == "launch":
                    row["processors_ms"] = {side: times[side]["processors"] for side in times}
                    more_used = f"{statistics.median(differences(times, 'processors')):.2f}"
                rows.append(row)
                print(f"{what:<24}{statistics.median(times['without'][part]):>10.2f}{statistics.median(times['with'][part]):>10.2f}"
                      f"{statistics.median(more):>8.2f}   {f'{low:.2f} to {high:.2f}':<18} {MOST_MS[what] or '-':<8}{more_used:>12}", flush=True)
    faults = judge(rows)
    print(f"with {decisions} decisions, {options.ranks} ranks: " + ("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults)))
    launches.store(options.results, "start_cost", before, {"decisions": decisions, "ranks": options.ranks, "faults": faults, "rows": rows})
    return 0 if options.unjudged or not faults else 1


if __name__ == "__main__":
    sys.exit(main())
