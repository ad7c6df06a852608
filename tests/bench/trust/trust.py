#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Do our decisions hold when somebody measures again? README.md beside this file says what each case asks.

  tests/bench/trust/trust.py null --build build/release

stores results/null.json: what was found, with machine, date and command.
"""
import argparse
import contextlib
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import launches  # noqa: E402
from launches import (COLLECTIVES, Programs, SOURCE, balanced_ratio, by_trial, key_of, over_passes,  # noqa: E402
                      pass_ratios, write_config)


def confirm(programs, database, arguments, agent=None, environment=None):
    """Returns the last line that it says."""
    agent = agent or programs.agent
    done = programs.run(agent, "confirm", "--db", str(database), "--launches", str(arguments.launches),
                        "--seconds-per-key", str(arguments.seconds_per_key_in_launch), "--", *programs.launch, agent,
                        environment=environment)
    return [line for line in done.stderr.splitlines() if line][-1:]


def sizes_of(count, most):
    """`count` sizes from 64 bytes to `most`, geometric, multiples of 64: 8 ranks of f32 divide them."""
    ratio = (most / 64) ** (1 / max(1, count - 1))
    sizes = sorted({round(64 * ratio**i / 64) * 64 for i in range(count)})
    candidate = 64
    while len(sizes) < count:  # the smallest ones coincide
        if candidate not in sizes:
            sizes.append(candidate)
        candidate += 64
    return ",".join(str(size) for size in sorted(sizes))


def check_some(count, what):
    """A case in which nothing was measured must not look like one that found nothing."""
    if count == 0:
        sys.exit(f"no {what}: the budget was spent before anything was measured")
    return count


def of_any_family(decisions):
    return {key_of(decision): decision for decision in decisions if decision["family"] == "any"}


def counted(decisions, field):
    counts = {}
    for decision in decisions:
        counts[decision[field]] = counts.get(decision[field], 0) + 1
    return counts


def many_keys(arguments):
    """The axes of at least `arguments.keys` keys."""
    per_collective = -(-arguments.keys // len(COLLECTIVES))
    return {"collectives": COLLECTIVES, "sizes": sizes_of(per_collective, arguments.most_bytes),
            "budget_seconds": arguments.seconds_per_key * per_collective * len(COLLECTIVES)}


def case_null(programs, folder, arguments):
    config = write_config(folder, "null", **many_keys(arguments),
                          implementations={"include": [f"mpi.{name}" for name in COLLECTIVES]})
    seconds = programs.sweep(config, folder / "null.db")
    report = programs.json_of("report", "sweep", "--db", str(folder / "null.db"))
    found = report["null_test"]
    return {"keys": check_some(found["keys"], "keys with a twin"), "wins": found["wins"], "losses": found["losses"],
            "rate": found["wins"] / max(1, found["keys"]), "upper_95": found["upper_bound"], "noise": report["noise"],
            "seconds": seconds}


def case_power(programs, folder, arguments, delay):
    environment = {"COLLTUNE_TRUST": f"delay:{delay}"}
    database = folder / "power.db"
    config = write_config(folder, "power", **many_keys(arguments))
    seconds = programs.sweep(config, database, programs.trust_agent, environment)
    swept = of_any_family(programs.json_of("show", "decisions", "--db", str(database)))
    said = confirm(programs, database, arguments, programs.trust_agent, environment)
    confirmed = of_any_family(programs.json_of("show", "decisions", "--db", str(database))).values()
    held = sum(d["verdict"] == "displaced" and d["status"] == "confirmed" for d in confirmed)
    return {"delay_percent": delay, "keys": check_some(len(swept), "decisions"),
            "verdicts_of_the_sweep": counted(swept.values(), "verdict"), "displaced_and_confirmed": held,
            "share": held / max(1, len(swept)), "confirm": said, "seconds": seconds}


def quick_config(folder, arguments, name="quick", **changes):
    config = json.loads((SOURCE / "configs/quick.json").read_text())
    config.pop("$schema", None)
    config.pop("version")
    if arguments.smoke:
        # It ends when it is done, long before its budget.
        config |= {"collectives": COLLECTIVES[:2], "precision": 0.5, "passes": 2,
                   "implementations": {"include": ["mpi.*", "cpu.*_flat"], "exclude": ["mpi.*_tuned"]}}
    return write_config(folder, name, **{**config, **changes})


def sweep_many(programs, folder, arguments, is_stressed):
    config = quick_config(folder, arguments, **({"budget_seconds": arguments.budget} if arguments.budget else {}))
    database = folder / "repeat.db"
    for number in range(arguments.sweeps):
        with stress(arguments.load / 100) if is_stressed(number) else contextlib.nullcontext():
            programs.sweep(config, database)
    return database


BUSY = """
import os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
share, period = float(sys.argv[1]), 0.01
while True:
    end = time.monotonic() + share * period
    while time.monotonic() < end:
        pass
    if share < 1:
        time.sleep((1 - share) * period)
