#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""`colltune run -- srun …` on two hosts of deploy/lab with a Slurm of their own: what the ranks need reaches both hosts, the
user's own settings stay, exit code and signals pass, calls are recorded, a sweep measures.
Ends with 77 where this machine or user cannot have such hosts, or Slurm is not installed.

  COLLTUNE_BIN=… COLLTUNE_SOURCE=… COLLTUNE_PLANTED_TABLE=… COLLTUNE_RANDOM_PROGRAM=… tests/deploy/srun_test.py"""

import json
import os
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
SOURCE = Path(os.environ["COLLTUNE_SOURCE"])
sys.path.insert(0, str(SOURCE / "deploy"))
from lab_hosts import HEAD, Lab, Refused  # noqa: E402

COLLTUNE, AGENT = (str(Path(os.environ["COLLTUNE_BIN"]) / name) for name in ("colltune", "colltune-agent"))
PLANTED_TABLE = os.environ.get("COLLTUNE_PLANTED_TABLE")  # in builds with the component for Open MPI
RANDOM_PROGRAM = os.environ.get("COLLTUNE_RANDOM_PROGRAM")
SRUN = ["srun", "--mpi=pmix", "-N2"]
STARTS_WITHIN = 60.0  # seconds
failures = []


def check(holds, what, *texts):
    if holds:
        return
    failures.append(what)
    print(f"FAILED: {what}", *(text[-2000:] for text in texts), sep="\n", file=sys.stderr)


class Launches:
    """Commands on the head, which has no ranks of its own, with the table of these tests."""

    def __init__(self, lab):
        self.lab = lab
        self.table = f"{lab.shared}/planted.ctt"
        lab.must([PLANTED_TABLE, self.table, "3", "2x2", "1x2", "2x1"])

    def tuned(self, *options):
        return [COLLTUNE, "run", "--table", self.table, "--files", f"{self.lab.shared}/launch", *options, "--"]

    def run(self, command, **environment):
        return self.lab.run(command, on=HEAD, environment={"OMPI_MCA_coll_colltune_patience": "0", **environment})

    def winners_run_on_both_hosts(self):
        code, out, err = self.run([*self.tuned(), *SRUN, "-n4", RANDOM_PROGRAM, "300", "1", "without-windows"])
        check(code == 0 and "300 calls, right" in out, "a program is right under srun", out, err)
        check(" ran by generation 1, table " in err and "_hierarchical" in err, "kernels of both hosts run", err)
        check(err.count(" ran by generation 1") == 1, "there is one report", err)

    def settings_reach_both_hosts(self):
        show = "echo $(hostname) ${OMPI_MCA_coll_colltune_table##*/} $OWN $OTHER $OMPI_MCA_btl_tcp_eager_limit"
        code, out, err = self.run([*self.tuned("--quiet"), *SRUN, "--export=ALL,OTHER=given", "-n2", "sh", "-c", show], OWN="mine",
                                  OMPI_MCA_btl_tcp_eager_limit="8192")
        lines = sorted(out.splitlines())
        check(code == 0 and len(lines) == 2, "each host says what it got", out, err)
        for host, line in zip(self.lab.names, lines):
            words = line.split()
            check(words[:1] == [host] and len(words) == 5 and words[1].endswith(".ctt") and words[2:] == ["mine", "given", "8192"],
                  f"{host} has our settings and the user's", line)
        check(err == "", "--quiet is quiet", err)

    def exit_codes_pass(self):
        for code_of_rank in (0, 7):
            code, _, err = self.run([*self.tuned("--quiet"), *SRUN, "-n2", "sh", "-c", f"exit {code_of_rank}"])
            check(code == code_of_rank, f"the exit code {code_of_rank} passes", str(code), err)

    def signals_pass(self):
        """What a signal does to a command under srun, with us and without; srun hands SIGUSR1 on to the ranks."""
        for number in (signal.SIGUSR1, signal.SIGTERM):
            codes = [self.signalled(number, tuned) for tuned in (self.tuned("--quiet"), [])]
            check(codes[0] == codes[1], f"{number.name} does what it does without us", str(codes))
            check(number != signal.SIGUSR1 or codes[0] == 5, f"{number.name} comes to the ranks", str(codes))

    def signalled(self, number, tuned):
        started = [Path(self.lab.shared, f"started.{rank}") for rank in range(2)]
        for file in started:
            file.unlink(missing_ok=True)
        wait = f"trap 'exit 5' USR1; : >{self.lab.shared}/started.$SLURM_PROCID; while :; do sleep 0.05; done"
        with open(os.devnull, "r+b") as nothing:
            command = self.lab.start([*tuned, *SRUN, "-n2", "sh", "-c", wait], on=HEAD, streams=[nothing.fileno()] * 3)
            try:
                end = time.monotonic() + STARTS_WITHIN
                while not all(file.exists() for file in started):
                    if time.monotonic() > end:
                        return "the ranks did not start"
                    time.sleep(0.05)
                command.signal(number)
                return command.wait(STARTS_WITHIN)
            finally:
                command.close()

    def calls_are_recorded(self):
        trace = f"{self.lab.shared}/program.ctr"
        code, out, err = self.run([COLLTUNE, "run", "--record", trace, "--", *SRUN, "-n4", RANDOM_PROGRAM, "100", "2",
                                   "without-windows"])
        check(code == 0 and "100 calls, right" in out, "a program is right while it is recorded", out, err)
        code, out, err = self.run([COLLTUNE, "show", "trace", trace, "--json"])
        check(code == 0, "the trace is there", out, err)
        seen = json.loads(out) if code == 0 else {}
        check((seen.get("ranks"), seen.get("nodes")) == (4, 2), "the trace has both hosts", out[:300])
        check(any(call["world"]["nodes"] == 2 for call in seen.get("calls", [])), "and calls between them", out[:300])

    def a_sweep_measures_both_hosts(self):
        shared = self.lab.shared
        Path(shared, "small.json").write_text(json.dumps(
            {"version": 1, "collectives": ["all_reduce"], "sizes": "4KiB", "passes": 1, "precision": 0.5, "null_test": False,
             "implementations": {"include": ["mpi.*", "cpu.*_hierarchical"], "exclude": ["mpi.*_tuned", "mpi.*_han"]},
             "parameters": {"cpu.*": {"access": ["staged"], "across": ["flat", "one_shot"], "inside": ["flat"],
                                      "gather": ["flat_pull"], "chunk": [16384]}}}))
        database = f"{shared}/tuning.db"
        code, out, err = self.run([*SRUN, "-n4", AGENT, "sweep", "--most-rounds", "12", "--allow-oversubscribe", "--config",
                                   f"{shared}/small.json", "--db", database, "--quiet"])
        check(code == 0, "a sweep ends well under srun", str(code), out, err)
        code, out, err = self.run([COLLTUNE, "show", "measurements", "--db", database, "--json"])
        found = json.loads(out) if code == 0 else []
        outcomes = {(one["variant"].split("{")[0], one["outcome"], one["ranks_ran"]) for one in found}
        check({("mpi.all_reduce", "ok", 4), ("cpu.all_reduce_hierarchical", "ok", 4)} <= outcomes, "all is measured", str(outcomes))
        worlds = {(one["key"]["topology"]["nodes"], one["key"]["topology"]["ranks_per_node"]) for one in found}
        check(worlds == {(2, 2)}, "on two hosts", str(worlds))

    def the_preloaded_library_leaves_calls_between_hosts_alone(self):
        code, out, err = self.run([*self.tuned("--preload"), *SRUN, "-n4", RANDOM_PROGRAM, "100", "3", "without-windows"])
        check(code == 0 and "100 calls, right" in out, "a program is right under the preloaded library", out, err)
        check("not all ranks of a communicator run with colltune on this host" in err, "and says what it leaves", err)


def main():
    try:
        if PLANTED_TABLE is None:
            raise Refused("this build has no component for Open MPI")
        with Lab(2, slots=2, slurm=True) as lab:
            launches = Launches(lab)
            for case in (launches.winners_run_on_both_hosts, launches.settings_reach_both_hosts, launches.exit_codes_pass,
                         launches.signals_pass, launches.calls_are_recorded, launches.a_sweep_measures_both_hosts,
                         launches.the_preloaded_library_leaves_calls_between_hosts_alone):
                begin = time.monotonic()
                case()
                print(f"{case.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    except Refused as refusal:
        print(f"srun_test.py: skipped: {refusal}", file=sys.stderr)
        return 77
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
