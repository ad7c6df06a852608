#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What is colltune worth to whole programs, and do they find the same?

  tests/bench/programs/programs.py                 all programs that are installed
  tests/bench/programs/programs.py --list          which there are, and what they need

For each program and number of ranks: one launch is recorded (`colltune run --record`), a sweep measures what it calls
(`colltune-agent sweep --from`), and then launches with the winners (`colltune run --db`), without, and once more without take
turns, each first as often as the others. The second one without tells what two launches differ by of themselves (`control`).
What a program finds must be the same: to the bit where it says so, else by its own checks. Times are the program's own. A
hypervisor moves its virtual cores between near and far ones, and programs take other times there. So before and after each launch
it is measured how long a cache line takes from core to core, and a ratio is of launches that met the same state, in the order of
time: the median of the time without over the one with, its interval the median's at 95 % (of fewer than six pairs: their range).
Many short launches tell more than few long ones, but a program that ends within 0.5 s, or 2 s where ranks share cores, runs
as without us (COLLTUNE_PATIENCE): what longer ones gain shows with a --scale of some 20 on 2 ranks and 6 on 4. Holds where all results are right, and no program's interval lies wholly below
0.99. Exit code: 0 where it holds, 1 where it does not. On a quiet machine alone."""
import argparse
import dataclasses
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "peers")]
import launches  # noqa: E402
import limits  # noqa: E402
from launches import SOURCE, Programs, boundary_of, pairs_of  # noqa: E402

LEAST = 0.99
# Energies and pressure at the last step.
LAST_STEP = r"\n *(\d+ .*)\nLoop time of .* for \d+ steps with (\d+) atoms"
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 1
thermo_modify norm no
run {steps}
"""
HPCC = """HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out
8
1
{n}
1
32
0
1
1
{ranks}
16.0
1
2
1
4
1
2
1
1
1
0
1
0
1
0
1
2
64
0
0
1
8
##### This line (no. 32) is ignored (it serves as a separator). ######
0
1200 10000 30000
0
40 9 8 13 13 20 16 32 64
"""


@dataclasses.dataclass
class Program:
    """A program as users have it."""
    name: str
    needs: str  # a program of the build or of the system
    arguments: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)  # name in its folder -> text
    output: str = ""  # the file that it writes; nothing: its standard output
    # What must be found, with what must be the same in each launch as groups; and the seconds that count, else the launch's.
    result: str = r"result (.*)\n(?:.*\n)*right"
    seconds: str = r"seconds ([0-9.]+)"
    is_exact: bool = True
    package: str = ""
    data: str = ""  # files beside the program that it reads from where it runs

    def path(self, build):
        """None where it is not installed."""
        own = build / "tests/bench" / self.needs
        if own.exists():
            return own
        # Test programs are beside the libraries.
        found = shutil.which(self.needs) or next(iter(sorted(pathlib.Path("/usr/lib").glob(f"*/{self.needs}"))), None)
        return None if found is None else pathlib.Path(found)


def programs(ranks, scale):
    return [
        Program("conjugate gradients, 16 x 16", "conjugate_gradients", ["16", str(int(900 * scale))]),
        Program("conjugate gradients, 32 x 32", "conjugate_gradients", ["32", str(int(300 * scale))]),
        Program("conjugate gradients, 128 x 128", "conjugate_gradients", ["128", str(max(1, int(10 * scale)))]),
        Program("spectral solver, 8^3", "spectral_solver", ["8", str(int(30000 * scale))]),
        Program("spectral solver, 16^3", "spectral_solver", ["16", str(max(1, int(8000 * scale)))]),
        Program("spectral solver, 32^3", "spectral_solver", ["32", str(max(1, int(800 * scale)))]),
        Program("LAMMPS, 4,000 atoms, energies at each step", "lmp", ["-in", "in.lj", "-log", "log.lj", "-screen", "none"],
                files={"in.lj": LAMMPS.format(cells=10, steps=max(1, int(300 * scale)))}, output="log.lj",
                result=LAST_STEP, seconds=r"Loop time of ([0-9.]+) ", package="lammps"),
        Program("LAMMPS, 500 atoms, energies at each step", "lmp", ["-in", "in.lj", "-log", "log.lj", "-screen", "none"],
                files={"in.lj": LAMMPS.format(cells=5, steps=max(1, int(2000 * scale)))}, output="log.lj",
                result=LAST_STEP, seconds=r"Loop time of ([0-9.]+) ", package="lammps"),
        Program("HPCC", "hpcc", files={"hpccinf.txt": HPCC.format(n=int(max(100, 400 * scale)), ranks=ranks)}, output="hpccoutf.txt",
                result=r"Success=(1)", seconds="", is_exact=False, package="hpcc"),
        *[Program(f"ScaLAPACK's tests, {what}", f"scalapack/openmpi-tests/{name}", data="*.dat",
                  result=r"(\d+) tests completed and passed[^\n]*\n *0 tests completed and failed", seconds="", package="scalapack-mpi-test")
          for name, what in (("xdlu", "LU"), ("xdqr", "QR"), ("xdbrd", "bidiagonal")) if ranks == 4],
    ]