"""


@contextlib.contextmanager
def stress(share):
    """One core is kept busy by somebody else for a share of each 10 ms."""
    busy = subprocess.Popen([sys.executable, "-c", BUSY, str(share)])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def case_repeat(programs, folder, arguments):
    database = sweep_many(programs, folder, arguments, lambda number: False)
    regret = programs.json_of("report", "regret", "--db", str(database))
    summary = {field: value for field, value in regret["pooled"].items() if field != "keys"}
    check_some(summary["choices"] + summary["not_judged"], "choices")
    sweeps = choosing_sweeps(programs, database)
    pairs = agreement(programs, database, zip(sweeps[0::2], sweeps[1::2]), ("first", "second"))
    return {"sweeps": arguments.sweeps, "pooled": summary, "pairs_of_sweeps": pairs,
            "worst": sorted((entry["regret"] for entry in regret["pooled"]["keys"]), reverse=True)[:20]}


def quiet_times(measurements):
    """sweep -> key -> variant -> its passes, of the cells in which steal stayed below 5 %."""
    cells = {}
    for (sweep, key, variant, is_twin), passes in by_trial(measurements).items():
        if not is_twin:
            cells.setdefault(sweep, {}).setdefault(key, {})[variant] = passes
    for of_sweep in cells.values():
        for key in [key for key, of_key in of_sweep.items() if steal_of(of_key.values()) >= 0.05]:
            del of_sweep[key]
    return cells


def steal_of(trials):
    """As colltune's reports count it (colltune/decide/noise.h)."""
    watched = [(one["conditions"]["steal"], len(one["samples_ns"])) for passes in trials for one in passes
               if one["conditions"]["steal"] >= 0]
    samples = sum(count for _, count in watched)
    return sum(steal * count for steal, count in watched) / samples if samples else -1


def ratio_elsewhere(cells, key, one, other, apart_from):
    """How much faster `one` is than `other`: the median over the launches that chose neither, of their ratio in the same
    rounds. Launches differ (two cores that share a cache, or do not): only what ran in the same one compares. A launch
    weighs as many as its common passes (as in colltune/decide/regret.h)."""
    ratios = []
    for sweep, of_sweep in cells.items():
        if sweep not in apart_from and {one, other} <= of_sweep.get(key, {}).keys():
            if of_pass := pass_ratios(of_sweep[key][other], of_sweep[key][one]):
                ratios += [over_passes(of_pass)] * len(of_pass)
    return statistics.median(ratios) if ratios else None


def choosing_sweeps(programs, database):
    return [s["uuid"] for s in programs.json_of("show", "sweeps", "--db", str(database)) if s["purpose"] == "choose"]


