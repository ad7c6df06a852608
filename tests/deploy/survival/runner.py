# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Runs cases as a test, with small counts, or for figures. A case is (generator of observations, repetitions of the test,
repetitions for the figure, the most that a figure may be); see cases.py."""

import argparse
import datetime
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from harness import Failed


def parse(arguments, description, cases):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(cases))
    parser.add_argument("--build", type=Path, help="build folder; else COLLTUNE_BIN and COLLTUNE_FAULTS name the parts")
    parser.add_argument("--count", type=int, help="repetitions of each case")
    parser.add_argument("--full", action="store_true", help="the repetitions of the figures; times are judged, too")
    parser.add_argument("--json", type=Path, metavar="DIR", help="one file per case with all that was seen")
    options = parser.parse_args(arguments)
    if unknown := set(options.cases) - set(cases):
        parser.error(f"no such case: {', '.join(sorted(unknown))}; there are {', '.join(cases)}")
    return options


def programs_of(options):
    """The folder of the programs, and the plug-in with planted faults."""
    programs = options.build / "bin" if options.build else Path(os.environ["COLLTUNE_BIN"])
    faults = os.environ.get("COLLTUNE_FAULTS")
    if options.build:
        faults = str(next(options.build.rglob("faults_plugin.so")).resolve())
    return programs.resolve(), faults


def makes_figures(options):
    return options.full or options.count is not None


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


def run_case(options, prefix, name, definition, make_lab):
    case, small, large, limits = definition
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
              "machine": before, "command": " ".join([f"tests/deploy/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
              "observations": observations}
    print(f"{name}: {'FAILED' if failure else 'good'}, {len(observations)} seen in {seconds:.0f} s, {spread(observations)}",
          flush=True)
    if failure:
        print(f"{name}: after {len(observations)} good ones: {failure}", file=sys.stderr, flush=True)
    if options.json:
        options.json.mkdir(parents=True, exist_ok=True)
        rows = ",\n    ".join(json.dumps(seen) for seen in observations)
        text = json.dumps(result | {"observations": "ROWS"}, indent=2).replace('"ROWS"', f"[\n    {rows}\n  ]")
        (options.json / f"{prefix}_{name}.json").write_text(text + "\n")
    return failure is None


def main(description, prefix, cases, make_lab):
    """The exit code. `make_lab`: options -> what a case gets; `prefix`: of the files of results."""
    options = parse(sys.argv[1:], description, cases)
    good = [run_case(options, prefix, name, cases[name], make_lab) for name in options.cases or cases]
    return 0 if all(good) else 1
