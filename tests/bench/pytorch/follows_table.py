#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the NCCL of an unchanged PyTorch program follows a table file, by what NCCL itself logs.

    tests/bench/pytorch/follows_table.py --planted build/release/tests/bench/planted_nccl_table \\
        --tuner build/release/lib/libnccl-tuner-colltune.so

Two processes, with a GPU each or sharing one. Ones that share it are hosts of their own to NCCL and meet over sockets: that
shows what runs, never how fast it is. They run by turns without a tuner and with a table that chooses something else at each
size than NCCL does. Beyond the sizes of the table all must stay NCCL's own.

Exit: 0 NCCL ran what the table says, and its own choice elsewhere; 1 it did not; 3 there is no PyTorch or no GPU here.
"""
import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

# Each wins at its size alone, since its neighbours are decided otherwise.
CHOICES = [("all_reduce", 16 << 10, "tree", "ll", 1), ("all_reduce", 64 << 10, "ring", "ll", 2),
           ("all_reduce", 1 << 20, "tree", "simple", 1), ("all_reduce", 16 << 20, "ring", "ll", 1),
           ("broadcast", 64 << 10, "ring", "simple", 1), ("broadcast", 1 << 20, "ring", "ll", 2),
           ("all_gather", 64 << 10, "ring", "simple", 1), ("all_gather", 1 << 20, "pat", "simple", 1),
           ("reduce_scatter", 64 << 10, "pat", "simple", 1), ("reduce_scatter", 1 << 20, "ring", "ll", 2)]
OUTSIDE = [("all_reduce", 4 << 10), ("all_reduce", 64 << 20), ("broadcast", 8 << 20)]
NAMES = {"all_reduce": "AllReduce", "broadcast": "Broadcast", "all_gather": "AllGather",
         "reduce_scatter": "ReduceScatter"}
RANKS = 2
LOGGED = re.compile(r"NCCL INFO (\w+): (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}")


def read_log(text):
    """{(NCCL's name, bytes): {(algorithm, protocol, channels), …}} of what NCCL says that it ran; bytes as tables count."""
    ran = {}
    for name, size, algorithm, protocol, low, high in LOGGED.findall(text):
        whole = int(size) * (RANKS if name in ("AllGather", "ReduceScatter") else 1)  # it logs what one rank brings or gets
        ran.setdefault((name, whole), set()).add((algorithm.lower(), protocol.lower(), int(high) - int(low) + 1))
    return ran


def run_program(calls, variables, logs):
    """What rank 0 prints, and what it logs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS), "NCCL_DEBUG": "INFO",
              "NCCL_DEBUG_SUBSYS": "INIT,TUNING", **variables}
    processes = []
    for rank in range(RANKS):
        own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "NCCL_DEBUG_FILE": str(logs / f"rank{rank}.log")}
        if "NCCL_HOSTID" in variables:
            own["NCCL_HOSTID"] = f"host{rank}"
        program = pathlib.Path(__file__).with_name("program.py")
        processes.append(subprocess.Popen([sys.executable, program, *(f"{name}:{size}" for name, size in calls)],
                                          env={**shared, **own}, stdout=subprocess.PIPE, text=True))
    outputs = []
    try:
        for process in processes:
            outputs.append(process.communicate(timeout=120)[0])
    finally:
        for process in processes:
            process.kill()
    log = (logs / "rank0.log").read_text(errors="replace")
    if any(process.returncode != 0 for process in processes):
        sys.exit(f"a rank failed; what rank 0 logged:\n{log[-4000:]}")
    return json.loads(outputs[0].splitlines()[-1]), log


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--planted", required=True, help="the program planted_nccl_table")
    options.add_argument("--tuner", required=True, help="libnccl-tuner-colltune.so")
    options.add_argument("--launches", type=int, default=2, help="with the table and without, each [2]")
    options.add_argument("--json", help="write the figures to this file")
    chosen = options.parse_args()
    try:
        import torch
    except ImportError as missing:
        print(missing)
        return 3
    gpus = torch.cuda.device_count()
    if gpus == 0:
        print("PyTorch sees no GPU")
        return 3
    version = ".".join(map(str, torch.cuda.nccl.version()))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="follows_table."))
    table = folder / "cluster.ctt"
    world = "1x2" if gpus > 1 else "2x1"
    subprocess.run([chosen.planted, table, world, version, *(":".join(map(str, choice)) for choice in CHOICES)], check=True)
    alone = {} if gpus > 1 else {"NCCL_HOSTID": "", "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo"}
    with_table = {**alone, "NCCL_TUNER_PLUGIN": str(pathlib.Path(chosen.tuner).resolve()), "COLLTUNE_TABLE": str(table)}
    calls = [choice[:2] for choice in CHOICES] + OUTSIDE
    runs = {"own": [], "table": []}
    for launch in range(2 * chosen.launches):
        kind = ("own", "table")[launch % 2]
        logs = folder / f"{kind}{launch}"
        logs.mkdir()
        runs[kind].append(run_program(calls, with_table if kind == "table" else alone, logs))
    first, log_with = runs["table"][0]
    own, ran = read_log(runs["own"][0][1]), read_log(log_with)
    print(f"PyTorch {first['torch']}, NCCL {first['nccl']}, {first['device']}, {min(gpus, RANKS)} GPU(s)")
    for line in log_with.splitlines():
        if "colltune" in line:
            print("  " + line.split("NCCL INFO ", 1)[-1])
    failures, rows = 0, []
    for place, (name, size) in enumerate(calls):
        asked = {CHOICES[place][2:]} if place < len(CHOICES) else own.get((NAMES[name], size), set())
        got = ran.get((NAMES[name], size), set())
        verdict = "as the table says" if place < len(CHOICES) else "NCCL's own, as without"
        if got != asked or not got:
            failures += 1
            verdict = f"WRONG: {sorted(asked)} was wanted"
        times = {kind: [result["median_us"][f"{name}:{size}"] for result, _ in of] for kind, of in runs.items()}
        rows.append({"call": name, "bytes": size, "own": sorted(own.get((NAMES[name], size), [])), "ran": sorted(got),
                     "verdict": verdict, "us": times})
        print(f"{name:15} {size:>9}  own {sorted(own.get((NAMES[name], size), []))}  ran {sorted(got)}  {verdict}  "
              f"us {times['own']} {times['table']}")
    if chosen.json:
        pathlib.Path(chosen.json).write_text(json.dumps({**first, "rows": rows}, indent=1) + "\n")
    print(f"{len(calls) - failures} of {len(calls)} calls ran as wanted")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
