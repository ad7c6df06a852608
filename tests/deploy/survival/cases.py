# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What a candidate or the machine does to a sweep, and what must come of it. Each case is a generator of observations:
one dictionary per repetition; what must not be is raised as Failed. Times are only noted here: whoever makes figures
compares them with the limits in CASES, a test on a loaded machine does not."""

import itertools
import os
import random
import re
import signal
import subprocess
import time

from harness import Run, kill, require, require_none_blamed, require_sound, stop_in_trial, stored_trials

FOUND_WITHIN = 2.0  # seconds beyond a step's deadline
RESUMED_WITHIN = 3.0
GONE_WITHIN = 5.0
LONGEST = 300  # seconds that any sweep here may take

MPI = ["mpi.all_reduce"]  # the baseline alone
# Seconds that the longest step of a figure may take, under --call-limit 1: a wait on the control plane after a preparation.
STEP_LIMIT = 8.0
# The exit code of a sweep whose budget was over: a busy machine may not come to all keys.
BUDGET_OVER = 6

# quick.json with less to do: every collective, one size.
QUICK = {"collectives": ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather",
                         "scatter"],
         "sizes": "4KiB", "soak": {"seconds": 0.02}}


def quick_budget(lab):
    """Seconds of a sweep of QUICK. A test's is shorter than a figure's: the same happens, at fewer moments. But a busy machine
    takes seconds to start, of the budget."""
    return 10 if lab.is_full else max(4, 1.5 + 2.5 * lab.start_takes())


def quick_takes(lab):
    """Seconds that such a sweep takes, or more."""
    return 0.7 * quick_budget(lab)


def early_moment(lab, moments):
    """Seconds after the first trial at which a sweep of QUICK is far from its end."""
    return moments.uniform(0, 0.3 * quick_budget(lab))


NEW_TRIAL = r"\d+ of \d+ (keys|visits, pass \d+ of \d+) after"  # printed when the first cell of a launch begins


def configure_faults(lab, name, faults, budget, parameters=None, soak_seconds=2, **keys):
    return lab.configure(name, sizes="4KiB", budget_seconds=budget, implementations={"include": MPI + faults},
                         parameters=parameters or {}, soak={"runs": 5000, "seconds": soak_seconds}, **keys)


def until_done(lab):
    """Keys of a test's sweep that ends when each variant was measured once; a figure's spends its budget."""
    return {} if lab.is_full else {"passes": 1, "precision": 0.5}


def soon_done(lab):
    """Options of such a sweep: ranks that share cores reach no precision, so that it counts its rounds."""
    return [] if lab.is_full else ["--most-rounds", "12"]


def wrong(lab, count):
    """Planted errors: each is caught, its evidence kept, none is published; the good one survives."""
    faults = ["changes_input", "fails", "keeps_buffers", "stale", "writes_before", "writes_past", "wrong_element", "wrong_last",
              "wrong_rank", "wrong_type"]
    for i in range(count):
        database = lab.folder / f"wrong{i}.db"
        configuration = configure_faults(lab, f"wrong{i}", ["fault.correct", *(f"fault.{f}" for f in faults)],
                                         budget=6 if lab.is_full else 60, **until_done(lab))
        with Run(lab, lab.sweep(configuration, database, "--plugin", lab.faults, "--quiet", *soon_done(lab))) as run:
            code = run.end(LONGEST)
        require(code == 1, f"the sweep ended with {code}: {run.text('err')}")
        trials = lab.show("measurements", database)
        bad = {m["variant"] for m in trials if m["outcome"] != "ok"}
        published = published_variants(lab, database)
        expected = {m["variant"] for m in trials if is_faulty(m["variant"], "f32")}
        require(bad == expected, f"caught {sorted(bad)}, planted {sorted(expected)}")
        require(all(m["detail"] for m in trials if m["outcome"] != "ok"), "a wrong trial has no evidence")
        require_no_flight_record(database)
        require(not bad & published, f"published although wrong: {bad & published}")
        require("fault.correct" in published, "the good one did not survive")
        yield {"planted": len(expected), "caught": len(bad), "published": 0}


def require_no_flight_record(database):
    left = [path.name for path in database.parent.glob(f"{database.name}.in-flight*")]
    require(not left, f"after a sweep that ended in order there is still {left}")


def is_faulty(variant, data_type):
    if variant.startswith("fault.wrong_type{"):
        return f"type={data_type}" in variant
    return variant.startswith("fault.") and variant != "fault.correct"


def published_variants(lab, database):
    """Every variant in any decision, winners and alternatives."""
    published = set()
    for decision in lab.show("decisions", database):
        published.update([decision["winner"], *(a["variant"] for a in decision["alternatives"])])
    return published


def sometimes(lab, count):
    """A fault in 1 of 1,000 runs is caught by the soak where 5,000 runs fit."""
    for i in range(count):
        database = lab.folder / f"sometimes{i}.db"
        configuration = configure_faults(lab, f"sometimes{i}", ["fault.wrong_sometimes"], budget=20, soak_seconds=30, precision=0.5,
                                         parameters={"fault.wrong_sometimes": {"seed": [i + 1]}})
        with Run(lab, lab.sweep(configuration, database, "--plugin", lab.faults, "--quiet", *soon_done(lab))) as run:
            code = run.end(LONGEST)
        passes = [m for m in lab.show("measurements", database) if m["variant"].startswith("fault.wrong_sometimes")]
        trial = passes[-1]  # found out, it does not come back
        require(code == 1 and trial["outcome"] == "wrong", f"exit code {code}, {trial['variant']} is {trial['outcome']}")
        require(trial["variant"] not in published_variants(lab, database), "it was published")
        yield {"seed": i + 1, "verified_calls_before": sum(m["verified_calls"] for m in passes)}


def false_alarms(lab, count):
    """Good trials: none is called wrong, failed, late or quarantined. `count` is the number of trials."""
    done = 0
    for i in itertools.count():
        if done >= count:
            return
        # A test's sweep has every collective, buffers of both kinds, a short and a long size; a figure's all that there is.
        # It ends when it is done, however little of its cores others leave it.
        keys = {"sizes": "8,64KiB", "types": ["bf16"], "passes": 1}
        if lab.is_full:
            sizes = ",".join(str(8 * n + 64 * i) for n in range(1, 9)) + ",4KiB,64KiB"
            keys = {"sizes": sizes, "types": ["f32", "f64", "i32", "u8", "bf16"], "ops": ["sum", "max"]}
        configuration = lab.configure(f"good{i}", collectives=QUICK["collectives"], in_place=[False, True],
                                      budget_seconds=30 if lab.is_full else 120, precision=0.5,
                                      soak={"runs": 20, "seconds": 0.01}, **keys)
        database = lab.folder / f"good{i}.db"
        with Run(lab, lab.supervise(database, lab.sweep(configuration, database, "--quiet", *soon_done(lab)))) as run:
            code = run.end(LONGEST)
        trials = lab.show("measurements", database)
        alarms = [m for m in trials if m["outcome"] != "ok"]
        require(not alarms, f"false alarms: {[(m['variant'], m['outcome'], m['detail']) for m in alarms[:5]]}")
        require(code == 0, f"ended with {code}: {run.text('err')[-2000:]}")
        require(not lab.show("quarantines", database), "a good variant is in quarantine")
        done += len(trials)
        yield {"trials": len(trials), "alarms": 0}


def hang_cases():
    """(fault, parameters): each goes wrong on one rank, at its first call or amid the timed ones, while the other waits by
    our signals or inside MPI."""
    for rank, after, peers in itertools.product([1, 0], [0, 20], ["signals", "mpi"]):
        common = {"rank": [rank], "after": [after], "peers": [peers]}
        yield "spins", common | {"at": ["wait"]}
        yield "spins", common | {"at": ["start"]}
        yield "blocks", common | {"how": ["pause"], "at": ["wait"]}
        yield "blocks", common | {"how": ["read"], "at": ["start"]}
        yield "crashes", common | {"at": ["wait"]}
        yield "exits", common | {"code": [0], "at": ["wait"]}
        yield "exits", common | {"code": [7], "at": ["start"]}
        yield "leaves_one_waiting", common


def hangs(lab, count):
    """Candidates that spin, block, crash, exit, or leave a rank waiting: found in time, rank and variant named, the rest of
    the sweep done."""
    cases = list(hang_cases())
    # A few of them are one of each kind, with every way to wait and to go wrong among them.
    order = [9 * i % len(cases) for i in range(len(cases))] if lab.is_full else [0, 26, 12, 37, 55]
    for i in range(count):
        fault, parameters = cases[order[i % len(order)]]
        yield {"fault": fault} | {k: v[0] for k, v in parameters.items()} | hang_once(lab, i, fault, parameters)


def hang_once(lab, i, fault, parameters):
    rank = parameters["rank"][0]
    name = f"hang{i}"
    database = lab.folder / f"{name}.db"
    configuration = lab.configure(
        name, collectives=["all_reduce", "broadcast"], sizes="4KiB", budget_seconds=3 if lab.is_full else 30,
        soak={"runs": 50, "seconds": 0.5}, **until_done(lab),
        implementations={"include": [*MPI, "mpi.broadcast", "fault.correct", f"fault.{fault}"]},
        parameters={f"fault.{fault}": parameters})
    # Some with ranks that share cores, where a machine has few: they start their runs in another way.
    ranks = 4 if i % 2 and parameters["after"] == [0] else 2
    sweep = lab.sweep(configuration, database, "--plugin", lab.faults, *soon_done(lab), ranks=ranks)
    with Run(lab, lab.supervise(database, sweep, "--failures", "1")) as run:
        code = run.end(LONGEST)
    require(code == 1, f"ended with {code}: {run.text('err')[-3000:]}")
    struck_at = int(run.await_line(r"planted fault at (\d+) ns", 0)[1][1]) / 1e9
    # The report of a rank's watchdog, the supervisor's verdict, or the sweep's own words at the end of the cell.
    # A rank that was left alone is found first; the verdict names who left it.
    who = r"rank \d+" if fault == "leaves_one_waiting" else f"rank {rank}"
    found = run.find(rf"fault\.{fault}\b.*\b{who}\b|\b{who}\b.*fault\.{fault}\b", since=struck_at)
    require(found, f"{who} and fault.{fault} are not named together:\n{run.text('err')[-4000:]}")
    verdicts = [text for _, _, text in run.lines if re.match(r"colltune-agent: (timed_out|crashed): ", text)]
    for verdict in verdicts:
        require(re.search(rf"\brank {rank}\b.*fault\.{fault}\{{", verdict) or
                (fault == "leaves_one_waiting" and re.search(rf"fault\.{fault}\{{.* waiting for rank {rank}\b", verdict)),
                f"rank {rank} or its variant is not named: {verdict}")
    quarantined = [q["variant"].split("{")[0] for q in lab.show("quarantines", database)]
    require(quarantined == ([f"fault.{fault}"] if verdicts else []), f"in quarantine: {quarantined}")
    good = {m["variant"].split("{")[0] for m in lab.show("measurements", database) if m["outcome"] == "ok"}
    rest = {*MPI, "mpi.broadcast", "fault.correct"}
    require(rest <= good, f"the rest of the sweep is not done: {rest - good}")
    require(not any(v.startswith(f"fault.{fault}{{") for v in published_variants(lab, database)), "it was published")
    lab.require_none_left(GONE_WITHIN)
    # Nothing has to run out before a process that ended is missed.
    figure = "end_found_s" if fault in ("crashes", "exits") else "found_s"
    return {figure: round(found[0] - struck_at, 2), "launches_lost": len(verdicts)}


class Supervised:
    """A supervised sweep that is under way."""

    def __init__(self, lab, name, **keys):
        self.lab = lab
        self.database = lab.folder / f"{name}.db"
        self.configuration = lab.configure(name, **(QUICK | {"budget_seconds": quick_budget(lab)} | keys))
        self.run = self.start()

    def start(self):
        return Run(self.lab, self.lab.supervise(self.database, self.lab.sweep(self.configuration, self.database)))

    def await_trials(self, delay):
        """Waits for the first trial and then for `delay` seconds; False where the sweep has ended meanwhile."""
        self.run.await_line(NEW_TRIAL, 60)
        time.sleep(delay)
        return self.run.process.poll() is None and len(self.lab.ranks()) == 2

    def require_kept(self, before):
        """Nothing that was stored is lost, repeated or changed; the rest of the plan is done, each trial once."""
        after = stored_trials(self.database)
        require(before.items() <= after.items(), "a finished trial was lost or changed")
        self.lab.require_ended(self.database, after)
        require(len(self.lab.show("measurements", self.database)) == len(after), "colltune reads other trials")
        require_sound(self.database)
        require_no_flight_record(self.database)

    def finish(self, codes=(0, BUDGET_OVER)):
        code = self.run.end(LONGEST)
        require(code in codes, f"supervise ended with {code}: {self.run.text('err')[-3000:]}")


def kills(lab, count):
    """kill -9 of a random rank at a random moment of a supervised quick sweep."""
    moments = random.Random(20261121)
    done = 0
    for i in itertools.count():
        if done >= count:
            return
        sweep = Supervised(lab, f"kill{i}")
        with sweep.run:
            delay = moments.uniform(0, quick_takes(lab))
            if not sweep.await_trials(delay):
                continue  # over before its moment came: another one
            rank, pid = moments.choice(sorted(lab.ranks().items()))
            before = stored_trials(sweep.database)
            killed_at = time.monotonic()
            if not kill(pid, signal.SIGKILL):
                continue
            if sweep.run.find("published generation"):
                continue
            resumed_at, _ = sweep.run.await_line(NEW_TRIAL, 60, since=killed_at)
            sweep.finish()
        sweep.require_kept(before)
        lab.require_none_left(GONE_WITHIN)
        done += 1
        yield {"rank": rank, "after_s": round(delay, 2), "stored_before": len(before),
               "resumed_s": round(resumed_at - killed_at, 2)}


def stops(lab, count):
    """SIGSTOP of a rank: its trial is late; the launch is ended, no variant is blamed, and the sweep resumes."""
    moments = random.Random(7)
    for i in range(count):
        sweep = Supervised(lab, f"stop{i}")
        with sweep.run:
            require(sweep.await_trials(early_moment(lab, moments)), "the sweep was over too soon")
            rank, pid = moments.choice(sorted(lab.ranks().items()))
            before = stored_trials(sweep.database)
            stopped_at = stop_in_trial(pid, sweep.database, rank, moments)
            found_at, _ = sweep.run.await_line("colltune-agent: timed_out: ", 60, since=stopped_at)
            resumed_at, _ = sweep.run.await_line(NEW_TRIAL, 60, since=found_at)
            sweep.finish()
        named = sweep.run.find(rf"timed_out: rank {rank} on .*was stopped")
        require(named, f"rank {rank} is not named:\n{sweep.run.text('err')[-3000:]}")
        require_none_blamed(lab, sweep.database)
        sweep.require_kept(before)
        lab.require_none_left(GONE_WITHIN)
        yield {"rank": rank, "found_s": round(found_at - stopped_at, 2), "resumed_s": round(resumed_at - stopped_at, 2)}


def launchers(lab, count):
    """kill -9 of mpirun: nobody's fault; the sweep resumes."""
    moments = random.Random(8)
    for i in range(count):
        sweep = Supervised(lab, f"launcher{i}")
        with sweep.run:
            require(sweep.await_trials(early_moment(lab, moments)), "the sweep was over too soon")
            launcher = next(pid for pid in lab.processes() if os.path.basename(os.readlink(f"/proc/{pid}/exe")) in
                            ("mpirun", "mpirun.openmpi", "orterun", "prterun"))
            before = stored_trials(sweep.database)
            killed_at = time.monotonic()
            kill(launcher, signal.SIGKILL)
            resumed_at, _ = sweep.run.await_line(NEW_TRIAL, 60, since=killed_at)
            sweep.finish()
        sweep.require_kept(before)
        lab.require_none_left(GONE_WITHIN)
        yield {"resumed_s": round(resumed_at - killed_at, 2)}


