#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Do stores that adapt take what the best fixed way takes, wherever the cores are?

One sweep of the same algorithms with each setting of `stores`. Where the hypervisor moves cores, visits meet a near and a
distant state (`conditions.hand_over_ns`): they are told apart here where the slowest hand-over is twice the fastest. The
ratios are medians over the passes of a state, of ratios over the common rounds of a pass.

    tests/bench/stores.py                   # 2 ranks, about two minutes
"""
import argparse
import math
import pathlib
import re
import statistics
import tempfile

from launches import SOURCE, Programs, by_trial, machine, pass_ratios, round_medians, store, write_config

FIXED = ["cached", "streaming_staging", "streaming_both"]
WAYS = FIXED + ["adaptive"]


def state_of(passes_by_way):
    """pass -> its state."""
    found = {}
    for passes in passes_by_way:
        for one in passes:
            found.setdefault(one["pass"], []).append(one["conditions"]["hand_over_ns"])
    return {number: statistics.median(times) for number, times in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--sizes", default="8KiB,64KiB,1MiB")
    parser.add_argument("--budget", type=float, default=130)
    parser.add_argument("--passes", type=int, default=24)
    parser.add_argument("--results", type=pathlib.Path, help="folder to keep what was found in")
    arguments = parser.parse_args()
    before = machine()
    programs = Programs(arguments.build, arguments.mpirun, arguments.ranks)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config = write_config(
            folder, "stores", collectives=["all_reduce", "all_to_all", "gather", "all_gather"], sizes=arguments.sizes,
            budget_seconds=arguments.budget, passes=arguments.passes, soak={"seconds": 0.1},
            implementations={"include": ["mpi.*", "cpu.*_flat", "cpu.all_reduce_*_shot"], "exclude": ["mpi.*_tuned"]},
            parameters={"cpu.*": {"stores": WAYS, "access": ["staged"], "chunk": [65536]}})
        programs.sweep(config, folder / "stores.db")
        measurements = programs.json_of("show", "measurements", "--db", str(folder / "stores.db"))
    trials = {}
    for (_, key, variant, _), passes in by_trial(measurements).items():
        if way := re.search(r",stores=(\w+)", variant):
            trials.setdefault((key, variant.replace(way.group(0), "")), {})[way.group(1)] = passes
    hand_overs = [one["conditions"]["hand_over_ns"] for one in measurements]
    two_states = max(hand_overs) > 2 * min(hand_overs)
    between = math.sqrt(min(hand_overs) * max(hand_overs))
    rows = []
    for (_, name), ways in trials.items():
        if set(ways) != set(WAYS):
            continue
        number_of = state_of(ways.values())
        problem = ways["adaptive"][0]["key"]["problem"]
        for state in ("near", "distant") if two_states else ("only",):
            mine = {way: [one for one in passes if not two_states or (number_of[one["pass"]] > between) == (state == "distant")]
                    for way, passes in ways.items()}
            ratios = {way: pass_ratios(mine[way], mine["adaptive"]) for way in FIXED}
            if not all(ratios.values()):
                continue
            medians = {way: statistics.median(values) for way, values in ratios.items()}
            best = min(medians, key=medians.get)
            rows.append({"variant": name, "collective": problem["collective"], "size_bytes": problem["message_size_bytes"],
                         "state": state, "passes": len(ratios[best]),
                         "adaptive_us": statistics.median(statistics.median(round_medians(one).values())
                                                          for one in mine["adaptive"] if round_medians(one)) / 1e3,
                         "faster_than": medians, "best": best, "low": min(ratios[best]), "high": max(ratios[best])})
    rows.sort(key=lambda row: (row["state"], row["collective"], row["size_bytes"]))
    print(f"{'state':8} {'passes':>6} {'adaptive':>11}  times as fast as: " + "".join(f"{way:>18}" for way in FIXED) +
          "   the best one [lowest, highest pass]")
    for row in rows:
        print(f"{row['state']:8} {row['passes']:>6} {row['adaptive_us']:>8.2f} us {'':>19}"
              + "".join(f"{row['faster_than'][way]:>18.2f}" for way in FIXED) + "   "
              f"{row['faster_than'][row['best']]:.2f} [{row['low']:.2f}, {row['high']:.2f}]  "
              f"{row['size_bytes']:>8} {row['variant']}")
    for state in sorted({row["state"] for row in rows}):
        own = [row for row in rows if row["state"] == state]
        print(f"{state}: of {len(own)} variants the median one {statistics.median(r['faster_than'][r['best']] for r in own):.3f}"
              f" times as fast as the best fixed way, the worst {min(r['faster_than'][r['best']] for r in own):.3f};"
              f" than the worst way {statistics.median(max(r['faster_than'].values()) for r in own):.2f}")
    if arguments.results:
        print("kept in", store(arguments.results, "stores", before, rows))


if __name__ == "__main__":
    main()