def agreement(programs, database, pairs, names):
    """In how many keys that both sweeps of a pair decided they chose the same, or what is within 5 % elsewhere."""
    cells = quiet_times(programs.json_of("show", "measurements", "--db", str(database)))
    judged = {}
    for entry in programs.json_of("report", "regret", "--db", str(database))["pooled"]["keys"]:
        judged.setdefault(entry["sweep_uuid"], {})[key_of(entry)] = entry
    counts = {"decided_in_both": 0, "agree_within_5_percent": 0, "undecided_in_one_or_both": 0, "not_judged": 0}
    alike_to_the_report = 0
    apart = []
    for one, other in pairs:
        for key in judged.get(one, {}).keys() & judged.get(other, {}).keys():
            pair = judged[one][key], judged[other][key]
            if any(entry["verdict"] == "undecided" for entry in pair):
                counts["undecided_in_one_or_both"] += 1
                continue
            chosen = [entry["chosen"] for entry in pair]
            ratio = 1.0 if chosen[0] == chosen[1] else ratio_elsewhere(cells, key, *chosen, {one, other})
            if ratio is None:
                counts["not_judged"] += 1
                continue
            counts["decided_in_both"] += 1
            reported = pair[0]["chosen_speedup"] / pair[1]["chosen_speedup"]
            alike_to_the_report += chosen[0] == chosen[1] or 1 / 1.05 <= reported <= 1.05
            if 1 / 1.05 <= ratio <= 1.05:
                counts["agree_within_5_percent"] += 1
            else:
                apart.append({"key": json.loads(key)["problem"], names[0]: chosen[0], names[1]: chosen[1],
                              f"{names[0]}_over_{names[1]}": ratio})
    decided = counts["decided_in_both"]
    return {**counts, "share": counts["agree_within_5_percent"] / decided if decided else None,
            "share_as_the_report_judges": alike_to_the_report / decided if decided else None, "apart": apart}


def case_stress(programs, folder, arguments):
    database = sweep_many(programs, folder, arguments, lambda number: number % 2 == 1)
    sweeps = choosing_sweeps(programs, database)
    pairs = agreement(programs, database, zip(sweeps[0::2], sweeps[1::2]), ("quiet", "stressed"))
    return {"load_percent": arguments.load, "pairs_of_sweeps": len(sweeps) // 2, **pairs,
            "quiet": summary_of(programs, database, sweeps[0::2]),
            "stressed": summary_of(programs, database, sweeps[1::2])}


def summary_of(programs, database, sweeps):
    """What the sweeps' own reports say: how long ranks waited for a core, and the verdicts of all."""
    reports = [programs.json_of("report", "sweep", "--db", str(database), "--sweep", sweep) for sweep in sweeps]
    waits = [report["noise"]["median_kept_waiting"] for report in reports]
    verdicts = {name: sum(report["verdicts"][name] for report in reports) for name in reports[0]["verdicts"]}
    return {"kept_waiting_in_the_median_key": sorted(waits), "verdicts": verdicts}


def fresh_ratios(programs, database, arguments):
    """The winners of all families, confirmed ones too, in fresh launches: for each key and winner its ratios."""
    confirmation = f"trust-{uuid.uuid4()}"
    for number in range(1, arguments.launches + 1):
        programs.run(*programs.launch, programs.agent, "confirm-launch", "--db", str(database), "--confirmation", confirmation,
                     "--launch", str(number), "--with-confirmed", "--seconds-per-key",
                     str(arguments.seconds_per_key_in_launch))
    sweeps = {s["uuid"] for s in programs.json_of("show", "sweeps", "--db", str(database))
              if s["confirmation"] == confirmation}
    cells = {}
    for (sweep, key, variant, is_twin), passes in by_trial(
            programs.json_of("show", "measurements", "--db", str(database))).items():
        if sweep in sweeps and not is_twin:
            cells.setdefault((sweep, key), {})[variant] = passes
    ratios = {}
    for (_, key), trials in cells.items():
        baseline = next((passes for passes in trials.values() if passes[0]["is_baseline"]), None)
        for variant, passes in trials.items():
            if baseline is None or passes[0]["is_baseline"]:
                continue
            if (ratio := balanced_ratio(baseline, passes)) is not None:
                ratios.setdefault((key, variant), []).append(ratio)
    return ratios


