#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Does Open MPI obey the files of rules that colltune writes?

A sweep of Open MPI's algorithms, its decisions as a file of rules, and an ordinary program under that file; the same with
decisions in which other algorithms win everywhere, since what a sweep finds may be worth no rules: a preloaded library says which algorithm ran in each call. It must be the one that `colltune check-export` reads out of the file, and the
one of the default where that says default: at every measured size, between them, below and above, with the measured number of
ranks and with another. Then a bad file, and the files that Open MPI drops."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ["COLLTUNE_BIN"])
LAUNCH = os.environ["COLLTUNE_MPIRUN"].split()
PROGRAM = os.environ["COLLTUNE_CALLS"]
PRELOADED = os.environ["COLLTUNE_FIRST_ALGORITHM"]
PLANTED = os.environ["COLLTUNE_PLANTED_OPEN_MPI"]
RELEASE = "4.1.x"
COLLECTIVES = {"all_reduce": "allreduce", "all_gather": "allgather", "all_to_all": "alltoall", "broadcast": "bcast",
               "gather": "gather", "reduce": "reduce", "reduce_scatter": "reduce_scatter_block", "scatter": "scatter"}
SIZES = [64, 4096, 65536]
# A float for each of two ranks divides them all: a call of blocks is then just as large.
CALLED = [16, 64, 512, 544, 4096, 16384, 16392, 65536, 65600, 1 << 20]
# coll/tuned's names and those of the functions in coll/base.
FUNCTION = {
    "allreduce": {"basic_linear": "basic_linear", "nonoverlapping": "nonoverlapping", "recursive_doubling": "recursivedoubling",
                  "ring": "ring", "segmented_ring": "ring_segmented", "rabenseifner": "redscat_allgather"},
    "allgather": {"linear": "basic_linear", "bruck": "bruck", "recursive_doubling": "recursivedoubling", "ring": "ring",
                  "neighbor": "neighborexchange", "two_proc": "two_procs"},
    "alltoall": {"linear": "basic_linear", "pairwise": "pairwise", "modified_bruck": "bruck", "linear_sync": "linear_sync",
                 "two_proc": "two_procs"},
    "bcast": {"basic_linear": "basic_linear", "chain": "chain", "pipeline": "pipeline", "split_binary_tree": "split_bintree",
              "binary_tree": "bintree", "binomial": "binomial", "knomial": "knomial", "scatter_allgather": "scatter_allgather",
              "scatter_allgather_ring": "scatter_allgather_ring"},
    "gather": {"basic_linear": "basic_linear", "binomial": "binomial", "linear_sync": "linear_sync"},
    "reduce": {"linear": "basic_linear", "chain": "chain", "pipeline": "pipeline", "binary": "binary", "binomial": "binomial",
               "in-order_binary": "in_order_binary", "rabenseifner": "redscat_gather"},
    "reduce_scatter_block": {"basic_linear": "basic_linear", "recursive_doubling": "recursivedoubling",
                             "recursive_halving": "recursivehalving", "butterfly": "butterfly"},
    "scatter": {"basic_linear": "basic_linear", "binomial": "binomial", "linear_nb": "linear_nb"},
}
failures = []
by_default = {}  # (ranks, call) -> what calls() found where nothing is set


def check(holds, what):
    if not holds:
        print(f"FAILED: {what}", file=sys.stderr)
        failures.append(what)


def run(*command, codes=(0,), environment=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=300,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})})
    if done.returncode not in codes:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


def calls(ranks, wanted, rules=None, settings=None):
    """(collective, bytes) -> (error class, the function that ran), with those variables set."""
    environment = {"LD_PRELOAD": PRELOADED, **(settings or {})}
    if rules:
        environment.update(OMPI_MCA_coll_tuned_use_dynamic_rules="1", OMPI_MCA_coll_tuned_dynamic_rules_filename=str(rules))
    words = [f"{collective}:{size}" for collective, size in wanted]
    exports = [word for name in environment for word in ("-x", name)]
    done = run(*LAUNCH, "-n", ranks, *exports, PROGRAM, *words, environment=environment)
    found = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        found[one["collective"], one["bytes"]] = one["error_class"], one["ran"]
    check(len(found) == len(wanted), f"{ranks} ranks: every call said what it did")
    return found


def defaults(ranks, wanted):
    """The same with nothing set: each call runs once in the whole test."""
    if new := [call for call in wanted if (ranks, call) not in by_default]:
        by_default.update({(ranks, call): found for call, found in calls(ranks, new).items()})
    return {call: by_default[ranks, call] for call in wanted}


