#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What does a call take longer while `colltune run --record` writes it down?

  tests/bench/executed/recording_cost.py

Launches of ordinary MPI programs (ordinary_program.cpp: its own loop over all_reduce, broadcast and gather; started_program.c: starts
and waits of a persistent all_reduce) with the recorder and without alternate, every other round the other way round. The cost is the
difference of neighbouring launches' medians; printed with its 95 % interval over the launches (Student's). Holds where no size's
interval lies wholly above 100 ns. Exit code: 0 where it holds, 1 where it does not. On a quiet machine alone."""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import launches  # noqa: E402
from baseline import STUDENT  # noqa: E402
from launches import SOURCE, Programs  # noqa: E402

MOST_NS = 100
WORDS = ["MPI_Allreduce:8:100", "MPI_Bcast:8:100", "MPI_Gather:64:100"]
STARTED = "start of MPI_Allreduce_init:8:100"  # and its wait, which is not recorded


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--launches", type=int, default=8, choices=range(2, 11), help="of each")
    parser.add_argument("--seconds", type=float, default=0.3, help="for each call in each launch")
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "tests/bench/results")
    parser.add_argument("--unjudged", action="store_true", help="end with 0 whatever was found")
    return parser.parse_args()


def interval(differences):
    """Of their mean."""
    mean = statistics.mean(differences)
    half = STUDENT[len(differences) - 1] * statistics.stdev(differences) / len(differences) ** 0.5
    return mean - half, mean + half


def main():
    options = arguments()
    before = launches.machine()
    programs = Programs(options.build, options.mpirun, 2)
    times = {word: {"with_ns": [], "without_ns": []} for word in [*WORDS, STARTED]}
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.ctr"
        program = [*programs.launch, str(options.build / "tests/bench/ordinary_program"), "grown", "each", str(options.seconds), *WORDS]
        started = [*programs.launch, str(options.build / "tests/bench/started_program"), str(options.seconds)]
        recorder = [programs.colltune, "run", "--quiet", "--record", str(trace), "--"]
        for launch in range(options.launches):
            sides = [("with_ns", recorder), ("without_ns", [])]
            for words, command in ((WORDS, program), ([STARTED], started)):
                for side, prefix in sides if launch % 2 == 0 else reversed(sides):
                    done = programs.run(*prefix, *command, codes=(0,))
                    for word, cell in zip(words, map(json.loads, done.stdout.splitlines())):
                        times[word][side].append(cell["median_ns"])
                if not trace.exists():
                    sys.exit(f"nothing was recorded: {done.stderr}")
                trace.unlink()
    faults = []
    rows = []
    print("what an ordinary program's call takes longer while it is recorded, 2 ranks")
    for word, both in times.items():
        low, high = interval([mine - theirs for mine, theirs in zip(both["with_ns"], both["without_ns"])])
        name, size, _ = word.split(":")
        print(f"{name:<29}{size:>4} B: {statistics.median(both['without_ns']):8.1f} ns without, "
              f"{statistics.median(both['with_ns']):8.1f} with: {(low + high) / 2:6.1f} ns more, {low:.1f} to {high:.1f}")
        rows.append({"call": name, "bytes": int(size), **both, "interval_ns": [low, high]})
        if low > MOST_NS:
            faults.append(f"{name}: {low:.1f} ns or more")
    print("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults))
    launches.store(options.results, "recording_cost", before, {"faults": faults, "calls": rows})
    return 0 if options.unjudged or not faults else 1


if __name__ == "__main__":
    sys.exit(main())
