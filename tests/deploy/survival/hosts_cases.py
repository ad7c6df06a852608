# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of launches over several hosts, and of a sweep there when hosts or cables fail. Cases as in cases.py; each makes
hosts of its own (deploy/lab)."""

import random
import re
import sys
import time
from pathlib import Path

from cases import BUDGET_OVER, NEW_TRIAL, QUICK, STEP_LIMIT, quick_budget
from harness import Lab, Run, require, require_none_blamed, require_sound, stop_in_trial, stored_trials

SOURCE = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(SOURCE / "deploy"))
import lab_hosts  # noqa: E402

BEYOND = 5.0  # seconds beyond a step's limit until a lost host is known
REFUSED_WITHIN = 10.0
GONE_WITHIN = 10.0
HANGS_AFTER = 100.0  # seconds: a test, beside which others run, judges no shorter time
LONGEST = 300
MOST_ROUNDS = ["--most-rounds", "12"]
# One key. Ranks that share cores never come to the precision, so that rounds are counted (MOST_ROUNDS), and without a budget
# no call is late before ten seconds.
SMALL = {"collectives": ["broadcast"], "sizes": "4KiB", "passes": 1, "precision": 0.5, "null_test": False,
         "implementations": {"include": ["mpi.broadcast", "cpu.*_flat"]}, "soak": {"runs": 5, "seconds": 0.02}}


class Bench:
    """What the cases are run with."""

    def __init__(self, programs, faults, other_agent, shifted_clock, is_full):
        self.programs, self.faults, self.is_full = programs, faults, is_full
        self.other_agent, self.shifted_clock = other_agent, shifted_clock
        self._plain = None

    def hosts(self, count=2, **options):
        return Hosts(self, lab_hosts.Lab(count, **options))

    def plain_hosts(self):
        """Two hosts for all launches that leave them as they found them; not to be closed by these."""
        if self._plain is None:
            self._plain = self.hosts()
        return self._plain

    def close(self):
        if self._plain is not None:
            self._plain.close()


class Hosts(Lab):
    """Hosts, the programs under test, and the folder that all share."""

    def __init__(self, bench, lab):
        super().__init__(bench.programs, bench.faults, ["mpirun.openmpi", "--oversubscribe"], bench.is_full, Path(lab.shared))
        self.lab = lab
        self.environment |= lab.environment()
        self.other_agent = bench.other_agent

    def on(self, host, command):
        """A command line of this machine for one of a host's."""
        return [str(SOURCE / "deploy/lab"), "on", host, *map(str, command)]

    def started_here(self, command):
        return self.on("lab0", command)

    def processes(self):
        """Of all hosts, but those that every host has."""
        found = []
        for host, first in self.lab.first_processes.items():
            if host != lab_hosts.SWITCH and host in self.lab.starters:
                found += [pid for pid in self.lab.processes(host) if pid != first]
        return found

    def require_gone(self):
        self.require_none_left(GONE_WITHIN if self.is_full else HANGS_AFTER)

    def close(self):
        self.lab.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# --- Launches: each runs, or is refused in words. ---


def run_sweep(hosts, name, launcher, configuration=None, code=0, host="lab0"):
    """A sweep that is launched on a host; the run, the database, and the seconds that it took."""
    database = hosts.folder / f"{name}.db"
    path = hosts.configure(name, **(configuration or SMALL))
    begin = time.monotonic()
    with Run(hosts, hosts.on(host, [*hosts.mpirun, *launcher, hosts.agent, "sweep", "--allow-oversubscribe", *MOST_ROUNDS,
                                      "--config", path, "--db", database, "--quiet"])) as run:
        ended = run.end(LONGEST)
    require(ended == code, f"{name} ended with {ended} instead of {code}: {run.text('err')[-3000:]}")
    return run, database, time.monotonic() - begin


def topologies(hosts, database):
    return {(t["nodes"], t["ranks_per_node"]) for t in (m["key"]["topology"] for m in hosts.show("measurements", database))}


def require_ok(hosts, database):
    bad = [m for m in hosts.show("measurements", database) if m["outcome"] != "ok"]
    require(not bad, f"not ok: {[(m['variant'], m['outcome'], m['detail']) for m in bad[:3]]}")


def require_refused(hosts, run, took, *words):
    require(took < (REFUSED_WITHIN if hosts.is_full else HANGS_AFTER), f"it took {took:.1f} s to be refused")
    for word in words:
        require(re.search(word, run.text("err")), f"'{word}' is not said: {run.text('err')[-2000:]}")


