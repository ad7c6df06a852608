#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that executed.py works: how it judges, and that launches with the component and without are stored, on a table in which
kernels of ours win everywhere. What it measures with such counts means nothing.

  tests/bench/executed/executed_test.py BUILD LAUNCHER PLANTED_TABLE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import executed  # noqa: E402
import launches  # noqa: E402


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def check_judgement():
    def near(*ratios):
        return [("near", ratio) for ratio in ratios]
    twice = near(2.0, 2.1, 1.9, 2.05, 1.95)
    even = near(0.99, 1.01, 1.0, 0.98, 1.02)
    promised = {("broadcast", 64): {None: 2.0}}
    check(not executed.judge({("broadcast", 64): twice, ("broadcast", 256): even}, promised), "what was promised is there")
    faults = executed.judge({("broadcast", 64): even, ("broadcast", 256): even}, promised)
    check(len(faults) == 1 and "geometric mean" in faults[0], f"a promise is not kept: {faults}")
    faults = executed.judge({("reduce", 64): near(*[ratio * 0.9 for _, ratio in even]), ("reduce", 256): twice}, {})
    check(len(faults) == 1 and "reduce 64 B" in faults[0], f"a slower cell is named: {faults}")
    faults = executed.judge({("reduce", 64): near(2.0), ("reduce", 256): twice}, {})
    check(len(faults) == 1 and "1 visits of both sides in one state" in faults[0], f"too little to judge is no success: {faults}")
    mixed = [("near", 2.0), ("near", 2.0), ("far", 1.2), ("far", 1.2)]
    by_state = {("gather", 8): {None: 1.9, "near": 2.0, "far": 1.2}}
    check(not executed.judge({("gather", 8): mixed}, by_state), "a promise holds for the state that a visit met")
    check(executed.judge({("gather", 8): mixed}, {("gather", 8): {None: 1.9}}), "and is another one than that of all states")


def check_states():
    check(launches.boundary_of([50.0] * 30 + [60.0] * 30) is None, "one state")
    check(launches.boundary_of([]) is None, "nothing known is one state")
    boundary = launches.boundary_of([50.0] * 30 + [200.0] * 30)
    check(boundary == 100, f"between near and far: {boundary}")
    check(launches.boundary_of([50.0] * 60 + [20000.0]) is None, "one interrupted cache line is no state")
    check(launches.state_of([50, 180], boundary) is None, "moved meanwhile")
    check(launches.state_of([None, None], None) == "near", "ranks that share cores have one state")
    far, near, moved = [210, 190], [55, 50], [50, 210]
    pairs = launches.pairs_of([(100, near), (300, far), (310, far), (1, moved)], [(900, far), (1, moved), (930, far), (150, near)], boundary)
    check(pairs == [("near", 1.5), ("far", 3.0), ("far", 3.0)], f"visits of one state are compared, in the order of time: {pairs}")
    check(not launches.pairs_of([(100, near)], [(900, far)], boundary), "visits of two states are not")


def check_calls():
    def one(calls, of_pass, is_baseline=True, is_twin=False, outcome="ok", size=8):
        return {"sweep_uuid": "s", "key": {"problem": {"collective": "gather", "message_size_bytes": size}}, "outcome": outcome,
                "variant": "mpi.gather" if is_baseline else "cpu.gather_flat", "is_baseline": is_baseline, "is_twin": is_twin,
                "calls_per_sample": calls, "pass": of_pass}
    found = launches.calls_of([one(8, 0), one(4, 1), one(5, 2), one(16, 0, is_twin=True), one(7, 0, is_baseline=False),
                               one(3, 0, size=64, outcome="failed")])
    check(found == {("gather", 8): 5}, f"the median over the passes of the library's own: {found}")


