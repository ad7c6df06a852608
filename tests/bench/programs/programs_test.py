#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that programs.py works, on two of its programs: recorded, measured, launched with the winners and without, with the same
results. What it measures with such counts means nothing.

  tests/bench/programs/programs_test.py BUILD LAUNCHER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import programs  # noqa: E402


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_judgement():
    def launched(*seconds, found="1", hand_over=(50, 55)):
        return [programs.Launched((found,), one, list(hand_over)) for one in seconds]
    same = {"with": launched(2.0, 2.0, 2.0), "without": launched(1.0, 1.0, 1.0)}
    check(programs.same(same, True), "equal results are the same")
    other = {**same, "with": launched(2.0) + launched(2.0, found="2")}
    check(not programs.same(other, True), "another result is seen")
    check(programs.same(other, False), "a program's own check is enough where its last digits may differ")
    check(programs.more_seconds([1.0, 2.0, 3.0], [1.5, 2.5, 2.0]) == 0.5, "a difference is of a pair")
    odd = {"with": launched(*[1.0] * 10), "without": launched(*[2.0] * 9, 9.0)}
    check(programs.compared(odd, "with") == (2.0, 2.0, 2.0, 10), "one odd launch of ten changes nothing")
    far = (200, 210)
    moved = {"with": launched(*[1.0] * 4) + launched(*[2.0] * 4, hand_over=far),
             "without": launched(*[3.0] * 4, hand_over=far) + launched(*[1.5] * 4)}
    check(programs.compared(moved, "with") == (1.5, 1.5, 1.5, 8), "launches are compared with those of the same state")
    apart = {"with": launched(*[1.0] * 4), "without": launched(*[3.0] * 4, hand_over=far)}
    check(programs.compared(apart, "with") is None, "launches of two states are not compared")
    trace = {"ranks": 2, "rank_time_ns": 1000, "not_kept": {"calls": 0, "time_ns": 100},
             "calls": [{"by_ranks": {"time_ns": 300}, "saved_ns_per_rank": 50, "is_run": True},
                       {"by_ranks": {"time_ns": 100}, "not_served": "nonblocking"}]}
    check(programs.share_of(trace) == [0.5, 0.3, 0.1], "shares are of the ranks' time")


def main():
    check_judgement()
    build, launcher = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([HERE / "programs.py", "--build", build, "--mpirun", launcher, "--ranks", "2", "--only", "2 x 32",
                               "--launches", "2", "--scale", "0.05", "--sweep-seconds", "6", "--unjudged", "--results", folder],
                              check=True, capture_output=True, text=True)
        both = subprocess.run([HERE / "programs.py", "--build", build, "--mpirun", launcher, "--ranks", "4", "--only", "8^3",
                               "--launches", "2", "--scale", "0.01", "--sweep-seconds", "6", "--unjudged", "--results", folder],
                              check=True, capture_output=True, text=True)
        rows = [row for ranks in (2, 4)
                for row in json.loads((pathlib.Path(folder) / f"programs_{ranks}.json").read_text())["result"]["programs"]]
    check([row["ranks"] for row in rows] == [2, 4], f"both programs ran: {done.stderr} {both.stderr}")
    for row in rows:
        check(0 < row["served"] <= row["collectives"] <= 1, f"calls of {row['program']} were measured: {row}")
        # On a busy machine it may be that nothing is proven to be faster.
        if "with_s" in row:
            check(row["is_same"], f"{row['program']} finds the same")
            check(all(len(row[side]) == 2 for side in ("with_s", "without_s", "control_s")), "each side ran twice")


if __name__ == "__main__":
    main()