def supervisors(lab, count):
    """kill -9 of the supervisor: its launch ends, no orphan is left, the same command resumes."""
    moments = random.Random(9)
    done = 0
    for i in itertools.count():
        if done >= count:
            return
        sweep = Supervised(lab, f"supervisor{i}")
        with sweep.run:
            require(sweep.await_trials(early_moment(lab, moments)), "the sweep was over too soon")
            before = stored_trials(sweep.database)
            killed_at = time.monotonic()
            sweep.run.process.kill()
            lab.require_none_left(GONE_WITHIN)
            gone = time.monotonic() - killed_at
            sweep.run.end(10)
        require_sound(sweep.database)
        require(before.items() <= stored_trials(sweep.database).items(), "a finished trial was lost or changed")
        if lab.ends_of_sweeps(sweep.database)[0] in ("complete", "budget"):
            require(i < 10 * count, "each launch came to the sweep's end before it was ended")
            continue
        sweep.run = sweep.start()
        with sweep.run:
            sweep.finish()
        sweep.require_kept(before)
        lab.require_none_left(GONE_WITHIN)
        done += 1
        yield {"gone_s": round(gone, 2), "stored_before": len(before)}


def interrupts(lab, count):
    """Ctrl-C: a resumable database and no process."""
    moments = random.Random(10)
    for i in range(count):
        sweep = Supervised(lab, f"interrupt{i}")
        with sweep.run:
            require(sweep.await_trials(early_moment(lab, moments)), "the sweep was over too soon")
            before = stored_trials(sweep.database)
            asked_at = time.monotonic()
            sweep.run.process.send_signal(signal.SIGINT)
            code = sweep.run.end(30)
            ended = time.monotonic() - asked_at
        require(code == 128 + signal.SIGINT, f"ended with {code}: {sweep.run.text('err')[-2000:]}")
        lab.require_none_left(GONE_WITHIN)
        sweep.run = sweep.start()
        with sweep.run:
            sweep.finish()
        sweep.require_kept(before)
        yield {"ended_s": round(ended, 2), "stored_before": len(before)}


