#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""When do merged or hierarchical reductions over a process mesh beat one all_reduce after another, where the mesh lies on two
hosts and the cable between them is fast or slow?

Two hosts on this machine (deploy/lab, as root), each with half of its cores, the rows of the mesh on either; for each speed of the cable the measurement of
mesh_forms.py. Beside what was measured to be best stands the rule that needs no measurement, "merge only inside a node": as
the meshes span both hosts, it runs the steps in sequence, each by the best algorithm for it.

    tests/bench/mesh_links.py                             # full speed, 10 Gbit/s, 1 Gbit/s; 2x2 and 2x3; 10 minutes
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from launches import SOURCE, machine, store
from mesh_forms import ranks_of, size_text

LIMITS = {"as fast as it goes": None, "10 Gbit/s": "10gbit", "1 Gbit/s": "1gbit"}


def measure(options, shape, rate, folder):
    """The rows of mesh_forms.py for one mesh and one cable."""
    lab = [str(SOURCE / "deploy/lab"), "run", "--hosts", "2", "--slots", str(ranks_of(shape) // 2), "--own-cores",
           "--share", folder]
    if rate:
        lab += ["--rate", rate]
    bench = [sys.executable, "-B", str(SOURCE / "tests/bench/mesh_forms.py"), "--build", str(options.build), "--meshes", shape,
             "--sizes", options.sizes, "--budget", str(options.budget), "--passes", "4", "--results", folder]
    done = subprocess.run([*lab, "--", *bench], capture_output=True, text=True, check=False, cwd=SOURCE)
    if done.returncode not in (0, 1):  # 1: a choice was slower than the steps in sequence
        sys.exit(f"{' '.join(done.args)}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = json.loads(pathlib.Path(folder, "mesh_forms.json").read_text())["result"]
    return next(iter(found.values()))


def print_table(title, rows):
    print(f"\n{title}: times faster than the steps in sequence by the library's own choice [lowest, highest pass]")
    print(f"{'size':>8} {'sequence':>13} {'in sequence, ours':>26} {'merged':>22} {'hierarchical':>22}  measured / rule")
    for row in rows:
        cells = ""
        for form, width in (("sequential", 26), ("merged", 22), ("hierarchical", 22)):
            one = row["forms"].get(form)
            cells += f" {'-' if one is None else '{:.2f} [{:.2f}, {:.2f}]'.format(one['ratio'], one['low'], one['high']):>{width}}"
        print(f"{size_text(row['size_bytes']):>8} {row['baseline_us']:>10.1f} us{cells}  "
              f"{row['chosen']['variant'].split('.')[0]} {row['beyond_the_rule']:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--meshes", default="2x2,2x3")
    parser.add_argument("--sizes", default="1KiB..4MiB x16")
    parser.add_argument("--budget", type=float, default=90, help="seconds for each mesh and cable")
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "tests/bench/results")
    options = parser.parse_args()
    before, found = machine(), {}
    for shape in options.meshes.split(","):
        for name, rate in LIMITS.items():
            with tempfile.TemporaryDirectory() as folder:
                rows = measure(options, shape, rate, folder)
            for row in rows:
                rule = max(1.0, row["forms"].get("sequential", {}).get("ratio", 1.0))
                row["beyond_the_rule"] = row["chosen"]["ratio"] / rule
            title = f"{shape} on two hosts, cable {name}"
            print_table(title, rows)
            found[title] = rows
    print("\nkept in", store(options.results, "mesh_links", before, found))


if __name__ == "__main__":
    main()