def function_of(collective, algorithm):
    form = "" if (collective, algorithm) == ("reduce_scatter_block", "basic_linear") else "intra_"
    return f"{collective}_{form}{FUNCTION[collective][algorithm]}"


def rule_for(rules, collective, ranks, size):
    """As the reader of Open MPI looks it up, written once more from its description."""
    own = [one for one in rules if one["collective"] == collective]
    blocks = sorted({one["ranks"] for one in own})
    if not blocks:
        return "default"
    block = max((one for one in blocks if one <= ranks), default=blocks[0])
    return [one for one in own if one["ranks"] == block and one["from_bytes"] <= size][-1]["algorithm"]


def whether_obeyed(folder, database):
    rules = folder / "rules.conf"
    said = run(BIN / "colltune", "export", "openmpi", "--for", RELEASE, "--db", database, "-o", rules)
    check("of 24 keys have another algorithm than the default" in said.stderr, f"it says what is in it: {said.stderr}")
    listed = json.loads(run(BIN / "colltune", "check-export", "openmpi", rules, "--for", RELEASE, "--json").stdout)
    wanted = [(collective, size) for collective in COLLECTIVES.values() for size in CALLED]
    named = 0
    for ranks in (2, 3):
        usual = defaults(ranks, wanted)
        found = calls(ranks, wanted, rules)
        for call in wanted:
            algorithm = rule_for(listed, call[0], ranks, call[1])
            expected = usual[call][1] if algorithm == "default" else function_of(call[0], algorithm)
            named += algorithm != "default"
            check(found[call] == (0, expected), f"{ranks} ranks, {call}: {algorithm} is said, {found[call]} ran, not {expected}")
            if ranks == 3:
                check(algorithm == "default", f"{call}: nothing was measured with 3 ranks")
    print(f"{2 * len(wanted)} calls, {named} with another algorithm than the default")
    return named


def whether_every_algorithm_is_named_right(folder):
    """Each of check-export's names is the algorithm that runs by its number."""
    for collective, functions in FUNCTION.items():
        number = {"allgather": 0, "allreduce": 2, "alltoall": 3, "bcast": 7, "gather": 9, "reduce": 11,
                  "reduce_scatter_block": 13, "scatter": 15}[collective]
        # One size for each algorithm, since a file has rules by size.
        lines = [f"{1000 * index} {index} {1 if name == 'chain' else 0} 0" for index, name in enumerate(functions, 1)]
        rules = folder / f"{collective}.conf"
        rules.write_text(f"1\n{number}\n1\n2\n{len(lines) + 1}\n0 0 0 0\n" + "\n".join(lines) + "\n")
        checked = run(BIN / "colltune", "check-export", "openmpi", rules, "--for", RELEASE, "--json", codes=(0, 2))
        listed = json.loads(checked.stdout)
        if collective == "scatter":
            check(checked.returncode == 2 and "ranks that are not the root" in checked.stderr, "scatter's hazard is named")
            continue
        found = calls(2, [(collective, 1000 * index) for index in range(1, len(functions) + 1)], rules)
        for index, name in enumerate(functions, 1):
            check(rule_for(listed, collective, 2, 1000 * index) == name, f"{collective} {index} is called {name}")
            check(found[collective, 1000 * index] == (0, function_of(collective, name)),
                  f"{collective} {index} is {name}: {found[collective, 1000 * index]} ran")


def whether_what_applies_a_variant_forces_it(database):
    """The settings that colltune says for a variant make Open MPI run that algorithm, at all sizes of its collective."""
    variants = {}  # collective -> algorithm -> its variables
    for decision in json.loads(run(BIN / "colltune", "export", "json", "--db", database).stdout)["decisions"]:
        for ranked in [decision["evidence"], *decision["alternatives"]]:
            if decision["family"] != "mpi" or ranked["apply"]["by"] != "environment" or "_counts_" in ranked["variant"]:
                continue
            collective = COLLECTIVES[decision["key"]["problem"]["collective"]]
            algorithm = ranked["variant"].split("algorithm=")[1].split(",")[0].rstrip("}")
            variants.setdefault(collective, {}).setdefault(algorithm, ranked["apply"]["variables"])
    check(set(variants) == set(COLLECTIVES.values()), f"every collective has variants: {sorted(variants)}")
    tried = 0
    # Variables of unlike collectives go together: one launch forces one algorithm of each.
    for index in range(max(len(own) for own in variants.values())):
        chosen = {collective: sorted(own)[index] for collective, own in variants.items() if index < len(own)}
        settings = dict(variable.split("=", 1) for collective, algorithm in chosen.items()
                        for variable in variants[collective][algorithm])
        wanted = [(collective, size) for collective in chosen for size in (4096, 1 << 20)]
        found = calls(2, wanted, settings=settings)
        for call in wanted:
            expected = function_of(call[0], chosen[call[0]])
            check(found[call] == (0, expected), f"{call} with {settings}: {found[call]} ran, not {expected}")
            tried += 1
    print(f"{tried} calls ran what their settings say")
    check(tried >= 60, f"most algorithms were tried: {tried}")