def two_sweeps(lab, count):
    """A second sweep on the same database is refused at once and told who holds it; the first does not notice."""
    for i in range(count):
        # A busy machine takes seconds to launch the second one.
        sweep = Supervised(lab, f"two{i}", budget_seconds=3 * quick_budget(lab))
        with sweep.run:
            require(sweep.await_trials(0.2), "the sweep was over too soon")
            owner = lab.ranks()[0]
            with Run(lab, lab.sweep(sweep.configuration, sweep.database)) as second:
                code = second.end(30)
                refused = time.monotonic() - second.begin
            require(code == 2, f"the second sweep ended with {code}: {second.text('err')}")
            require(re.search(rf"{sweep.database.name}.*process {owner}\b", second.text("err")),
                    f"process {owner} is not named: {second.text('err')}")
            sweep.finish()
        sweep.require_kept({})
        yield {"refused_s": round(refused, 2)}


def full_disk(lab, count):
    """A tmpfs that is too small: a clear end, nothing committed is lost, and it resumes when there is room."""
    folder = lab.folder / "small"
    folder.mkdir()
    for i in range(count):
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)], check=False,
                                 capture_output=True).returncode == 0
        if not mounted:
            yield {"skipped": "no tmpfs may be mounted here"}
            return
        try:
            yield full_disk_once(lab, folder / "tuning.db", i)
        finally:
            subprocess.run(["umount", str(folder)], check=True)


