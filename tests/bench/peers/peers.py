#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Our collectives against the MPI libraries': each one's default, and the best of its algorithms when forced.

  tests/bench/peers/peers.py --other mpich:build/mpich:mpirun.mpich --make

For each build, number of ranks and kind of buffers sweeps measure every variant, interleaved, and verify it. From them
the fastest variant of ours and the fastest of the library's (its default is one of them) are taken for each
collective and size; what is reported was measured again, by those and the default alone, in fresh launches: the choice
took no part in it. A ratio is the library's time over ours in the same round, the median over the rounds of a launch
(one pass), then over the launches; beside it stand bounds of that median. A call's time is the slowest rank's. The
library runs in its best environment, `raised` (malloc keeps the memory that it has; --no-malloc-environment: `grown`, as
the agent's sweeps have it by themselves).

--other names a further library with a build of the same sources against it, where its collectives and ours run in the
same launches. The builds' launches alternate, every other round the other way round; how much faster ours in the first
build is than the other library's best is told too, from launches that are neighbours. MPICH's ranks do not yield: with
more of them than cores a call takes milliseconds, so that others are asked on 2 ranks alone (--other-ranks).

Each round also measures what the machine can do at best (limits.py), and a row tells the share of it that ours reached.

--make brings the builds up to date, and makes one that is missing with the compiler beside its launcher (mpirun.mpich:
mpicc.mpich). With less than everything (--ranks 4 --collectives scatter --sizes 1MiB --name scatter), report.py puts
several results together.
"""
import argparse
import dataclasses
import math
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import launches  # noqa: E402
import limits  # noqa: E402
import report  # noqa: E402
from launches import (COLLECTIVES, Programs, SOURCE, balanced_ratio, balanced_time, bounds_of_median,  # noqa: E402
                      by_trial, write_config)

RAISED_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 28), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
SIZES = "8,64,512,4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB"
FLOAT_BYTES = 4  # the sweeps are of f32
# Sizes above have a sweep of their own each: they would leave the others too few rounds of a common budget.
SMALL_BYTES = 1 << 20
TARGETS = ["colltune-agent", "colltune", "machine_limits"]


@dataclasses.dataclass
class Library:
    """An MPI library, and the build against it."""
    name: str
    build: pathlib.Path
    mpirun: str

    @classmethod
    def parse(cls, text):
        words = text.split(":", 2)
        if len(words) != 3 or not all(words):
            raise argparse.ArgumentTypeError(f"'{text}' is not NAME:BUILD:LAUNCHER, as mpich:build/mpich:mpirun.mpich")
        return cls(words[0], pathlib.Path(words[1]), words[2])

    def programs(self, ranks):
        launcher = self.mpirun
        if ranks > limits.cores_of(ranks) and "oversubscribe" not in launcher and self.is_open_mpi():
            launcher += " --oversubscribe"
        return Programs(self.build.resolve(), launcher, ranks)

    def is_open_mpi(self):
        said = subprocess.run([*shlex.split(self.mpirun)[:1], "--version"], capture_output=True, text=True, check=False)
        return "Open MPI" in said.stdout or "OpenRTE" in said.stdout

    def is_made(self):
        return all((self.build / place).exists()
                   for place in ("bin/colltune-agent", "bin/colltune", "tests/bench/peers/machine_limits"))

    def make(self):
        if not (self.build / "CMakeCache.txt").exists():
            launcher = shutil.which(shlex.split(self.mpirun)[0])
            compiler = launcher and pathlib.Path(launcher).with_name(
                pathlib.Path(launcher).name.replace("mpirun", "mpicc").replace("mpiexec", "mpicc"))
            if not launcher or not compiler.exists():
                sys.exit(f"{self.name}: no launcher {self.mpirun}, or no compiler beside it")
            self.cmake("-S", str(SOURCE), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                       "-DCOLLTUNE_CUDA=OFF", "-DCOLLTUNE_GRPC=OFF", f"-DMPI_C_COMPILER={compiler}",
                       f"-DMPIEXEC_EXECUTABLE={launcher}")
        self.cmake("--build", str(self.build), "--target", *TARGETS)

    def cmake(self, *options):
        if code := subprocess.run(["cmake", *options], check=False).returncode:
            sys.exit(f"{self.name}: cmake {shlex.join(options)} ended with {code}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--library", default="open_mpi", help="what --build was built against")
    parser.add_argument("--other", type=Library.parse, action="append", default=[], metavar="NAME:BUILD:LAUNCHER",
                        help="a further library; may be repeated")
    parser.add_argument("--other-ranks", type=int, nargs="+", default=[2], help="those of --ranks on which others run")
    parser.add_argument("--make", action="store_true", help="bring the builds up to date before")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--name", default="peers", help="of the result")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--collectives", nargs="+", choices=COLLECTIVES, default=COLLECTIVES)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--buffers", nargs="+", choices=["plain", "registered"], default=["plain", "registered"])
    parser.add_argument("--seconds-per-key", type=float, default=4,
                        help="of the sweeps that choose; more for large messages and for ranks that share cores")
    parser.add_argument("--launches", type=int, default=5, help="with fewer than 5 there is no 95 %% bound")
    parser.add_argument("--seconds-per-launch", type=float, default=1.5,
                        help="of those that are reported, likewise; some 0.7 of it is the start")
    parser.add_argument("--no-malloc-environment", action="store_true")
    return parser.parse_args()


def stretch(size, ranks):
    """How much more time a key gets than a small one of ranks that have a core each: a call of 64 MiB takes some 10 ms,
    and preparing all variants for it some seconds."""
    return max(1, size / (8 << 20)) * ranks / limits.cores_of(ranks)


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


class Bench:
    """One library on one number of ranks, with one kind of buffers."""

    def __init__(self, library, ranks, buffers, folder, arguments):
        self.library = library
        self.ranks = ranks
        self.programs = library.programs(ranks)
        self.buffers = buffers
        self.arguments = arguments
        self.environment = {} if arguments.no_malloc_environment else RAISED_MALLOC
        self.folder = folder / library.name
        self.folder.mkdir()
        self.chosen = {}
        self.version = "?"

    def described(self):
        return {"library": self.library.name, "ranks": self.ranks, "buffers": self.buffers}

    def choose(self):
        """Finds for each (collective, bytes) the fastest of ours, the fastest of the library's, the default: variants."""
        sizes = [limits.bytes_of(text) for text in self.arguments.sizes.split(",")]
        small = [size for size in sizes if size <= SMALL_BYTES]
        for of_sweep in ([small] if small else []) + [[size] for size in sizes if size > SMALL_BYTES]:
            cells = self.sweep(of_sweep)
            if missing := sum(self.is_possible(one, size) for one in self.arguments.collectives
                              for size in of_sweep) - len(cells):
                print(f"{self.library.name}: {missing} keys of {of_sweep} bytes were not measured: they want more than "
                      f"{self.arguments.seconds_per_key} seconds per key", file=sys.stderr)
            for place, trials in cells.items():
                ours = fastest([passes for passes in trials if passes[0]["family"] == "colltune"])
                theirs = fastest([passes for passes in trials if passes[0]["family"] == "mpi"])
                default = next((passes[0]["variant"] for passes in trials if passes[0]["is_baseline"]), None)
                if ours and theirs and default:
                    self.chosen[place] = (ours, theirs, default)
                else:
                    print(f"{self.library.name} {place}: nothing to compare", file=sys.stderr)

    def is_possible(self, collective, size):
        """Whether each rank's block holds an element, where the message has a block for each rank."""
        return collective in ("all_reduce", "broadcast", "reduce") or size >= self.ranks * FLOAT_BYTES

    def sweep(self, sizes):
        """(collective, bytes) -> its trials, each a list of one measurement per pass."""
        arguments = self.arguments
        config = write_config(self.folder, "choose", collectives=arguments.collectives, sizes=sizes,
                              registered=[self.buffers == "registered"], soak={"seconds": 0.1},
                              budget_seconds=arguments.seconds_per_key * len(arguments.collectives) *
                              sum(stretch(size, self.ranks) for size in sizes))
        database = self.folder / f"choose_{sizes[0]}.db"
        self.programs.sweep(config, database, environment=self.environment)
        self.version = self.programs.json_of("show", "environments", "--db",
                                             str(database))[0]["environment"]["mpi_library"]
        cells = {}
        for (_, _, _, is_twin), passes in by_trial(
                self.programs.json_of("show", "measurements", "--db", str(database))).items():
            if not is_twin:
                problem = passes[0]["key"]["problem"]
                cells.setdefault((problem["collective"], problem["message_size_bytes"]), []).append(passes)
        return cells

    def measure_again(self, place):
        """The ratios and times of what was chosen there, in a fresh launch with nothing else; None where one of them
        has none."""
        collective, size = place
        variants = set(self.chosen[place])
        parameters = {}
        for variant in variants:
            for name, settings in parameters_of(variant).items():
                for key, values in settings.items():
                    parameters.setdefault(name, {}).setdefault(key, set()).update(values)
        config = write_config(self.folder, "again", collectives=[collective], sizes=str(size), null_test=False,
                              precision=0.001, passes=1, registered=[self.buffers == "registered"], soak={"seconds": 0},
                              implementations={"include": sorted({variant.partition("{")[0] for variant in variants})},
                              parameters={name: {key: sorted(values) for key, values in settings.items()}
                                          for name, settings in parameters.items()},
                              budget_seconds=self.arguments.seconds_per_launch * math.sqrt(stretch(size, self.ranks)))
        database = self.folder / "again.db"
        for old in self.folder.glob("again.db*"):
            old.unlink()
        self.programs.sweep(config, database, environment=self.environment)
        measurements = self.programs.json_of("show", "measurements", "--db", str(database))
        trials = {variant: passes for (_, _, variant, _), passes in by_trial(measurements).items()}
        if not variants <= trials.keys():
            return None
        ours, theirs, default = (trials[variant] for variant in self.chosen[place])
        found = {"to_best": balanced_ratio(theirs, ours), "to_default": balanced_ratio(default, ours),
                 "ours_ns": balanced_time(ours), "best_ns": balanced_time(theirs)}
        return None if None in found.values() else found


def compare(benches, arguments):
    """The rows of each bench, in their order. In a round each of them has one launch for a place."""
    rows = [[] for _ in benches]
    for place in sorted({place for bench in benches for place in bench.chosen}):
        able = [number for number, bench in enumerate(benches) if place in bench.chosen]
        rounds = []
        for number in range(arguments.launches):
            found = {"limit": measure_limit(benches[0], place)}
            for one in able if number % 2 == 0 else reversed(able):
                found[one] = benches[one].measure_again(place)
            rounds.append(found)
        for one in able:
            row = row_of(benches[one], place, rounds, one)
            if row is None:
                print(f"{benches[one].library.name} {place}: not measured again", file=sys.stderr)
                continue
            rows[one].append(row)
            print(report.row_text(benches[one].described(), row), flush=True)
    return rows


def measure_limit(bench, place):
    """As limits.limit_of returns it."""
    cores = limits.cores_of(bench.ranks)
    copied = limits.bytes_per_core(*place, bench.ranks, cores)
    found = limits.measure(bench.programs, bench.library.build, cores, [copied], limits.ROUNDS_BESIDE_A_LAUNCH)
    return limits.limit_of(found, copied, bench.ranks, cores)


def row_of(bench, place, rounds, number):
    """What the rounds in which this bench (the `number`th) has ratios tell; None where there are none."""
    counted = [one for one in rounds if one[number] is not None]
    if not counted:
        return None
    ratios = [one[number]["to_best"] for one in counted]
    low, high, confidence = bounds_of_median(ratios)
    ours, theirs, _ = bench.chosen[place]
    row = {"collective": place[0], "bytes": place[1], "ours": ours, "best_of_library": theirs,
           "time_us": statistics.median(one[number]["ours_ns"] for one in counted) / 1000,
           "ratio_to_best": statistics.median(ratios), "ratio_to_best_low": low, "ratio_to_best_high": high,
           "confidence_of_bound": confidence,
           "ratio_to_default": statistics.median(one[number]["to_default"] for one in counted), "launches": len(counted),
           "ratios_to_best": ratios,
           **limits.share_of([one["limit"] for one in counted], [one[number]["ours_ns"] for one in counted])}
    # The first bench is of the first library; no other's launches compare with it but by time.
    neighbours = [one for one in counted if one.get(0) is not None] if number > 0 else []
    if neighbours:
        row["ratio_across_launches"] = statistics.median(one[number]["best_ns"] / one[0]["ours_ns"] for one in neighbours)
    return row


def benches_of(arguments, libraries, ranks, buffers, folder):
    return [Bench(library, ranks, buffers, folder, arguments)
            for library in libraries if library is libraries[0] or ranks in arguments.other_ranks]


def main():
    arguments = parse()
    libraries = [Library(arguments.library, arguments.build, arguments.mpirun), *arguments.other]
    if len({library.name for library in libraries}) < len(libraries):
        sys.exit("each library needs a name of its own")
    for library in libraries:
        if arguments.make:
            library.make()
        elif not library.is_made():
            sys.exit(f"{library.build} lacks one of {', '.join(TARGETS)}: build them, or say --make")
    before = launches.machine()
    first = libraries[0].programs(1)
    found = {"limits": limits.measure(first, arguments.build, os.cpu_count()), "versions": {}, "runs": []}
    print(limits.limits_text(found["limits"]), flush=True)
    for ranks in arguments.ranks:
        for buffers in arguments.buffers:
            with tempfile.TemporaryDirectory() as folder:
                benches = benches_of(arguments, libraries, ranks, buffers, pathlib.Path(folder))
                for bench in benches:
                    bench.choose()
                    found["versions"][bench.library.name] = bench.version
                all_rows = compare(benches, arguments)
            for bench, rows in zip(benches, all_rows):
                run = {**bench.described(), "summary": report.summarize(rows), "rows": rows}
                found["runs"].append(run)
                print("\n".join(report.summary_lines(run)), flush=True)
            # Hours of work: what is done stays if the rest fails.
            path = launches.store(arguments.results, arguments.name, before, found)
    print(path)


if __name__ == "__main__":
    main()