def case_trap(programs, folder, arguments):
    results = {}
    trap = write_config(folder, "reduce_scatter", collectives=["reduce_scatter"], sizes=arguments.trap_sizes,
                        budget_seconds=arguments.trap_budget)
    quick = quick_config(folder, arguments, **({"budget_seconds": arguments.budget} if arguments.budget else {}))
    for name, config in (("reduce_scatter", trap), ("quick", quick)):
        database = folder / f"{name}.db"
        programs.sweep(config, database)
        swept = programs.json_of("show", "decisions", "--db", str(database))
        said = confirm(programs, database, arguments)
        decided = programs.json_of("show", "decisions", "--db", str(database))
        check_some(len(decided), "decisions")
        claims = {(key_of(d), d["winner"]) for d in decided if d["verdict"] == "displaced"}
        ratios = {place: seen for place, seen in fresh_ratios(programs, database, arguments).items() if place in claims}
        if claims:
            check_some(len(ratios), f"of the {len(claims)} claims measured again")
        # The upper 95 % bound of the median of five is the largest; more launches narrow it only from eight on.
        overturned = [{"key": json.loads(key), "winner": winner, "ratios": seen}
                      for (key, winner), seen in ratios.items() if max(seen) < 0.95]
        results[name] = {"verdicts_of_the_sweep": counted(swept, "verdict"), "confirm": said,
                         "verdicts_after": counted(decided, "verdict"), "status_after": counted(decided, "status"),
                         "claims": len(claims), "claims_measured_again": len(ratios), "lost": overturned,
                         "fresh_medians": sorted(statistics.median(seen) for seen in ratios.values())}
    return results


def case_budget(programs, folder, arguments):
    results = {}
    for budget in arguments.budgets:
        database = folder / f"budget_{budget}.db"
        seconds = programs.sweep(quick_config(folder, arguments, f"budget_{budget}", budget_seconds=budget), database)
        report = programs.json_of("report", "sweep", "--db", str(database))
        check_some(report["keys"], "keys")
        results[str(budget)] = {"launch_seconds": seconds,
                                "elapsed_seconds": report["sweep"]["summary"]["elapsed_ns"] / 1e9,
                                "elapsed_over_budget": report["sweep"]["summary"]["elapsed_ns"] / 1e9 / budget,
                                "verdicts": report["verdicts"], "bought": report["bought"]}
    return results


def case_held_out(programs, folder, arguments):
    """configs/quick.json as it is, timed; then with held-out sizes and the same budget, confirmed, so that what the table
    answers for those sizes can be judged by what was measured there."""
    changes = {"budget_seconds": arguments.held_out_budget} if arguments.held_out_budget else {}
    if arguments.smoke:  # time for held-out sizes, which come last
        changes |= {"collectives": COLLECTIVES[:1], "sizes": "64,4KiB"}
    seconds = programs.sweep(quick_config(folder, arguments, **changes), folder / "quick.db")
    summary = programs.json_of("report", "sweep", "--db", str(folder / "quick.db"))["sweep"]["summary"]
    database = folder / "held_out.db"
    config = quick_config(folder, arguments, "held_out", holdout_sizes=arguments.held_out_sizes, **changes)
    begin = time.monotonic()
    done = programs.run(programs.agent, "supervise", "--db", str(database), "--confirm", str(arguments.launches), "--",
                        *programs.launch, programs.agent, "sweep", "--config", str(config), "--db", str(database),
                        "--quiet", "--allow-oversubscribe", *programs.sweep_options)
    if not database.exists():
        programs.give_up(done, "made no database")
    supervised = time.monotonic() - begin
    decided = programs.json_of("show", "decisions", "--db", str(database))
    held_out = programs.json_of("report", "regret", "--db", str(database))["held_out"]
    check_some(held_out["choices"], "answers for held-out sizes judged")
    of_collective = {}
    for entry in held_out["keys"]:
        of_collective.setdefault(entry["key"]["problem"]["collective"], []).append(entry["chosen_speedup"])
    return {"quick_launch_seconds": seconds, "quick_elapsed_seconds": summary["elapsed_ns"] / 1e9,
            "sweep_and_confirmation_seconds": supervised,
            "verdicts_after": counted(of_any_family(decided).values(), "verdict"),
            "status_after": counted(of_any_family(decided).values(), "status"),
            "held_out_sizes": arguments.held_out_sizes, "answers": held_out["choices"],
            "not_judged": held_out["not_judged"], "speedup": held_out["chosen_speedup"],
            "speedup_where_decided": held_out["decided"]["chosen_speedup"], "best_speedup": held_out["best_speedup"],
            "speedup_of_collective": {name: statistics.geometric_mean(seen) for name, seen in of_collective.items()},
            "keys": [{"collective": entry["key"]["problem"]["collective"],
                      "bytes": entry["key"]["problem"]["message_size_bytes"],
                      **{field: entry[field] for field in ("verdict", "chosen", "chosen_speedup", "best_speedup")}}
                     for entry in held_out["keys"]]}