def launch_equal(bench):
    hosts = bench.plain_hosts()
    _, database, _ = run_sweep(hosts, "equal", ["-n", "4"])
    require(topologies(hosts, database) == {(2, 2)}, f"found {topologies(hosts, database)}")
    require_ok(hosts, database)


def launch_unequal(bench):
    with bench.hosts(slots=[3, 1]) as hosts:
        _, database, _ = run_sweep(hosts, "unequal", ["-n", "4"])
        require({nodes for nodes, _ in topologies(hosts, database)} == {2}, f"found {topologies(hosts, database)}")
        require_ok(hosts, database)


def launch_cyclic(bench):
    hosts = bench.plain_hosts()
    _, database, _ = run_sweep(hosts, "cyclic", ["-n", "4", "--map-by", "node"])
    require(topologies(hosts, database) == {(2, 2)}, f"found {topologies(hosts, database)}")
    require_ok(hosts, database)


def launch_sub_worlds(bench):
    with bench.hosts(3) as hosts:
        worlds = [{"nodes": 2, "ranks_per_node": 1}, {"nodes": 3, "ranks_per_node": 1}]
        _, database, _ = run_sweep(hosts, "worlds", ["-n", "6"], SMALL | {"worlds": worlds})
        require(topologies(hosts, database) == {(2, 1), (3, 1)}, f"found {topologies(hosts, database)}")
        require_ok(hosts, database)


def launch_ipv6(bench):
    with bench.hosts(ipv6=True) as hosts:
        _, database, _ = run_sweep(hosts, "ipv6", ["-n", "4"])
        require(topologies(hosts, database) == {(2, 2)}, f"found {topologies(hosts, database)}")
        require_ok(hosts, database)


def launch_other_clocks(bench):
    with bench.hosts(clock_steps=5000) as hosts:
        _, database, _ = run_sweep(hosts, "clocks", ["-n", "4"])
        require_ok(hosts, database)


def launch_slurm(bench):
    """Returns why not, where Slurm is not installed."""
    try:
        hosts = bench.hosts(slurm=True)
    except lab_hosts.Refused as refusal:
        return str(refusal)
    with hosts:
        hosts.mpirun = ["srun", "--mpi=pmix", "-N2"]
        _, database, _ = run_sweep(hosts, "slurm", ["-n", "4"], host=lab_hosts.HEAD)
        require(topologies(hosts, database) == {(2, 2)}, f"found {topologies(hosts, database)}")
        require_ok(hosts, database)
    return None


def launch_contained_ranks(bench):
    hosts = bench.plain_hosts()
    run, _, took = run_sweep(hosts, "contained", ["-n", "4", "unshare", "-pf", "--mount-proc"], code=2)
    require_refused(hosts, run, took, r"rank \d on lab\d: .*PID namespace")


def launch_unlike_settings(bench):
    with bench.hosts() as hosts:
        hosts.lab.must(["sh", "-c", "printf '\\nbtl_tcp_eager_limit = 32768\\n' >>/etc/openmpi/openmpi-mca-params.conf"], on="lab1")
        run, _, took = run_sweep(hosts, "settings", ["-n", "4"], code=2)
        require_refused(hosts, run, took, r"btl_tcp_eager_limit: .*'32768' on ranks 2-3 \(lab1\)")


def launch_mixed_builds(bench):
    hosts = bench.plain_hosts()
    words = ["sweep", "--allow-oversubscribe", "--config", hosts.configure("builds", **SMALL), "--db",
             str(hosts.folder / "builds.db"), "--quiet"]
    begin = time.monotonic()
    with Run(hosts, hosts.on("lab0", [*hosts.mpirun, "-n", "2", "--host", "lab0:2", hosts.agent, *words, ":", "-n", "2",
                                      "--host", "lab1:2", hosts.other_agent, *words])) as run:
        code = run.end(LONGEST)
    require(code == 2, f"ended with {code}: {run.text('err')[-2000:]}")
    require_refused(hosts, run, time.monotonic() - begin, "build")


LAUNCHES = [launch_equal, launch_unequal, launch_cyclic, launch_sub_worlds, launch_ipv6, launch_other_clocks, launch_slurm,
            launch_contained_ranks, launch_unlike_settings, launch_mixed_builds]


def launches(bench, count):
    """Launches over two and three hosts: equal and unequal, cyclic, sub-worlds, IPv6 alone, unlike clocks, Slurm; and those that are
    refused within 10 s: ranks in PID namespaces of their own, unlike MCA settings, mixed builds."""
    for i in range(count):
        launch = LAUNCHES[i % len(LAUNCHES)]
        begin = time.monotonic()
        skipped = launch(bench)
        yield {"launch": launch.__name__.removeprefix("launch_"), "seconds": round(time.monotonic() - begin, 1)} | (
            {"skipped": skipped} if skipped else {})


