# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What the benches that launch colltune's programs have in common: running them, reading what they stored, and keeping
what was found with machine, date and command."""
import contextlib
import datetime
import json
import math
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter"]


class Programs:
    """The programs of a build, and how to launch them on `ranks` ranks."""

    def __init__(self, build, mpirun, ranks):
        self.agent = str(build / "bin/colltune-agent")
        self.colltune = str(build / "bin/colltune")
        self.trust_agent = str(build / "tests/bench/trust/trust_agent")
        self.launch = shlex.split(mpirun) + ["-n", str(ranks)]
        self.sweep_options = []  # of every sweep, besides its configuration
        if os.geteuid() == 0:
            os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    # 1: some variant failed; 6: the budget was over before the last key. What was measured is there.
    def run(self, *command, environment=None, codes=(0, 1, 6)):
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, **(environment or {})})
        if done.returncode not in codes:
            self.give_up(done, f"ended with {done.returncode}")
        return done

    @staticmethod
    def give_up(done, why):
        sys.exit(f"{shlex.join(done.args)}\n{why}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")

    def json_of(self, *command):
        return json.loads(self.run(self.colltune, *command, "--json", codes=(0,)).stdout)

    def sweep(self, config, database, agent=None, environment=None):
        """Returns the seconds that the launch took."""
        begin = time.monotonic()
        done = self.run(*self.launch, agent or self.agent, "sweep", "--config", str(config), "--db", str(database),
                        "--quiet", "--no-resume", "--allow-oversubscribe", *self.sweep_options, environment=environment)
        # A launcher's own failure (no slots for so many ranks) is code 1 too.
        if not pathlib.Path(database).exists():
            self.give_up(done, "made no database")
        return time.monotonic() - begin


def write_config(folder, name, **fields):
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"version": 1, **fields}))
    return path


def key_of(entry):
    return json.dumps(entry["key"], sort_keys=True)


def round_medians(trial):
    """The median of each round's runs that count, ns per call."""
    rounds = {}
    marks = trial["marks"] or [0] * len(trial["samples_ns"])
    for number, (sample, mark) in enumerate(zip(trial["samples_ns"], marks)):
        if mark == 0:
            rounds.setdefault(number // trial["samples_per_round"], []).append(sample / trial["calls_per_sample"])
    return {number: statistics.median(samples) for number, samples in rounds.items()}


def by_trial(measurements):
    """(sweep, key, variant, whether it is a twin) -> its measurements, one per pass; trials that failed in any pass are
    left out."""
    trials = {}
    for one in measurements:
        trials.setdefault((one["sweep_uuid"], key_of(one), one["variant"], one["is_twin"]), []).append(one)
    return {place: passes for place, passes in trials.items() if all(one["outcome"] == "ok" for one in passes)}


def calls_of(measurements):
    """(collective, bytes) -> calls back to back between two clock reads, as the sweep of these measurements chose them for the
    library's own: the median over its passes."""
    calls = {}
    for passes in by_trial(measurements).values():
        if passes[0]["is_baseline"] and not passes[0]["is_twin"]:
            problem = passes[0]["key"]["problem"]
            of_passes = [one["calls_per_sample"] for one in passes]
            calls[problem["collective"], problem["message_size_bytes"]] = statistics.median_low(of_passes)
    return calls


def balanced_ratio(reference, rival):
    """How much faster `rival` is than `reference`: over_passes of pass_ratios. None where there are no common rounds."""
    of_pass = pass_ratios(reference, rival)
    return over_passes(of_pass) if of_pass else None


def over_passes(values):
    """As ratio_over_passes in colltune/decide/rounds.h where all passes met one state of the machine: the geometric mean
    without the lowest and the highest eighth."""
    left_out = len(values) // 8
    return statistics.geometric_mean(sorted(values)[left_out:len(values) - left_out])


def pass_ratios(reference, rival):
    """Of each pass (both are lists of one measurement per pass) the median of reference / rival over the rounds in which
    both count."""
    of_pass = []
    for one in reference:
        for other in rival:
            if one["pass"] == other["pass"]:
                mine, theirs = round_medians(one), round_medians(other)
                if common := mine.keys() & theirs.keys():
                    of_pass.append(statistics.median(mine[number] / theirs[number] for number in common))
    return of_pass


def balanced_time(passes):
    """Over the passes each one's median round, ns per call; None where none counts."""
    of_pass = [statistics.median(medians.values()) for one in passes if (medians := round_medians(one))]
    return over_passes(of_pass) if of_pass else None


def bounds_of_median(values, confidence=0.95):
    """The lower and the upper bound of the median of what `values` are independent samples of, and how sure each is by
    itself: of the ordered values the innermost that are so sure, or the outermost where fewer than 5 leave none."""
    def certain(outside):
        return 1 - sum(math.comb(len(values), number) for number in range(outside + 1)) / 2**len(values)
    outside = 0
    while certain(outside + 1) >= confidence:
        outside += 1
    ordered = sorted(values)
    return ordered[outside], ordered[-1 - outside], certain(outside)


def boundary_of(hand_overs):
    """Between near and far, ns: where of all times of a cache line the longest are twice the shortest. None: one state."""
    ordered = sorted(hand_overs)
    if not ordered:
        return None
    low, high = ordered[len(ordered) // 20], ordered[-1 - len(ordered) // 20]
    return math.sqrt(low * high) if high >= 2 * low else None


def state_of(hand_overs, boundary):
    """"near" or "far"; None where the cores were moved meanwhile."""
    states = {"near" if boundary is None or one is None or one < boundary else "far" for one in hand_overs}
    return states.pop() if len(states) == 1 else None


def pairs_of(mine, theirs, boundary):
    """The ratios of visits, each (its time, times of a cache line), in the same state: (state, ratio)."""
    found = []
    for state in ("near", "far"):
        of_state = [[time for time, hand_overs in visits if state_of(hand_overs, boundary) == state] for visits in (mine, theirs)]
        found += [(state, without / with_us) for with_us, without in zip(*of_state)]
    return found


def machine():
    model = "?"
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}


def command():
    """This command, without where it left its files on this machine."""
    words = [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]]
    for option in ("--keep", "--results"):
        if option in words:
            del words[words.index(option):words.index(option) + 2]
    return shlex.join(words)


def store(folder, name, before, found, **facts):
    """Keeps what was found, on the machine as it was `before`."""
    folder.mkdir(parents=True, exist_ok=True)
    result = {"case": name, "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
              "command": command(), "machine": before, **facts,
              "result": found}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path
