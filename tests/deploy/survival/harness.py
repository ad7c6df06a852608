# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Starts sweeps, watches them from outside, and keeps what was seen. The cases are in cases.py."""

import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from pathlib import Path

MARK = "COLLTUNE_SURVIVAL_TEST"  # in the environment of all that is started: finds what is left over


class Failed(Exception):
    """What was seen is not what must be."""


def require(is_so, what):
    if not is_so:
        raise Failed(what)


class Lab:
    """The programs under test, and a folder that goes with it."""

    def __init__(self, programs, faults, mpirun, is_full, folder=None):
        self.is_full = is_full  # whether figures are made
        # Seconds: what waits for a limit has a small one in a test.
        self.call_limit = 1 if is_full else 0.5
        self.agent = str(programs / "colltune-agent")
        self.colltune = str(programs / "colltune")
        self.faults = faults
        self.mpirun = mpirun
        self.started_in = None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="colltune-survival-"))
        self.environment = dict(os.environ, **{MARK: str(self.folder)})
        if os.getuid() == 0:
            self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def close(self):
        for pid in self.processes():
            kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def configure(self, name, **keys):
        """Writes a configuration. The precision is out of reach, so that budgets are spent."""
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"version": 1, "collectives": ["all_reduce"], "precision": 0.0001} | keys))
        return str(path)

    def sweep(self, configuration, database, *options, ranks=2):
        return [*self.mpirun, "-n", str(ranks), self.agent, "sweep", "--allow-oversubscribe", "--call-limit",
                str(self.call_limit),
                "--config", configuration, "--db", str(database), *options]

    def started_here(self, command):
        """The command line that starts a sweep's command line where this lab starts sweeps."""
        return command

    def start_takes(self):
        """Seconds of a launch that only plans, once measured."""
        if self.started_in is None:
            plan = self.sweep(self.configure("start", sizes="4KiB"), self.folder / "start.db", "--dry-run")
            with Run(self, self.started_here(plan)) as run:
                code = run.end(60)
            require(code == 0, f"the plan ended with {code}: {run.text('err')}")
            self.started_in = time.monotonic() - run.begin
        return self.started_in

    def supervise(self, database, sweep, *options):
        return [self.agent, "supervise", "--db", str(database), *options, "--", *sweep]

    def show(self, what, database):
        """What colltune reads of a database: it verifies every checksum on the way."""
        run = Run(self, [self.colltune, "show", what, "--db", str(database), "--json"])
        code = run.end(60)
        require(code == 0, f"colltune show {what} ended with {code}: {run.text('err')}")
        return json.loads(run.text("out"))

    def ends_of_sweeps(self, database):
        return [end_of(sweep) for sweep in self.show("sweeps", database)]

    def require_ended(self, database, stored):
        """One sweep, which ended in order: with its whole plan, or with what its budget allowed."""
        sweeps = self.show("sweeps", database)
        require(len(sweeps) == 1, f"{len(sweeps)} sweeps instead of one")
        sweep = sweeps[0]
        end = end_of(sweep)
        require((sweep["state"], end) in (("complete", "complete"), ("partial", "budget")), f"not ended in order: {sweep}")
        trials = len({(key, variant, is_twin) for _, key, variant, is_twin, _ in stored})
        require(end == "budget" or trials == sweep["planned_trials"], f"{trials} trials of {sweep['planned_trials']}")

    def processes(self):
        """All that was started here and still runs, also what nobody waits for."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_ours(entry):
                found.append(int(entry.name))
        return found

    def ranks(self):
        """Rank -> process of the running launch."""
        ranks = {}
        for pid in self.processes():
            rank = re.search(rb"(?:^|\0)(?:OMPI_COMM_WORLD_RANK|PMIX_RANK|PMI_RANK)=(\d+)", environment_of(pid))
            if rank:
                ranks[int(rank[1])] = pid
        return ranks

    def require_none_left(self, seconds):
        end = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        require(not left, f"{len(left)} process(es) are left over {seconds} s later: {left}")

    def _is_ours(self, entry):
        return f"{MARK}={self.folder}".encode() in environment_of(entry.name).split(b"\0")


def end_of(sweep):
    """How a sweep that `show` tells of ended; None: not in order."""
    return json.loads(sweep["summary"] or "{}").get("end")


def environment_of(pid):
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def kill(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


class Run:
    """A program, with the moment at which each line of its stdout and stderr came."""

    def __init__(self, lab, command):
        self.command = command
        self.begin = time.monotonic()
        self.process = subprocess.Popen(command, env=lab.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        self.lines = []  # (moment, stream, text)
        self._news = threading.Condition()
        self._readers = [threading.Thread(target=self._read, args=(name, stream), daemon=True)
                         for name, stream in (("out", self.process.stdout), ("err", self.process.stderr))]
        for reader in self._readers:
            reader.start()

    def _read(self, name, stream):
        for line in stream:
            with self._news:
                self.lines.append((time.monotonic(), name, line.rstrip("\n")))
                self._news.notify_all()

    def find(self, pattern, since=0.0):
        """Moment and match of the first line that matches and did not come before `since`."""
        for moment, _, text in list(self.lines):
            if moment >= since and (match := re.search(pattern, text)):
                return moment, match
        return None

    def await_line(self, pattern, seconds, since=0.0):
        end = time.monotonic() + seconds
        with self._news:
            while (found := self.find(pattern, since)) is None:
                left = end - time.monotonic()
                if left <= 0 or (self.process.poll() is not None and not any(r.is_alive() for r in self._readers)):
                    raise Failed(f"no line matches '{pattern}' within {seconds} s:\n{self.text('err')[-3000:]}")
                self._news.wait(min(left, 0.2))
        return found

    def end(self, seconds):
        """The exit code; 128+n for signal n, as a shell counts. What hangs has failed."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failed(f"did not end within {seconds} s: {' '.join(self.command)}\n{self.text('err')[-3000:]}") from None
        for reader in self._readers:
            reader.join(5)
        return code if code >= 0 else 128 - code

    def text(self, stream):
        return "\n".join(text for _, name, text in list(self.lines) if name == stream)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def stored_trials(database):
    """(sweep, key, variant, whether it is the baseline's twin, pass) -> digest of the whole row: what was committed so far, read beside the running sweep."""
    if not Path(database).exists():
        return {}
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)
    try:
        rows = connection.execute("SELECT sweep_id, key_id, variant, is_twin, pass, * FROM measurement").fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return {}
        raise
    finally:
        connection.close()
    trials = {row[:5]: hashlib.sha256(repr(row).encode()).hexdigest() for row in rows}
    require(len(trials) == len(rows), "a trial is stored twice in a pass")
    return trials