# --- Faults: the sweep ends or goes on, in time, and blames no variant. ---


class SupervisedOnHosts:
    """A supervised sweep from lab0, one rank on each of two hosts."""

    def __init__(self, hosts, patience=30, budget=None):
        self.hosts = hosts
        self.patience = patience
        self.database = hosts.folder / "tuning.db"
        self.configuration = hosts.configure("tuning", **(QUICK | {"budget_seconds": budget or quick_budget(hosts)}))
        self.run = self.start()

    def start(self):
        sweep = [*self.hosts.mpirun, "-n", "2", self.hosts.agent, "sweep", "--allow-oversubscribe", "--call-limit",
                 str(self.hosts.call_limit), "--config", self.configuration, "--db", str(self.database)]
        return Run(self.hosts, self.hosts.on("lab0", self.hosts.supervise(self.database, sweep, "--host-patience",
                                                                          str(self.patience))))

    def await_trials(self, seconds=0.0):
        self.run.await_line(NEW_TRIAL, 60)
        time.sleep(seconds)
        require(self.run.process.poll() is None, "the sweep was over too soon")

    def await_loss(self, since):
        """How long it took until lab1 was missed."""
        found_at, _ = self.run.await_line(r"host lab1 \(rank 1\) (does not answer any more|has not answered since .*): no variant is blamed", 60, since=since)
        return found_at - since

    def finish(self, codes=(0, BUDGET_OVER)):
        code = self.run.end(LONGEST)
        require(code in codes, f"supervise ended with {code}: {self.run.text('err')[-3000:]}")
        return code

    def require_kept(self, before):
        after = stored_trials(self.database)
        require(before.items() <= after.items(), "a finished trial was lost or changed")
        require_ok(self.hosts, self.database)
        require_none_blamed(self.hosts, self.database)
        self.hosts.require_ended(self.database, after)
        require_sound(self.database)


def cable_once(bench, seconds, moments):
    with bench.hosts(slots=1) as hosts:
        sweep = SupervisedOnHosts(hosts)
        with sweep.run:
            sweep.await_trials(moments.uniform(0, 1))
            before = stored_trials(sweep.database)
            cut_at = time.monotonic()
            hosts.lab.cut("lab1")
            found = sweep.await_loss(cut_at)
            time.sleep(max(0.0, cut_at + seconds - time.monotonic()))
            hosts.lab.heal("lab1")
            if seconds < sweep.patience:
                resumed_at, _ = sweep.run.await_line(NEW_TRIAL, 60, since=cut_at + seconds)
                sweep.finish()
                resumed = {"resumed_s": round(resumed_at - cut_at - seconds, 2)}
            else:
                require(sweep.finish(codes=(4,)) == 4, "")
                resumed = {}
        hosts.require_gone()
        if not resumed:
            sweep.run = sweep.start()
            with sweep.run:
                sweep.finish()
        sweep.require_kept(before)
        return {"cut_s": seconds, "found_s": round(found, 2), "stored_before": len(before)} | resumed


def cables(bench, count):
    """The cable of a host is pulled for 5, 20 and 60 s: the host is named, no variant is blamed, and the sweep goes on when it
    is back, or ends and is taken up by the same command."""
    moments = random.Random(32)
    for i in range(count):
        yield cable_once(bench, [5, 20, 60][i % 3], moments)


def switched_off(bench, count):
    """A host is switched off: it is named, the sweep ends within its patience, nothing that was stored is lost."""
    moments = random.Random(33)
    for _ in range(count):
        with bench.hosts(slots=1) as hosts:
            sweep = SupervisedOnHosts(hosts, patience=3)
            with sweep.run:
                sweep.await_trials(moments.uniform(0, 1))
                before = stored_trials(sweep.database)
                off_at = time.monotonic()
                hosts.lab.switch_off("lab1")
                found = sweep.await_loss(off_at)
                sweep.finish(codes=(4,))
                ended = time.monotonic() - off_at
            hosts.require_gone()
            require_sound(sweep.database)
            require(before.items() <= stored_trials(sweep.database).items(), "a finished trial was lost or changed")
            require_none_blamed(hosts, sweep.database)
            yield {"found_s": round(found, 2), "ended_s": round(ended, 2), "stored_before": len(before)}