def check_promises():
    def one(variant, ns, outcome="ok", size=8, of_pass=0, hand_over=50):
        return {"sweep_uuid": "s", "key": {"problem": {"collective": "gather", "message_size_bytes": size}}, "outcome": outcome,
                "variant": variant, "is_baseline": variant == "mpi.gather", "is_twin": False, "calls_per_sample": 1,
                "pass": of_pass, "samples_per_round": 2, "samples_ns": [ns, ns, ns, ns], "marks": [], "conditions": {"hand_over_ns": hand_over}}
    cells = {("gather", size): "cpu.gather_flat" for size in (8, 64)}
    measured = [one("mpi.gather", 300), one("cpu.gather_flat", 200), one("cpu.gather_tree", 100),
                one("mpi.gather", 300, size=64), one("cpu.gather_flat", 200, outcome="failed", size=64)]
    before = {("gather", 8): 3.0, ("gather", 64): 4.0}
    found = executed.promises_of(cells, before, measured)
    check(found == {("gather", 8): {None: 1.5}, ("gather", 64): {None: 4.0}}, f"the chosen one's worth by another sweep: {found}")
    far = [one("mpi.gather", 660, of_pass=1, hand_over=200), one("cpu.gather_flat", 600, of_pass=1, hand_over=200)]
    found = executed.promises_of(cells, before, measured + far)[("gather", 8)]
    check(round(found["near"], 6) == 1.5 and round(found["far"], 6) == 1.1, f"the worth in each state: {found}")
    check(sorted(executed.hand_overs_of(measured + far)) == [50, 50, 200], "one for each visit of a cell")


def check_refusals(build, launcher, table):
    def refusal(*words):
        done = subprocess.run([HERE / "executed.py", "--build", build, "--mpirun", launcher, *words], check=False, text=True,
                              capture_output=True)
        check(done.returncode == 2, f"{words} is refused: {done.returncode}")
        return done.stderr
    check("--table needs --calls or --db" in refusal("--table", table), "a table does not say how many calls the sweep made")
    check("at least 1" in refusal("--table", table, "--calls", "0"), "no calls at all")


def check_result(result, calls):
    check(len(result["cells"]) == 4, "all cells are there")
    check(all(len(cell[side]) == 2 and min(cell[side]) > 0 for cell in result["cells"] for side in ("with_ns", "without_ns")),
          "each cell has the times of two launches")
    check(all(cell["calls"] == calls.get((cell["collective"], cell["bytes"]), 3) for cell in result["cells"]),
          f"the calls back to back are as asked for: {calls or 3}")


def main():
    check_judgement()
    check_states()
    check_calls()
    check_promises()
    build, launcher, planted = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        table = pathlib.Path(folder) / "planted.ctt"
        subprocess.run([planted, table, "1", "1x2"], check=True)
        check_refusals(build, launcher, table)

        def run(*source):
            subprocess.run([HERE / "executed.py", "--build", build, "--mpirun", launcher, *source, "--collectives", "all_reduce",
                            "broadcast", "--sizes", "96", "6144", "--launches", "2", "--seconds", "0.01", "--unjudged",
                            "--results", folder], check=True)
            return json.loads((pathlib.Path(folder) / "executed_2.json").read_text())["result"]
        result = run("--table", table, "--calls", "3")
        check_result(result, {})
        check(all(cell["promised"] == {"all": 2} for cell in result["cells"]), "the table promises what was planted")
        programs = launches.Programs(pathlib.Path(build), launcher, 2)
        database = pathlib.Path(folder) / "swept.db"
        programs.sweep(launches.write_config(pathlib.Path(folder), "swept", collectives=["all_reduce", "broadcast"],
                                             sizes=[96, 6144], budget_seconds=10,
                                             soak={"runs": 0}, implementations={"include": ["mpi.all_reduce", "mpi.broadcast"]}),
                       database)
        calls = launches.calls_of(programs.json_of("show", "measurements", "--db", str(database)))
        check(len(calls) == 4, f"the sweep says how many calls it made of each: {calls}")
        check_result(run("--table", table, "--db", database), calls)


if __name__ == "__main__":
    main()