def sweep(config, database, *before, environment=None):
    run(*before, *LAUNCH, "-n", 2, BIN / "colltune-agent", "sweep", "--most-rounds", 12, "--config", config, "--db", database, "--quiet",
        "--allow-oversubscribe", environment=environment)


def whether_the_exported_environment_is_the_measured_one(folder):
    """A sweep under `export mpi-env` is of the environment that it was exported from; one without it is of another."""
    config, database, lines = folder / "small.json", folder / "environment.db", folder / "environment.sh"
    config.write_text(json.dumps({"version": 1, "collectives": ["all_reduce"], "sizes": [64], "passes": 1,
                                  "precision": 0.5,
                                  "soak": {"runs": 0}, "implementations": {"include": ["mpi.*"]},
                                  "decision": {"most_kept_waiting": 1}}))

    def environments():
        return [one["digest"] for one in json.loads(run(BIN / "colltune", "show", "environments", "--db", database, "--json").stdout)]

    settings = {"OMPI_MCA_btl_vader_eager_limit": "8192", "MALLOC_ARENA_MAX": "2", "UCX_TLS": "self,sm"}
    sweep(config, database, environment=settings)
    measured = environments()
    check(len(measured) == 1, f"one environment was measured: {measured}")
    text = run(BIN / "colltune", "export", "mpi-env", "--db", database, "-o", lines) and lines.read_text()
    for name, value in settings.items():
        check(f"export {name}={value}\n" in text, f"{name} is set: {text}")
    sweep(config, database, "sh", "-c", '. "$0" && exec "$@"', lines)
    check(environments() == measured, f"under the exported lines it is the same: {environments()}")
    sweep(config, database)
    check(len(environments()) == 2, f"without them it is another: {environments()}")


def whether_bad_files_are_told(folder):
    rules = folder / "bad.conf"
    rules.write_text("1\n2\n1\n2\n3\n0 3 0 0\n4096 99 0 0\n8192 3 0 0\n")
    said = run(BIN / "colltune", "check-export", "openmpi", rules, "--for", RELEASE, codes=(2,))
    check("from 4096 bytes on every call fails with MPI_ERR_ARG" in said.stderr, f"the bad number is named: {said.stderr}")
    found = calls(2, [("allreduce", 4000), ("allreduce", 4096), ("allreduce", 8192)], rules)
    check([found["allreduce", size][0] for size in (4000, 4096, 8192)] == [0, 13, 0], f"and is all that fails: {found}")
    call = [("allreduce", 1 << 20)]
    usual = defaults(2, call)
    for text in ("1\n2\n1\n2\n1\n64 1 0 0\n", "rule-file-version-2\n1\n2\n1\n2\n1\n0 1 0 0\n", "1\n2\n1\n2\n2\n0 1 0 0\n"):
        rules.write_text(text)
        said = run(BIN / "colltune", "check-export", "openmpi", rules, "--for", RELEASE, codes=(2,))
        check("drops" in said.stderr and "without a word" in said.stderr, f"a dropped file is told: {said.stderr}")
        check(calls(2, call, rules) == usual, f"and is dropped: {text!r}")


def main():
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config, database = folder / "sweep.json", folder / "tuning.db"
        config.write_text(json.dumps({"version": 1, "collectives": list(COLLECTIVES), "sizes": SIZES,
                                      "passes": 1, "precision": 0.5, "soak": {"runs": 0}, "implementations": {"include": ["mpi.*"]},
                                      "decision": {"most_kept_waiting": 1}}))
        sweep(config, database)
        whether_obeyed(folder, database)
        planted = folder / "planted.db"
        run(PLANTED, planted, "Open MPI v4.1.4", "tuned")
        # Five of the ten sizes lie where another algorithm is named, and all ten of scatter.
        check(whether_obeyed(folder, planted) == 7 * 5 + 10, "as planted")
        whether_what_applies_a_variant_forces_it(database)
        whether_every_algorithm_is_named_right(folder)
        whether_the_exported_environment_is_the_measured_one(folder)
        whether_bad_files_are_told(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
