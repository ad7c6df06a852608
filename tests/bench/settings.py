#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What does each setting of one parameter gain over another one?

One sweep of the same variants with each of the settings, the first of which is what the others are compared with. The
ratios are medians over the rounds of a pass, then over the passes; beside the median stand the lowest and the highest pass.
At the end, for each call: the fastest of the variants with the first setting beside the fastest one of all, which is what
trying the others gains.

    tests/bench/settings.py slots 4 2 8 16 --sizes 1MiB,16MiB --implementations 'cpu.*_two_shot' 'cpu.*_flat' --pin access=staged
"""
import argparse
import pathlib
import re
import statistics
import tempfile

from launches import (COLLECTIVES, SOURCE, Programs, balanced_ratio, balanced_time, by_trial, machine, over_passes, pass_ratios,
                      store, write_config)


def setting_of(text):
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def pinned(texts):
    """["a=1,2"] as what a configuration calls parameters."""
    found = {}
    for text in texts:
        name, _, values = text.partition("=")
        found[name] = [setting_of(value) for value in values.split(",")]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parameter")
    parser.add_argument("settings", nargs="+", help="the first one is what the others are compared with")
    parser.add_argument("--implementations", nargs="+", default=["cpu.*"])
    parser.add_argument("--pin", nargs="*", default=[], metavar="PARAMETER=VALUE[,VALUE]", help="of all variants")
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", default="1MiB,16MiB")
    parser.add_argument("--buffers", nargs="+", choices=["plain", "registered"], default=["plain"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--budget", type=float, default=180)
    parser.add_argument("--passes", type=int, default=8)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe")
    parser.add_argument("--results", type=pathlib.Path, help="folder to keep what was found in")
    parser.add_argument("--name", help="of the result [settings_PARAMETER]")
    arguments = parser.parse_args()
    before = machine()
    programs = Programs(arguments.build, arguments.mpirun, arguments.ranks)
    parameters = {**pinned(arguments.pin), arguments.parameter: [setting_of(one) for one in arguments.settings]}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        config = write_config(
            folder, "settings", collectives=arguments.collectives, sizes=arguments.sizes,
            registered=[kind == "registered" for kind in arguments.buffers],
            budget_seconds=arguments.budget, passes=arguments.passes, soak={"seconds": 0.1},
            implementations={"include": ["mpi.*", *arguments.implementations], "exclude": ["mpi.*_tuned"]},
            parameters={pattern: parameters for pattern in arguments.implementations})
        programs.sweep(config, folder / "settings.db")
        measurements = programs.json_of("show", "measurements", "--db", str(folder / "settings.db"))
    trials = {}
    for (_, key, variant, is_twin), passes in by_trial(measurements).items():
        if (found := re.search(rf"\b{re.escape(arguments.parameter)}=([^,}}]+)", variant)) and not is_twin:
            rest = variant.replace(found.group(0), f"{arguments.parameter}=*")
            trials.setdefault((key, rest), {})[found.group(1)] = passes
    reference, *others = arguments.settings
    rows = []
    for (_, name), of_setting in trials.items():
        for other in others:
            if reference not in of_setting or other not in of_setting:
                continue
            if ratios := pass_ratios(of_setting[reference], of_setting[other]):
                problem = of_setting[reference][0]["key"]["problem"]
                rows.append({"variant": name, "collective": problem["collective"],
                             "size_bytes": problem["message_size_bytes"], "registered": problem["registered"],
                             "setting": other, "times_as_fast": over_passes(ratios), "low": min(ratios),
                             "high": max(ratios), "passes": len(ratios)})
    rows.sort(key=lambda row: (row["setting"], row["collective"], row["size_bytes"], row["variant"]))
    print(f"{arguments.parameter}, times as fast as with {reference} [lowest, highest pass]")
    for row in rows:
        print(f"{row['setting']:>12} {row['times_as_fast']:>6.2f} [{row['low']:.2f}, {row['high']:.2f}] of {row['passes']}  "
              f"{row['size_bytes']:>9} {'registered' if row['registered'] else 'plain':10} {row['variant']}")
    for other in others:
        own = [row["times_as_fast"] for row in rows if row["setting"] == other]
        if own:
            print(f"{other}: geometric mean {statistics.geometric_mean(own):.3f}, lowest {min(own):.2f}, highest {max(own):.2f},"
                  f" of {len(own)} variants and sizes")
    print(f"the fastest of all, times as fast as the fastest with {arguments.parameter}={reference}")
    calls = {}
    for (key, name), of_setting in trials.items():
        for setting, passes in of_setting.items():
            if time := balanced_time(passes):
                calls.setdefault(key, []).append((time, setting, name, passes))
    gains = []
    for of_call in calls.values():
        if usual := [one for one in of_call if one[1] == reference]:
            best, first = min(of_call, key=lambda one: one[0]), min(usual, key=lambda one: one[0])
            gain = 1.0 if best is first else balanced_ratio(first[3], best[3])
            problem = first[3][0]["key"]["problem"]
            gains.append({"collective": problem["collective"], "size_bytes": problem["message_size_bytes"],
                          "registered": problem["registered"], "gain": gain, "best": best[2].replace("=*", f"={best[1]}"),
                          "usual": first[2].replace("=*", f"={reference}"), "usual_us": first[0] / 1e3})
    for one in sorted(gains, key=lambda one: (one["collective"], one["size_bytes"])):
        gain = f"{one['gain']:.2f}" if one["gain"] else "-"  # never measured in the same pass
        print(f"{gain:>6}  {one['usual_us']:>9.2f} us {one['size_bytes']:>9} {one['usual']}  ->  {one['best']}")
    if arguments.results:
        print("kept in", store(arguments.results, arguments.name or f"settings_{arguments.parameter}", before,
                               {"variants": rows, "calls": gains}))


if __name__ == "__main__":
    main()
