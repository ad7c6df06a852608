#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that executed.py works: how it judges, and that launches with the component and without are stored, on a table in which
kernels of ours win everywhere. What it measures with such counts means nothing.

  tests/bench/executed/executed_test.py BUILD LAUNCHER PLANTED_TABLE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import executed  # noqa: E402


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_judgement():
    twice = [2.0, 2.1, 1.9, 2.05, 1.95]
    even = [0.99, 1.01, 1.0, 0.98, 1.02]
    check(not executed.judge({("broadcast", 64): twice, ("broadcast", 256): even}, {("broadcast", 64): 2.0}), "what was promised is there")
    faults = executed.judge({("broadcast", 64): even, ("broadcast", 256): even}, {("broadcast", 64): 2.0})
    check(len(faults) == 1 and "geometric mean" in faults[0], f"a promise is not kept: {faults}")
    faults = executed.judge({("reduce", 64): [ratio * 0.9 for ratio in even], ("reduce", 256): twice}, {})
    check(len(faults) == 1 and "reduce 64 B" in faults[0], f"a slower cell is named: {faults}")


def main():
    check_judgement()
    build, launcher, planted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "planted.ctt"
        subprocess.run([planted, table, "1", "1x2"], check=True)
        subprocess.run([HERE / "executed.py", "--build", build, "--mpirun", launcher, "--table", table, "--collectives", "all_reduce",
                        "broadcast", "--sizes", "96", "6144", "--launches", "2", "--seconds", "0.01", "--unjudged",
                        "--results", folder], check=True)
        result = json.loads((pathlib.Path(folder) / "executed_2.json").read_text())["result"]
    check(len(result["cells"]) == 4, "all cells are there")
    check(all(len(cell[side]) == 2 and min(cell[side]) > 0 for cell in result["cells"] for side in ("with_ns", "without_ns")),
          "each cell has the times of two launches")
    check(all(cell["promised"] == 2 for cell in result["cells"]), "the table promises what was planted")


if __name__ == "__main__":
    main()