def full_disk_once(lab, database, i):
    configuration = lab.configure(f"full{i}", sizes="64,256,1KiB,4KiB,16KiB,64KiB", budget_seconds=6 if lab.is_full else 4,
                                  soak={"runs": 50, "seconds": 2})
    with Run(lab, lab.supervise(database, lab.sweep(configuration, database))) as run:
        code = run.end(LONGEST)
    require(code == 4, f"ended with {code}: {run.text('err')[-2000:]}")
    require(re.search(r"tuning\.db.*(full|space|room)", run.text("err")), f"unclear: {run.text('err')[-2000:]}")
    subprocess.run(["mount", "-o", "remount,size=64m", str(database.parent)], check=True)
    before = stored_trials(database)
    require_sound(database)
    require(before, "nothing had been stored when the disk was full")
    with Run(lab, lab.supervise(database, lab.sweep(configuration, database))) as run:
        code = run.end(LONGEST)
    require(code in (0, BUDGET_OVER), f"ended with {code} when there was room: {run.text('err')[-2000:]}")
    require(before.items() <= stored_trials(database).items(), "a finished trial was lost or changed")
    lab.require_ended(database, stored_trials(database))
    return {"stored_before": len(before), "stored_after": len(stored_trials(database))}


# name -> (case, repetitions of the test, repetitions for the figure, the most that a figure may be)
CASES = {
    "wrong": (wrong, 1, 10, {}),
    "sometimes": (sometimes, 1, 20, {}),
    "false_alarms": (false_alarms, 1, 10_000, {}),  # of trials: one sweep, which has hundreds
    "hangs": (hangs, 5, 64, {"found_s": STEP_LIMIT + FOUND_WITHIN, "end_found_s": FOUND_WITHIN}),
    "kills": (kills, 1, 50, {"resumed_s": RESUMED_WITHIN}),
    "stops": (stops, 1, 20, {"found_s": STEP_LIMIT + FOUND_WITHIN}),
    "launchers": (launchers, 1, 20, {"resumed_s": STEP_LIMIT + FOUND_WITHIN}),
    "supervisors": (supervisors, 1, 20, {"gone_s": GONE_WITHIN}),
    "interrupts": (interrupts, 1, 20, {}),
    "two_sweeps": (two_sweeps, 1, 20, {"refused_s": RESUMED_WITHIN}),
    "full_disk": (full_disk, 1, 5, {}),
}
