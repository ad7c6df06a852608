#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Our collectives against the MPI library's: its default, and the best of its algorithms when forced.

  tests/bench/peers/peers.py --build build/release

One sweep per kind of buffers measures every variant, interleaved, and verifies it. From it the fastest variant of ours
and the fastest of the library's (its default is one of them) are taken for each collective and size; what is reported
was measured again, by those and the default alone, in fresh launches: the choice took no part in it. A ratio is the
library's time over ours in the same round, the median over the rounds of a launch (one pass), then over the launches. The library
runs in its best environment: malloc keeps the memory that it has (--no-malloc-environment: glibc's defaults).

More ranks than cores: --ranks 4 --mpirun "mpirun.openmpi --oversubscribe".

Another MPI library is compared in a build against it, where its collectives and ours run in the same launches:

  cmake -S . -B build/mpich -G Ninja -DCMAKE_BUILD_TYPE=Release -DMPI_C_COMPILER=mpicc.mpich \\
        -DMPIEXEC_EXECUTABLE=$(command -v mpirun.mpich)
  cmake --build build/mpich --target colltune-agent colltune machine_limits
  tests/bench/peers/peers.py --build build/mpich --mpirun mpirun.mpich --name mpich
"""
import argparse
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import launches  # noqa: E402
from launches import COLLECTIVES, Programs, SOURCE, balanced_ratio, balanced_time, by_trial, write_config  # noqa: E402

BEST_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 28), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
SIZES = "8,64,512,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--name", default="open_mpi", help="of the result")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--collectives", nargs="+", default=COLLECTIVES)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--buffers", nargs="+", choices=["plain", "registered"], default=["plain", "registered"])
    parser.add_argument("--seconds-per-key", type=float, default=4, help="of the sweep that chooses")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--seconds-per-launch", type=float, default=1.5,
                        help="of those that are reported; some 0.7 of it is the start")
    parser.add_argument("--no-malloc-environment", action="store_true")
    return parser.parse_args()


def fastest(trials):
    """The variant with the best time among those that ran in the most passes: passes differ, so who missed some does not
    compare. `trials` are lists of one measurement per pass."""
    timed = [(-len(passes), time, passes[0]["variant"]) for passes in trials if (time := balanced_time(passes))]
    return min(timed)[2] if timed else None


def parameters_of(variant):
    """{"a.b": {"chunk": [64]}} of "a.b{chunk=64}"."""
    name, _, rest = variant.partition("{")
    settings = [setting.split("=") for setting in rest.rstrip("}").split(",") if setting]
    return {name: {key: [int(value) if value.isdigit() else value] for key, value in settings}} if settings else {}


def choose(programs, folder, arguments, buffers, environment):
    """(collective, bytes) -> the fastest of ours, the fastest of the library's, the default: as variants."""
    config = write_config(folder, f"choose_{buffers}", collectives=arguments.collectives, sizes=arguments.sizes,
                          registered=[buffers == "registered"],
                          budget_seconds=arguments.seconds_per_key * len(arguments.collectives) *
                          len(arguments.sizes.split(",")))
    database = folder / f"choose_{buffers}.db"
    programs.sweep(config, database, environment=environment)
    cells = {}
    for (_, _, _, is_twin), passes in by_trial(
            programs.json_of("show", "measurements", "--db", str(database))).items():
        if not is_twin:
            problem = passes[0]["key"]["problem"]
            cells.setdefault((problem["collective"], problem["message_size_bytes"]), []).append(passes)
    chosen = {}
    for place, trials in cells.items():
        ours = fastest([passes for passes in trials if passes[0]["family"] == "colltune"])
        theirs = fastest([passes for passes in trials if passes[0]["family"] == "mpi"])
        default = next((passes[0]["variant"] for passes in trials if passes[0]["is_baseline"]), None)
        if ours and theirs and default:
            chosen[place] = [ours, theirs, default]
        else:
            print(f"{place}: nothing to compare", file=sys.stderr)
    return chosen


def measure_again(programs, folder, arguments, buffers, environment, place, variants):
    """variant -> its measurements, of these variants alone in one fresh launch."""
    collective, size = place
    parameters = {}
    for variant in variants:
        for name, settings in parameters_of(variant).items():
            for key, values in settings.items():
                parameters.setdefault(name, {}).setdefault(key, set()).update(values)
    config = write_config(folder, "again", collectives=[collective], sizes=str(size), null_test=False, precision=0.001, passes=1,
                          registered=[buffers == "registered"], soak={"seconds": 0},
                          implementations={"include": sorted({variant.partition("{")[0] for variant in variants})},
                          parameters={name: {key: sorted(values) for key, values in settings.items()}
                                      for name, settings in parameters.items()},
                          budget_seconds=arguments.seconds_per_launch)
    database = folder / "again.db"
    for old in folder.glob("again.db*"):
        old.unlink()
    programs.sweep(config, database, environment=environment)
    measurements = programs.json_of("show", "measurements", "--db", str(database))
    return {variant: passes for (_, _, variant, _), passes in by_trial(measurements).items()}


def compare(programs, folder, arguments, buffers):
    environment = {} if arguments.no_malloc_environment else BEST_MALLOC
    chosen = choose(programs, folder, arguments, buffers, environment)
    rows = []
    for place, (ours, theirs, default) in sorted(chosen.items()):
        of_best, of_default, times = [], [], []
        for _ in range(arguments.launches):
            trials = measure_again(programs, folder, arguments, buffers, environment, place, {ours, theirs, default})
            if not {ours, theirs, default} <= trials.keys():
                continue
            found = (balanced_ratio(trials[theirs], trials[ours]), balanced_ratio(trials[default], trials[ours]))
            if None in found:
                continue
            of_best.append(found[0])
            of_default.append(found[1])
            times.append(balanced_time(trials[ours]))
        if not of_best or not of_default:
            print(f"{place}: not measured again", file=sys.stderr)
            continue
        rows.append({"collective": place[0], "bytes": place[1], "ours": ours, "best_of_library": theirs,
                     "time_us": statistics.median(times) / 1000, "ratio_to_best": statistics.median(of_best),
                     "ratio_to_best_low": min(of_best), "ratio_to_best_high": max(of_best),
                     "ratio_to_default": statistics.median(of_default), "launches": len(of_best)})
        row = rows[-1]
        print(f"{buffers:10} {row['collective']:15} {row['bytes']:>10} B {row['time_us']:>11.2f} us  x best "
              f"{row['ratio_to_best']:5.2f} ({row['ratio_to_best_low']:.2f} to {row['ratio_to_best_high']:.2f})  x default "
              f"{row['ratio_to_default']:5.2f}  {row['ours']}  against {row['best_of_library']}", flush=True)
    return rows


def summarize(rows):
    """Per collective: geometric means, and the worst size by the upper end of its launches."""
    summary = {}
    for collective in COLLECTIVES:
        of = [row for row in rows if row["collective"] == collective]
        if not of:
            continue
        worst = min(of, key=lambda row: row["ratio_to_best_high"])
        summary[collective] = {"sizes": len(of),
                               "ratio_to_best": statistics.geometric_mean(row["ratio_to_best"] for row in of),
                               "ratio_to_default": statistics.geometric_mean(row["ratio_to_default"] for row in of),
                               "worst_upper_bound": worst["ratio_to_best_high"], "worst_at_bytes": worst["bytes"]}
    return summary


def main():
    arguments = parse()
    programs = Programs(arguments.build.resolve(), arguments.mpirun, arguments.ranks)
    before = launches.machine()
    limits = programs.run(str(arguments.build.resolve() / "tests/bench/peers/machine_limits"), codes=(0,)).stdout
    found = {"limits": launches.json.loads(limits)}
    for buffers in arguments.buffers:
        with tempfile.TemporaryDirectory() as folder:
            rows = compare(programs, pathlib.Path(folder), arguments, buffers)
        found[buffers] = {"summary": summarize(rows), "rows": rows}
        for collective, line in found[buffers]["summary"].items():
            print(f"{buffers:10} {collective:15} x best {line['ratio_to_best']:.2f}, x default "
                  f"{line['ratio_to_default']:.2f} over {line['sizes']} sizes; worst upper bound "
                  f"{line['worst_upper_bound']:.2f} at {line['worst_at_bytes']} B", flush=True)
    print(launches.store(arguments.results, arguments.name, before, found, ranks=arguments.ranks))


if __name__ == "__main__":
    main()
