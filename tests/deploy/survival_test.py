#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What a candidate or the machine does to a sweep, with the real programs: planted faults of every kind, kills at random
moments, stopped ranks, a killed launcher or supervisor, a full disk, a second sweep on the same database.

  tests/deploy/survival_test.py --build build/release                        every case, small counts (as ctest)
  tests/deploy/survival_test.py --build build/release --full [--json DIR]   counts and limits of the figures
  tests/deploy/survival_test.py --build build/release --count 50 kills      one case, so many times
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parent / "survival"))
from cases import CASES  # noqa: E402
from harness import Failed, Lab  # noqa: E402


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--build", type=Path, help="build folder; else COLLTUNE_BIN and COLLTUNE_FAULTS name the parts")
    parser.add_argument("--count", type=int, help="repetitions of each case")
    parser.add_argument("--full", action="store_true", help="the repetitions of the figures; times are judged, too")
    parser.add_argument("--json", type=Path, metavar="DIR", help="one file per case with all that was seen")
    options = parser.parse_args(arguments)
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    return options


def make_lab(options):
    programs = options.build / "bin" if options.build else Path(os.environ["COLLTUNE_BIN"])
    faults = os.environ.get("COLLTUNE_FAULTS")
    if options.build:
        faults = str(next(options.build.rglob("faults_plugin.so")).resolve())
    launcher = os.environ.get("COLLTUNE_MPIRUN", "mpirun.openmpi --oversubscribe").split()
    return Lab(programs.resolve(), faults, launcher, is_full=options.full or options.count is not None)


def machine():
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "load": [round(load, 2) for load in os.getloadavg()]}


def spread(observations):
    """Median and largest of every number that was seen."""
    numbers = {}
    for seen in observations:
        for key, value in seen.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                numbers.setdefault(key, []).append(value)
    return {key: {"median": statistics.median(values), "largest": max(values)} for key, values in numbers.items()}


def run_case(options, name):
    case, small, large, limits = CASES[name]
    count = options.count or (large if options.full else small)
    begin = time.monotonic()
    before = machine()
    observations, failure = [], None
    lab = make_lab(options)
    try:
        for seen in case(lab, count):
            observations.append(seen)
            if options.full or options.count:
                print(f"  {name} {len(observations)}: {json.dumps(seen)}", flush=True)
    except Failed as error:
        failure = str(error)
    finally:
        lab.close()
    seen_most = {key: numbers["largest"] for key, numbers in spread(observations).items()}
    if beyond := {key: most for key, most in limits.items() if options.full and seen_most.get(key, 0) > most}:
        failure = failure or f"beyond {beyond}: {seen_most}"
    seconds = time.monotonic() - begin
    result = {"case": name, "what": " ".join(case.__doc__.split()), "asked": count, "seen": len(observations),
              "limits": limits, "failure": failure, "spread": spread(observations), "seconds": round(seconds, 1),
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "machine": before, "command": " ".join(["tests/deploy/survival_test.py", *sys.argv[1:]]),
              "observations": observations}
    print(f"{name}: {'FAILED' if failure else 'good'}, {len(observations)} seen in {seconds:.0f} s, {spread(observations)}",
          flush=True)
    if failure:
        print(f"{name}: after {len(observations)} good ones: {failure}", file=sys.stderr, flush=True)
    if options.json:
        options.json.mkdir(parents=True, exist_ok=True)
        rows = ",\n    ".join(json.dumps(seen) for seen in observations)
        text = json.dumps(result | {"observations": "ROWS"}, indent=2).replace('"ROWS"', f"[\n    {rows}\n  ]")
        (options.json / f"survival_{name}.json").write_text(text + "\n")
    return failure is None


def main():
    options = parse(sys.argv[1:])
    good = [run_case(options, name) for name in options.cases or CASES]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
