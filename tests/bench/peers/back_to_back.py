#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""How close a small all_reduce, call after call, comes to one hand-over of a cache line, in several runs.

  tests/bench/peers/back_to_back.py --build build/release

keeps what back_to_back printed in each run, and of each the variant with the least hand-overs per call: ratios of the
same round, medians over the rounds. Some seconds each.
"""
import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import launches  # noqa: E402
from launches import Programs, SOURCE  # noqa: E402


def best_of(run):
    variant, found = min(run["variants"].items(), key=lambda item: item[1]["hand_overs"]["median"])
    return {"variant": variant, "hand_overs": found["hand_overs"], "call_ns": found["call_ns"]["median"],
            "hand_over_ns": run["hand_over_ns"]["median"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--size", default="8")
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--calls", type=int, default=2000, help="of each round")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    programs = Programs(build, "", 2)
    before = launches.machine()
    runs = [json.loads(programs.run(str(build / "tests/bench/peers/back_to_back"), "--size", arguments.size, "--rounds",
                                    str(arguments.rounds), "--calls", str(arguments.calls), codes=(0,)).stdout)
            for _ in range(arguments.runs)]
    best = [best_of(run) for run in runs]
    for one in best:
        print(f"{one['call_ns']:.1f} ns a call, {one['hand_over_ns']:.1f} ns a hand-over: {one['hand_overs']['median']:.2f} "
              f"hand-overs ({one['hand_overs']['p10']:.2f} to {one['hand_overs']['p90']:.2f}), {one['variant']}")
    print(launches.store(arguments.results, "back_to_back", before, {"best": best, "runs": runs}))


if __name__ == "__main__":
    main()