@dataclasses.dataclass
class Launched:
    found: tuple
    seconds: float
    hand_over_ns: list  # before and after


class Bench:
    def __init__(self, options, folder, ranks):
        self.options = options
        self.folder = folder
        self.ranks = ranks
        self.run = Programs(options.build, options.mpirun, ranks)
        self.database = folder / f"tuning_{ranks}.db"

    def hand_over(self):
        """How long a cache line takes from one core to another, ns; None where there is one core."""
        found = limits.measure(self.run, self.options.build, 2, sizes=[8], rounds=5)
        return found["hand_over_ns"]["median"] if "hand_over_ns" in found else None

    def launch(self, program, prefix=()):
        """(what it found, seconds)"""
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            for name, text in program.files.items():
                (pathlib.Path(place) / name).write_text(text)
            path = program.path(self.options.build)
            for file in path.parent.glob(program.data) if program.data else []:
                shutil.copy(file, place)
            begin = time.monotonic()
            done = subprocess.run([*prefix, *self.run.launch, str(path), *program.arguments], cwd=place, capture_output=True, text=True,
                                  check=False)
            took = time.monotonic() - begin
            if done.returncode != 0:
                self.run.give_up(done, f"ended with {done.returncode}")
            text = (pathlib.Path(place) / program.output).read_text() if program.output else done.stdout
        found = re.search(program.result, text)
        if found is None:
            self.run.give_up(done, f"does not say that its result is right: {text[-1000:]}")
        seconds = float(re.search(program.seconds, text)[1]) if program.seconds else took
        return found.groups(), seconds

    def tune(self, number, program):
        """Records the program and measures what it calls. Returns what `show trace` says."""
        trace = self.folder / f"{self.ranks}_{number}.ctr"
        self.launch(program, [self.run.colltune, "run", "--quiet", "--record", str(trace), "--"])
        config = launches.write_config(self.folder, "base", budget_seconds=self.options.sweep_seconds, soak={"seconds": 0.1},
                                       precision=0.01)
        done = self.run.run(*self.run.launch, self.run.agent, "sweep", "--from", str(trace), "--config", str(config), "--db",
                            str(self.database), "--quiet", "--no-resume", "--allow-oversubscribe", codes=(0, 1, 3, 6))
        if done.returncode == 3:
            print(f"{program.name}: {done.stderr.strip()}", file=sys.stderr)
        return self.run.json_of("show", "trace", str(trace), *(["--db", str(self.database)] if self.database.exists() else []))

    def has_winners(self):
        """Whether any decision runs in a program."""
        return self.run.run(self.run.colltune, "run", "--db", str(self.database), "--dry-run", codes=(0, 3)).returncode == 0

    def compare(self, program):
        tuned = [self.run.colltune, "run", "--quiet", "--db", str(self.database), "--"]
        sides = [("with", tuned), ("without", ()), ("control", ())]
        results = {side: [] for side, _ in sides}
        before = self.hand_over()
        for turn in range(self.options.launches):
            first = turn % len(sides)
            for side, prefix in sides[first:] + sides[:first]:
                found, seconds = self.launch(program, prefix)
                after = self.hand_over()
                results[side].append(Launched(found, seconds, [before, after]))
                before = after
        return results


def visits_of(side):
    return [(one.seconds, one.hand_over_ns) for one in side]


def compared(results, side):
    """How many times as fast as `without`: the median over the pairs, its interval, and how many there are; None of fewer than
    two."""
    boundary = boundary_of([one for launched in results.values() for launch in launched for one in launch.hand_over_ns if one is not None])
    ratios = [ratio for _, ratio in pairs_of(visits_of(results[side]), visits_of(results["without"]), boundary)]
    if len(ratios) < 2:
        return None
    low, high, _ = launches.bounds_of_median(ratios, 0.975)  # each side
    return statistics.median(ratios), low, high, len(ratios)


