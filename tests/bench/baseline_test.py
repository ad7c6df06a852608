#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that baseline.py works: how it judges, and that two launches in each environment store all cells. What it measures
with such counts means nothing.

  tests/bench/baseline_test.py BUILD LAUNCHER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import baseline  # noqa: E402


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_judgement():
    even = [0.99, 1.01, 1.0, 0.98, 1.02]
    mean, faults = baseline.judge({("broadcast", 64): even, ("broadcast", 256): even})
    check(abs(mean - 1) < 0.001 and not faults, "what is alike holds")
    mean, faults = baseline.judge({("broadcast", 64): [2 * ratio for ratio in even], ("broadcast", 256): even})
    check(len(faults) == 2 and "geometric mean" in faults[0] and "broadcast 64 B" in faults[1], "a cell twice as slow does not")
    _, faults = baseline.judge({("reduce", 64): [0.8, 1.3, 1.0, 1.5, 0.7], ("reduce", 256): even})
    check(not any("reduce 64" in fault for fault in faults), "an interval that reaches into the bounds says nothing")
    low, high = baseline.interval([1.0, 1.1, 0.9, 1.05, 0.95])
    check(0.90 < low < 0.91 and 1.09 < high < 1.11, f"the interval is Student's: {low}, {high}")


def main():
    check_judgement()
    build, launcher = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([HERE / "baseline.py", "--build", build, "--mpirun", launcher, "--collectives", "broadcast",
                        "reduce_scatter", "--sizes", "64", "65536", "--launches", "2", "--seconds", "0.1", "--precision", "0.5",
                        "--most-rounds", "24", "--unjudged", "--results", folder], check=True)
        result = json.loads((pathlib.Path(folder) / "baseline_each.json").read_text())["result"]
    for environment in ("grown", "fresh"):
        cells = {(cell["collective"], cell["bytes"]) for cell in result[environment]["cells"]}
        check(len(cells) == 4, f"{environment} has all cells")
        check(all(len(cell[side]) == 2 and min(cell[side]) > 0 for cell in result[environment]["cells"]
                  for side in ("agent_ns", "program_ns")), "each cell has the times of two launches")


if __name__ == "__main__":
    main()
