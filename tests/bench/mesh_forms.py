#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""When do merged or hierarchical reductions over a process mesh beat one all_reduce after another?

For each mesh one sweep of all forms; the best variant of each form, and what is chosen, beside what frameworks do (the
steps in sequence, each by the library's own choice), from the same rounds of the same launch: the ratio is the median
over the passes, its spread their lowest and highest. A choice is slower than the baseline beyond noise where even its
fastest pass is.

    tests/bench/mesh_forms.py                                  # 4, 6 and 8 ranks, 1 KiB to 16 MiB, some minutes each
    tests/bench/mesh_forms.py --meshes 2x2 --sizes 1KiB,1MiB --budget 20

With more ranks than cores one call of 16 MiB takes a tenth of a second: of a budget that is too small for that, short
messages get too few rounds to prove anything, and the baseline stays. Then ask for them apart.
"""
import argparse
import pathlib
import statistics
import sys
import tempfile

from launches import SOURCE, Programs, by_trial, key_of, machine, pass_ratios, balanced_time, store, write_config

FORMS = ["sequential", "merged", "hierarchical"]
DEFAULT_MESHES = "2x2,2x3,4x2,2x2x2"


def steps_of(shape, op):
    return ",".join(f"{dimension}:{op}" for dimension in range(len(shape.split("x"))))


def ranks_of(shape):
    ranks = 1
    for extent in shape.split("x"):
        ranks *= int(extent)
    return ranks


def size_text(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def passes_by_key(measurements):
    """key -> printed variant -> its measurements, one per pass; and whether it is the baseline."""
    found = {}
    for (_, key, variant, is_twin), passes in by_trial(measurements).items():
        if not is_twin:
            found.setdefault(key, {})[variant] = passes
    return found


def row_of(variants, winner):
    """The best of each form and what was chosen, beside the baseline."""
    baseline = next((passes for passes in variants.values() if passes[0]["is_baseline"]), None)
    # Its runs may all have been disturbed.
    if baseline is None or balanced_time(baseline) is None:
        return None
    row = {"size_bytes": baseline[0]["key"]["problem"]["message_size_bytes"],
           "baseline_us": balanced_time(baseline) / 1e3, "forms": {}}
    most = max(len(passes) for passes in variants.values())
    for form in FORMS:
        # Who left the race early was measured too little to be compared.
        able = {name: ratios for name, passes in variants.items()
                if name.startswith(form + ".") and 2 * len(passes) > most and (ratios := pass_ratios(baseline, passes))}
        if not able:
            continue
        name = max(able, key=lambda one: statistics.median(able[one]))
        communicators = max(one["conditions"].get("communicators_ns", 0) for one in variants[name])
        row["forms"][form] = {"variant": name, "ratio": statistics.median(able[name]), "low": min(able[name]),
                              "high": max(able[name]), "passes": len(able[name]),
                              "communicators_us": communicators / 1e3}
    ratios = pass_ratios(baseline, variants[winner])
    row["chosen"] = {"variant": winner, "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios)}
    return row


def print_table(title, rows):
    print(f"\n{title}: times faster than the steps in sequence by the library's own choice [lowest, highest pass]")
    print(f"{'size':>8} {'sequence':>12}  " + "".join(f"{form:>28}" for form in FORMS) + "  chosen")
    for row in rows:
        cells = ""
        for form in FORMS:
            one = row["forms"].get(form)
            cells += f"{'-' if one is None else '{:.2f} [{:.2f}, {:.2f}]'.format(one['ratio'], one['low'], one['high']):>28}"
        chosen = row["chosen"]
        print(f"{size_text(row['size_bytes']):>8} {row['baseline_us']:>9.1f} us  {cells}  "
              f"{chosen['variant'].split('.')[0]} {chosen['ratio']:.2f}"
              f"{'  SLOWER' if chosen['high'] < 1 else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe")
    parser.add_argument("--meshes", default=DEFAULT_MESHES)
    parser.add_argument("--op", default="sum", choices=["sum", "prod", "min", "max", "avg"])
    parser.add_argument("--types", default="f32")
    parser.add_argument("--sizes", default="1KiB..16MiB x4")
    parser.add_argument("--budget", type=float, default=150, help="seconds for each mesh")
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--results", type=pathlib.Path, help="folder to keep what was found in")
    parser.add_argument("--case", default="mesh_forms", help="under this name")
    arguments = parser.parse_args()
    before, found, slower = machine(), {}, 0
    for shape in arguments.meshes.split(","):
        programs = Programs(arguments.build, arguments.mpirun, ranks_of(shape))
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            config = write_config(folder, "mesh", meshes=[{"shape": shape, "reduce": steps_of(shape, arguments.op)}],
                                  types=arguments.types.split(","), sizes=arguments.sizes,
                                  budget_seconds=arguments.budget, passes=arguments.passes, soak={"seconds": 0.1},
                                  # Ranks that share cores always wait for one.
                                  decision={"most_kept_waiting": 1})
            programs.sweep(config, folder / "mesh.db")
            measurements = programs.json_of("show", "measurements", "--db", str(folder / "mesh.db"))
            decisions = programs.json_of("show", "decisions", "--db", str(folder / "mesh.db"))
        winners = {key_of(one): one["winner"] for one in decisions if one["family"] == "any"}
        for kind in arguments.types.split(","):
            rows = [row for key, variants in passes_by_key(measurements).items()
                    if key in winners and next(iter(variants.values()))[0]["key"]["problem"]["data_type"] == kind
                    and (row := row_of(variants, winners[key]))]
            rows.sort(key=lambda row: row["size_bytes"])
            slower += sum(row["chosen"]["high"] < 1 for row in rows)
            title = f"{shape} {steps_of(shape, arguments.op)} {kind}, {ranks_of(shape)} ranks"
            print_table(title, rows)
            found[title] = rows
    print(f"\n{slower} choice(s) slower than the steps in sequence in every pass")
    if arguments.results:
        print("kept in", store(arguments.results, arguments.case, before, found))
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
