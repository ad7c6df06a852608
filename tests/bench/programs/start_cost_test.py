#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that start_cost.py works: how it judges, and that launches with `colltune run` and without are stored, on a table in which
kernels of ours win everywhere. What it measures with such counts means nothing.

  tests/bench/programs/start_cost_test.py BUILD LAUNCHER PLANTED_TABLE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import start_cost  # noqa: E402


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_judgement():
    def row(what, low):
        return {"what": what, "interval_ms": [low, low + 1]}
    check(not start_cost.judge([row("true", 9.5), row("true, first launch", 500)]), "what may be below its bar, and what has none, holds")
    faults = start_cost.judge([row("true", 10.5), row("MPI_Init", 1)])
    check(len(faults) == 1 and faults[0].startswith("true"), f"what is wholly above its bar is named: {faults}")
    check(start_cost.differences({"with": {"x": [3, 5]}, "without": {"x": [1, 1]}}, "x") == [2, 4], "a difference is of a pair")


def main():
    check_judgement()
    build, launcher, planted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "planted.ctt"
        subprocess.run([planted, table, "1", "1x2"], check=True)
        subprocess.run([HERE / "start_cost.py", "--build", build, "--mpirun", launcher, "--table", table, "--pairs", "2", "--unjudged",
                        "--results", folder], check=True)
        rows = json.loads((pathlib.Path(folder) / "start_cost.json").read_text())["result"]["rows"]
    check([row["what"] for row in rows] == list(start_cost.MOST_MS), f"all is measured: {rows}")
    check(all(len(row[side]) == 2 for row in rows for side in ("with_ms", "without_ms")), "each side ran twice")


if __name__ == "__main__":
    main()
