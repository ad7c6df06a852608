#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What regimes.py reads from launches whose times are planted: choices are judged by the other launches alone."""
import sys

sys.dont_write_bytecode = True
import regimes  # noqa: E402

CELL = ("broadcast", 64)


def check(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def launch(uuid, times):
    """`times`: variant -> ns per call, the same in all of four rounds."""
    key = {"problem": {"collective": CELL[0], "message_size_bytes": CELL[1]}}
    return regimes.Launch([{"sweep_uuid": uuid, "key": key, "variant": variant, "is_twin": False, "outcome": "ok", "pass": 0,
                            "marks": [], "samples_ns": [time * 2] * 4, "samples_per_round": 1, "calls_per_sample": 2}
                           for variant, time in times.items()])


def main():
    even = {"mpi.broadcast": 400, "mpi.broadcast_tuned{algorithm=chain}": 300, "cpu.a": 150, "cpu.b": 200}
    launches = [launch(str(number), even) for number in range(3)]
    judged = regimes.judge(launches, CELL)
    check(judged["winner"] == "cpu.a" and abs(judged["ratio"] - 2) < 1e-9, f"the fastest of both sides: {judged}")
    check(abs(regimes.loss(launches, CELL, "cpu.a", "cpu.b") - 4 / 3) < 1e-9, "what the other's winner loses")
    # Looked fast once: what that launch chose is judged by the others.
    lucky = launch("lucky", {**even, "cpu.b": 50})
    judged = regimes.judge([lucky, launches[0], launches[1]], CELL)
    check(judged["winner"] == "cpu.a" and abs(judged["low"] - 1.5) < 1e-9 and abs(judged["high"] - 2) < 1e-9,
          f"a lucky launch does not judge its own choice: {judged}")
    check(regimes.judge(launches[:1], CELL) is None, "one launch judges nothing")
    check(regimes.judge(launches, ("gather", 64)) is None, "nor does a cell that was not measured")


if __name__ == "__main__":
    main()