# Layout of the in-flight file and of a rank's record in it (in_flight_file.cpp, flight_recorder.cpp), in bytes.
IN_FLIGHT_HEADER, RECORD, RECORD_HEADER, STEP, SIZES_IN_STEP = 4096, 512 + 32 * 512, 512, 512, 48


def is_in_trial(database, number):
    """Whether the last step that the rank with this record noted belongs to a trial: it names a variant."""
    try:
        record = Path(f"{database}.in-flight").read_bytes()[IN_FLIGHT_HEADER + number * RECORD:][:RECORD]
    except FileNotFoundError:
        return False
    steps = [record[at:at + STEP] for at in range(RECORD_HEADER, len(record), STEP)]
    last = max(steps, key=lambda step: int.from_bytes(step[:8], "little"), default=bytes(STEP))
    return int.from_bytes(last[SIZES_IN_STEP:][:8], "little") >> 32 & 0xffff > 0


def stop_in_trial(pid, database, slot, moments):
    """Stops a rank by SIGSTOP at a moment at which the rank of `slot` does not get out of a trial; when that was."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        stopped_at = time.monotonic()
        require(kill(pid, signal.SIGSTOP), "the rank is gone")
        time.sleep(0.1)  # others come to where they wait for it
        if is_in_trial(database, slot):
            return stopped_at
        kill(pid, signal.SIGCONT)
        time.sleep(moments.uniform(0, 0.05))
    raise Failed("no trial was in flight for 30 s")


def require_none_blamed(lab, database):
    for what in ("failures", "quarantines"):
        blamed = [row["variant"] for row in lab.show(what, database)]
        require(not blamed, f"blamed ({what}): {blamed}")


def require_sound(database):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)
    try:
        answer = connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()
    require(answer == [("ok",)], f"integrity_check says {answer}")
