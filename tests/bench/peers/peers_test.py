#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that peers.py, report.py and back_to_back.py work: one collective, two sizes, one launch of each of two builds (the
same one twice). What it measures with such counts means nothing; what is stored must be complete.

  tests/bench/peers/peers_test.py BUILD LAUNCHER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import limits  # noqa: E402
import report  # noqa: E402
from launches import bounds_of_median  # noqa: E402

SKIPPED = 77  # to ctest


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_bounds():
    check(bounds_of_median([3, 1, 2]) == (1, 3, 0.875), "three launches have their ends for bounds, 87.5 % each")
    check(bounds_of_median([5, 3, 1, 2, 4]) == (1, 5, 0.96875), "five are the fewest with a 95 % bound")
    low, high, confidence = bounds_of_median(range(8))
    check((low, high) == (1, 6) and 0.95 < confidence < 0.97, "of eight the outermost are not needed")


def check_limits():
    check(limits.bytes_of("64KiB") == limits.bytes_of("65536"), "sizes are read")
    check([limits.bytes_per_core(name, 1024, 4, 2) for name in ("all_reduce", "scatter", "broadcast", "gather")] ==
          [2048, 512, 1536, 512], "4 ranks on 2 cores: what each core has to copy")
    found = {"cores": 2, "hand_over_ns": {"median": 60}, "copy_ns": {"8": {"all_cores": {"median": 1}},
                                                                     "1MiB": {"all_cores": {"median": 30000}}}}
    check(limits.limit_of(found, 8, 2, 2) == ("hand_over", 60), "a small message is limited by the hand-over")
    check(limits.limit_of(found, 1 << 20, 4, 2) == ("copy", 30000), "a large one by copying")
    check(limits.limit_of(found, 8, 4, 2) is None, "ranks that share cores wait for them, not for a line")
    check(limits.limit_of(found, 1 << 10, 2, 2) is None, "what was not measured limits nothing")


def check_older_results():
    """Copying 16 MiB once on both cores took 1.45 and 1.34 ms when all_reduce took 1.43 and 1.25."""
    shares = []
    for path in (HERE / "results").glob("open_mpi_[pr]*.json"):
        stored = json.loads(path.read_text())
        if "runs" not in stored["result"]:
            for run in report.put_together([stored], 1 << 30):
                shares += [row["share_of_limit"] for row in run["rows"]
                           if row["collective"] == "all_reduce" and row["bytes"] == 16 << 20]
    check(all(0.9 < share < 1.2 for share in shares), f"shares of copying: {shares}")


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def check_peers(build, launcher, folder):
    said = run(HERE / "peers.py", "--build", build, "--mpirun", launcher, "--other", f"again:{build}:{launcher}", "--ranks", 2,
               "--collectives", "all_reduce", "--sizes", "8,64KiB", "--buffers", "plain", "--launches", 1,
               "--seconds-per-key", 2, "--seconds-per-launch", 4, "--results", folder, "--name", "smoke")
    stored = json.loads((folder / "smoke.json").read_text())
    runs = stored["result"]["runs"]
    check([(one["library"], one["ranks"], one["buffers"]) for one in runs] ==
          [("open_mpi", 2, "plain"), ("again", 2, "plain")], f"a run for each build: {said}")
    check(set(stored["result"]["versions"]) == {"open_mpi", "again"}, "the libraries' versions are kept")
    check("one_core" in stored["result"]["limits"]["copy_ns"]["16MiB"], "the machine's limits are kept")
    for one in runs:
        check([row["bytes"] for row in one["rows"]] == [8, 64 << 10], f"a row for each size: {said}")
        for row in one["rows"]:
            check(min(row[field] for field in ("time_us", "ratio_to_best", "ratio_to_default", "limit_us",
                                               "share_of_limit")) > 0, f"{row} is positive")
            check(row["ratio_to_best_low"] == row["ratio_to_best"] == row["ratio_to_best_high"], f"{row}: bounds of one launch")
            check(row["confidence_of_bound"] == 0.5, f"{row}: what one launch's bounds are worth")
            check(("ratio_across_launches" in row) == (one["library"] == "again"), f"{row} is compared across launches")
        check(one["summary"]["all_reduce"]["sizes"] == 2, "a mean over both sizes")
    # Larger messages left out, and put together with itself: each row once.
    printed = run(HERE / "report.py", folder / "smoke.json", folder / "smoke.json", "--up-to", "1KiB")
    check(printed.count("against") == 2 and "(50.0 %)" in printed, f"a row and a mean of each build: {printed}")


def check_back_to_back(build, folder):
    run(HERE / "back_to_back.py", "--build", build, "--results", folder, "--runs", 2, "--rounds", 5, "--calls", 100)
    best = json.loads((folder / "back_to_back.json").read_text())["result"]["best"]
    check(len(best) == 2 and all(one["hand_overs"]["median"] > 0 for one in best), f"the best of each run: {best}")


def main():
    build, launcher = sys.argv[1:]
    check_bounds()
    check_limits()
    check_older_results()
    if limits.cores_of(2) < 2:
        print("two cores are needed, this process may use one")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        check_peers(pathlib.Path(build), launcher, pathlib.Path(folder))
        check_back_to_back(pathlib.Path(build), pathlib.Path(folder))


if __name__ == "__main__":
    main()
