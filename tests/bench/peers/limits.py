# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What no collective on this node can beat, and the share of it that a time reaches.

machine_limits measures how long a cache line takes from one core to another, and how long copying takes, on one core and
on all that the ranks have. A call of message size S on P ranks cannot end before a line went from core to core, nor
before what it has to leave in its results was copied there once, by all cores at once:

  all_reduce, all_gather, all_to_all   P S bytes     each rank ends with S
  reduce_scatter, scatter              S             each rank ends with S / P
  broadcast                            (P - 1) S     the root has it already
  reduce, gather                       S             at the root alone

of which each of the C = min(P, cores) cores copies its part. The limit is the longer of both times, the share limit /
time. With more ranks than cores a message so small that the line decides has no share: there ranks wait for a core.
Copying stays in a core's own caches where its part fits them, which what other ranks wrote does not: in between the
limit is one that nothing reaches. A share above 1 is no error: it is memcpy that is timed, with stores of its choosing,
and not in the same moment.
"""
import json
import os
import pathlib
import statistics

ROUNDS_BESIDE_A_LAUNCH = 11
LINE_BYTES = 64
BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def bytes_of(text):
    """Of "64KiB" or "65536"."""
    for unit, factor in BYTES.items():
        if text.endswith(unit):
            return int(text[:-len(unit)]) * factor
    return int(text)


def cores_of(ranks):
    return min(ranks, len(os.sched_getaffinity(0)))


def bytes_left(collective, size, ranks):
    """What a call has to leave in its results, on all ranks together."""
    if collective in ("all_reduce", "all_gather", "all_to_all"):
        return ranks * size
    return (ranks - 1) * size if collective == "broadcast" else size


def bytes_per_core(collective, size, ranks, cores):
    return max(1, -(-bytes_left(collective, size, ranks) // cores))


def measure(programs, build, cores, sizes=(), rounds=None):
    """What machine_limits prints, of `cores` cores; `sizes` in bytes, none: its own."""
    options = ["--cores", str(cores)]
    if sizes:
        options += ["--sizes", ",".join(str(size) for size in sizes)]
    if rounds:
        options += ["--rounds", str(rounds)]
    program = pathlib.Path(build).resolve() / "tests/bench/peers/machine_limits"
    return json.loads(programs.run(str(program), *options, codes=(0,)).stdout)


def limit_of(found, copied, ranks, cores):
    """Its name and nanoseconds, where each core copies `copied` bytes; None where it was not measured or says nothing.
    `found` is what machine_limits printed."""
    copies = {bytes_of(text): times["all_cores"]["median"] for text, times in found["copy_ns"].items()}
    copying = copies.get(copied, 0 if copied <= LINE_BYTES else None)
    if copying is None or "hand_over_ns" not in found:
        return None
    line = found["hand_over_ns"]["median"]
    if copying > line:
        return "copy", copying
    return ("hand_over", line) if ranks <= cores else None


def share_of(limits, times):
    """What a row says of its limit: `limits` are of the same rounds as `times`, as limit_of returns them."""
    known = [(limit, time) for limit, time in zip(limits, times) if limit is not None]
    if not known:
        return {"limit": None, "limit_us": None, "share_of_limit": None}
    names = [limit[0] for limit, _ in known]
    return {"limit": max(names, key=names.count), "limit_us": statistics.median(limit[1] for limit, _ in known) / 1000,
            "share_of_limit": statistics.median(limit[1] / time for limit, time in known)}


def limits_text(found):
    """One line: hand-over and copies of one and of all cores."""
    words = [f"{found['cores']} cores"]
    if "hand_over_ns" in found:
        line = found["hand_over_ns"]
        words.append(f"a line handed over {line['median']:.0f} ns ({line['p10']:.0f} to {line['p90']:.0f})")
    for text, times in sorted(found["copy_ns"].items(), key=lambda item: bytes_of(item[0])):
        one, every = (bytes_of(text) / times[cores]["median"] for cores in ("one_core", "all_cores"))
        # Each core copies a message of its own: together they copy so many times as much.
        words.append(f"{text} copied at {one:.1f} GB/s by one, {found['cores'] * every:.1f} by all at once")
    return "; ".join(words)
