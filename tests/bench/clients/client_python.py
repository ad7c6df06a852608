#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What questions cost in Python: Table.find one by one, and hundred thousand in a batch.

  tests/bench/clients/client_python.py BUILD       e.g. build/release; needs its targets colltune_table_client and planted_answers
"""

import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BATCH, FINDS, REPEATS, WORLDS = 100_000, 20_000, 21, 50


def timed(body):
    """Median and spread of the seconds that `body` takes."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        body()
        times.append(time.perf_counter() - begin)
    times.sort()
    return statistics.median(times), times[0], times[-1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    os.environ["COLLTUNE_CLIENT_LIBRARY"] = str(build / "lib")
    sys.path.insert(0, str(ROOT / "client/python"))
    import colltune
    print(f"Python {platform.python_version()}, {platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.ctt"
        subprocess.run([build / "tests/client/python/planted_answers", "table", path, "1", str(WORLDS)], check=True)
        with colltune.open(path=path) as table:
            draw = random.Random(1)
            questions = [("all_reduce", "f32", draw.randrange(1, 1 << 20), draw.randrange(2, 2 + WORLDS), 2) for _ in range(BATCH)]
            table.find_many(questions)  # resolves the calls
            find = table.find

            def find_each():
                for collective, dtype, size, nodes, ranks_per_node in questions[:FINDS]:
                    find(collective, dtype, size, nodes=nodes, ranks_per_node=ranks_per_node)

            def find_each_with_more():
                for collective, dtype, size, nodes, ranks_per_node in questions[:FINDS]:
                    find(collective, dtype, size, nodes=nodes, ranks_per_node=ranks_per_node, op="sum").time_ns

            for name, body in [("find", find_each), ("find with an operator, and its time", find_each_with_more)]:
                median, low, high = (1e6 * seconds / FINDS for seconds in timed(body))
                print(f"{name:<40} {median:7.2f} us   from {low:.2f} to {high:.2f}")
            for name, body in [("find_many of 100000", lambda: table.find_many(questions)),
                               ("find_many of 100000, and their times", lambda: table.find_many(questions).times_ns())]:
                median, low, high = (1e3 * seconds for seconds in timed(body))
                print(f"{name:<40} {median:7.1f} ms   from {low:.1f} to {high:.1f}")


if __name__ == "__main__":
    main()