def share_of(trace):
    """Of a rank's time: in collectives, in those that are served, and what winners save by the table's times."""
    inside = sum(one["by_ranks"]["time_ns"] for one in trace["calls"]) + trace["not_kept"]["time_ns"]
    served = sum(one["by_ranks"]["time_ns"] for one in trace["calls"] if "not_served" not in one)
    saved = trace["ranks"] * sum(one.get("saved_ns_per_rank", 0) for one in trace["calls"] if one.get("is_run"))
    return [part / trace["rank_time_ns"] for part in (inside, served, saved)]


def text_of(ratio):
    return f"{ratio[0]:>7.3f}   {ratio[1]:.3f} to {ratio[2]:.3f} ({ratio[3]:>2})" if ratio else f"{'too few pairs':>29}"


def more_seconds(without, mine):
    """Of a launch with the winners, beside the one without that it was paired with."""
    return statistics.median(own - theirs for theirs, own in zip(without, mine))


def same(results, is_exact):
    found = {one.found for side in results.values() for one in side}
    return not is_exact or len(found) == 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--mpirun", default="mpirun.openmpi --oversubscribe")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--only", help="programs whose name contains this")
    parser.add_argument("--launches", type=int, default=20, choices=range(2, 101), metavar="2..100", help="of each")
    parser.add_argument("--scale", type=float, default=1, help="how long programs run, in parts of some seconds")
    parser.add_argument("--sweep-seconds", type=float, default=40, help="for each program")
    parser.add_argument("--results", type=pathlib.Path, default=SOURCE / "tests/bench/results")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--unjudged", action="store_true", help="end with 0 whatever was found")
    return parser.parse_args()


def main():
    options = arguments()
    if options.list:
        for program in programs(4, 1):
            print(f"{program.name}: {program.needs}" + (f", of Debian's package {program.package}" if program.package else ""))
        return 0
    before = launches.machine()
    rows = []
    faults = []
    print(f"{'program':<44}{'ranks':>6}{'collectives':>12}{'served':>8}{'saved':>7}{'without s':>11}{'with s':>9}{'more s':>8}{'ratio':>7}   "
          "95 %, of pairs          control")
    with tempfile.TemporaryDirectory() as folder:
        for ranks in options.ranks:
            bench = Bench(options, pathlib.Path(folder), ranks)
            for number, program in enumerate(programs(ranks, options.scale)):
                if options.only and options.only not in program.name:
                    continue
                if program.path(options.build) is None:
                    print(f"{program.name}: {program.needs} is not installed", file=sys.stderr)
                    continue
                shares = share_of(bench.tune(number, program))
                if not bench.has_winners():
                    print(f"{program.name:<44}{ranks:>6}{shares[0]:>11.1%}{shares[1]:>8.1%}{shares[2]:>7.1%}   nothing displaced the default",
                          flush=True)
                    rows.append({"program": program.name, "ranks": ranks, "collectives": shares[0], "served": shares[1], "saved": 0})
                    continue
                results = bench.compare(program)
                without, mine, control = ([one.seconds for one in results[side]] for side in ("without", "with", "control"))
                of_mine, of_control = compared(results, "with"), compared(results, "control")
                # A start that takes longer is the same number of seconds in a short and in a long run; slower calls are not.
                more = more_seconds(without, mine)
                # Two numbers have one sum, whatever the order; of more each algorithm has its own last digits.
                is_same = same(results, program.is_exact and ranks == 2)
                print(f"{program.name:<44}{ranks:>6}{shares[0]:>11.1%}{shares[1]:>8.1%}{shares[2]:>7.1%}"
                      f"{statistics.median(without):>11.3f}{statistics.median(mine):>9.3f}{more:>+8.3f}"
                      f"{text_of(of_mine)}   {text_of(of_control)}{'' if is_same else '   OTHER RESULTS'}", flush=True)
                rows.append({"program": program.name, "ranks": ranks, "collectives": shares[0], "served": shares[1], "saved": shares[2],
                             "without_s": without, "with_s": mine, "more_s": more, "ratio": of_mine, "control_s": control,
                             "control_ratio": of_control, "is_same": is_same,
                             "hand_over_ns": {side: [one.hand_over_ns for one in results[side]] for side in results}})
                if not is_same:
                    faults.append(f"{program.name} on {ranks}: other results")
                if of_mine is None:
                    faults.append(f"{program.name} on {ranks}: fewer than two pairs of launches in one state")
                elif of_mine[2] < LEAST:
                    faults.append(f"{program.name} on {ranks}:{text_of(of_mine)}")
    print("holds" if not faults else "DOES NOT HOLD: " + "; ".join(faults))
    launches.store(options.results, "programs_" + "_".join(map(str, options.ranks)), before, {"faults": faults, "programs": rows})
    return 0 if options.unjudged or not faults else 1


if __name__ == "__main__":
    sys.exit(main())