CASES = {"null": case_null, "power": case_power, "repeat": case_repeat, "stress": case_stress, "trap": case_trap,
         "budget": case_budget, "held_out": case_held_out}


def steps(arguments):
    """Name of the result and what finds it: one for each case, for each delay of `power`."""
    for name in CASES if arguments.case == "all" else [arguments.case]:
        if name == "power":
            for delay in arguments.delays:
                yield f"power_{delay}", functools.partial(case_power, delay=delay)
        elif name == "stress" and arguments.load != 100:
            yield f"stress_{arguments.load}", CASES[name]
        else:
            yield name, CASES[name]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=[*CASES, "all"])
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build/release")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where the databases are left; else deleted")
    parser.add_argument("--mpirun", default="mpirun.openmpi")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--smoke", action="store_true", help="small counts: shows that it runs, proves nothing")
    parser.add_argument("--keys", type=int, default=504, help="null, power")
    parser.add_argument("--most-bytes", type=int, default=1 << 20, help="null, power: the largest message")
    parser.add_argument("--seconds-per-key", type=float, default=1.6, help="null, power: as in configs/quick.json")
    parser.add_argument("--seconds-per-key-in-launch", type=float, default=0.3, help="of confirm")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--delays", type=int, nargs="+", default=[3, 5, 10], help="power: percent")
    parser.add_argument("--sweeps", type=int, default=10, help="repeat, stress")
    parser.add_argument("--load", type=int, default=100, help="stress: percent of one core that something else takes")
    parser.add_argument("--budget", type=float, default=0, help="repeat, stress, trap: seconds; 0: configs/quick.json's")
    parser.add_argument("--trap-sizes", default="1MiB,2MiB,4MiB,8MiB,16MiB")
    parser.add_argument("--trap-budget", type=float, default=60)
    parser.add_argument("--held-out-sizes", default="512,16KiB,256KiB", help="held_out: between configs/quick.json's")
    parser.add_argument("--held-out-budget", type=float, default=0, help="held_out: seconds; 0: configs/quick.json's")
    parser.add_argument("--budgets", type=int, nargs="+", default=[10, 30, 60, 300])
    arguments = parser.parse_args()
    if arguments.smoke:
        small = {"keys": 8, "most_bytes": 4096, "seconds_per_key": 0.8, "seconds_per_key_in_launch": 0.2, "launches": 1,
                 "delays": [200], "sweeps": 2, "budget": 4, "trap_sizes": "64KiB", "trap_budget": 3, "budgets": [4],
                 "held_out_sizes": "512", "held_out_budget": 12}
        for name, value in small.items():
            setattr(arguments, name, value)
    return arguments


@contextlib.contextmanager
def folder_of(keep, name):
    """Where a case has its databases: a new folder, left there only if somebody asked for it."""
    if keep:
        (keep / name).mkdir(parents=True)
        yield keep / name
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield pathlib.Path(folder)


def main():
    arguments = parse()
    programs = Programs(arguments.build.resolve(), arguments.mpirun, arguments.ranks)
    if arguments.smoke:
        programs.sweep_options = ["--most-rounds", "24"]
    for name, find in steps(arguments):
        with folder_of(arguments.keep, name) as folder:
            before = launches.machine()
            found = find(programs, folder, arguments)
        path = launches.store(arguments.results, name, before, found, ranks=arguments.ranks, is_smoke=arguments.smoke)
        print(f"{name}: {json.dumps(found)[:600]}\n  in {path}", flush=True)


if __name__ == "__main__":
    main()