def frozen(bench, count):
    """A host hangs, processes and network, and comes back: as a pulled cable."""
    moments = random.Random(34)
    for _ in range(count):
        with bench.hosts(slots=1) as hosts:
            sweep = SupervisedOnHosts(hosts)
            with sweep.run:
                sweep.await_trials(moments.uniform(0, 1))
                before = stored_trials(sweep.database)
                frozen_at = time.monotonic()
                hosts.lab.freeze("lab1")
                found = sweep.await_loss(frozen_at)
                hosts.lab.thaw("lab1")
                sweep.finish()
            hosts.require_gone()
            sweep.require_kept(before)
            yield {"found_s": round(found, 2), "stored_before": len(before)}


def stopped_ranks(bench, count):
    """SIGSTOP of a rank, on another host or on the first: rank and host are named in time, no variant is blamed, and the sweep
    goes on."""
    moments = random.Random(35)
    for i in range(count):
        rank = 1 - i % 2
        with bench.hosts(slots=1) as hosts:
            sweep = SupervisedOnHosts(hosts)
            with sweep.run:
                sweep.await_trials(moments.uniform(0, 1))
                before = stored_trials(sweep.database)
                # Only the records of lab0's rank lie where they can be read here.
                stopped_at = stop_in_trial(hosts.ranks()[rank], sweep.database, 0, moments)
                found_at, _ = sweep.run.await_line(rf"timed_out: rank {rank} on lab{rank} was stopped", 60, since=stopped_at)
                resumed_at, _ = sweep.run.await_line(NEW_TRIAL, 60, since=found_at)
                sweep.finish()
            hosts.require_gone()
            sweep.require_kept(before)
            yield {"rank": rank, "found_s": round(found_at - stopped_at, 2), "resumed_s": round(resumed_at - stopped_at, 2)}


def full_disks(bench, count):
    """The /tmp of a host is full, before a launch and under it: the sweep runs to its end, or says which host has no room."""
    for i in range(count):
        with bench.hosts(slots=1, tmp_size="64m") as hosts:
            fill = ["sh", "-c", "dd if=/dev/zero of=/tmp/fill bs=1M 2>/dev/null; true"]
            before_launch = i % 2 == 1
            if before_launch:
                hosts.lab.must(fill, on="lab1")
            sweep = SupervisedOnHosts(hosts)
            with sweep.run:
                if not before_launch:
                    sweep.await_trials()
                    hosts.lab.must(fill, on="lab1")
                code = sweep.finish(codes=(0, 2, 4, BUDGET_OVER))
            hosts.require_gone()
            if code not in (0, BUDGET_OVER):
                require(re.search(r"lab1.*(space|full|room)|(space|full|room).*lab1", sweep.run.text("err"), re.DOTALL),
                        f"the host that has no room is not named: {sweep.run.text('err')[-2000:]}")
            yield {"before_the_launch": before_launch, "code": code}


def clocks(bench, count):
    """The wall clock of a host is ten minutes ahead, or behind: nothing comes of it."""
    for i in range(count):
        with bench.hosts(slots=1) as hosts:
            offset = 600 if i % 2 == 0 else -600
            for host, seconds in (("lab0", 0), ("lab1", offset)):
                hosts.lab.write(host, "/etc/clock-offset", str(seconds))
                hosts.lab.write(host, "/etc/ld.so.preload", bench.shifted_clock + "\n")
            apart = int(hosts.lab.must(["date", "+%s"], on="lab1")) - int(hosts.lab.must(["date", "+%s"], on="lab0"))
            require(abs(apart - offset) < 5, f"the clocks are {apart} s apart")
            sweep = SupervisedOnHosts(hosts)
            with sweep.run:
                sweep.finish()
            sweep.require_kept({})
            yield {"offset_s": offset, "trials": len(stored_trials(sweep.database))}


# name -> (case, repetitions of the test, repetitions for the figure, the most that a figure may be)
CASES = {
    "launches": (launches, len(LAUNCHES), len(LAUNCHES), {}),
    "cables": (cables, 1, 20, {"found_s": STEP_LIMIT + BEYOND}),
    "switched_off": (switched_off, 1, 20, {"found_s": STEP_LIMIT + BEYOND}),
    "frozen": (frozen, 1, 20, {"found_s": STEP_LIMIT + BEYOND}),
    "stopped_ranks": (stopped_ranks, 1, 20, {"found_s": STEP_LIMIT + BEYOND}),
    "full_disks": (full_disks, 1, 20, {}),
    "clocks": (clocks, 1, 20, {}),
}
