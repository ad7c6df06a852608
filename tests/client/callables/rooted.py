# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives with a root, measured with rank 0 and run with each rank as the root: the program's functions, colltune's kernels
and the MPI library's calls. Started by mpirun."""

import numpy
from mpi4py import MPI

import colltune

comm = MPI.COMM_WORLD
COUNT = 256  # elements of a block
whole = COUNT * comm.size
seen = set()


def broadcast(send, receive, call):
    assert (send is None) == (comm.rank != call.root) and receive is not None
    seen.add(("broadcast", call.root))
    call.communicator.Bcast(receive, call.root)


def reduce(send, receive, call):
    assert (receive is None) == (comm.rank != call.root)
    seen.add(("reduce", call.root))
    call.communicator.Reduce(send, receive, MPI.SUM, call.root)


def gather(send, receive, call):
    assert (receive is None) == (comm.rank != call.root) and call.count == COUNT
    seen.add(("gather", call.root))
    call.communicator.Gather(send, receive, call.root)


def scatter(send, receive, call):
    assert (send is None) == (comm.rank != call.root) and call.count == COUNT
    seen.add(("scatter", call.root))
    call.communicator.Scatter(send, receive, call.root)


functions = (broadcast, reduce, gather, scatter)
for function in functions:
    colltune.register(function.__name__, "mine", function)
numbers = numpy.arange(whole, dtype="f4")


def run(collective, best, root, turn):
    """One call on new buffers, and what it must give."""
    is_root = comm.rank == root
    if collective == "broadcast":
        buffer = numbers + turn if is_root else numpy.zeros(whole, "f4")
        best(buffer) if turn else best(buffer if is_root else None, None if is_root else buffer)
        assert (buffer == numbers + turn).all(), best.variant
        return
    send, receive = {"reduce": (numbers + comm.rank + turn, numpy.zeros(whole, "f4")),
                     "gather": (numbers[:COUNT] + comm.rank * COUNT + turn, numpy.zeros(whole, "f4")),
                     "scatter": (numbers + turn, numpy.zeros(COUNT, "f4"))}[collective]
    receives, sends = is_root or collective == "scatter", is_root or collective != "scatter"
    # A rank may give a buffer that it does not need: nothing is done to it.
    given = send if sends or turn else None, receive if receives or turn else None
    best(*given)
    receive[:] = 0
    best(*given)
    wanted = {"reduce": numbers * comm.size + comm.size * (comm.size - 1) / 2 + turn * comm.size, "gather": numbers + turn,
              "scatter": numbers[comm.rank * COUNT:][:COUNT] + turn}[collective]
    assert (receive == (wanted if receives else 0)).all(), (best.variant, root, receive)


collectives = [function.__name__ for function in functions]
found = colltune.sweep(comm, collectives, [whole * 4], seconds=8, allow_oversubscribe=True,
                       include=["python.*", *(f"mpi.{one}" for one in collectives), *(f"cpu.{one}_flat" for one in collectives)])
held = colltune.best(comm, found, "scatter", bytes=whole * 4)  # while one is held, others are made faster
for collective in collectives:
    decision = next(one for one in found["decisions"]
                    if one["family"] == "any" and one["key"]["problem"]["collective"] == collective)
    leaders = {}
    for entry in decision["ranked"]:
        leaders.setdefault(entry["variant"].partition(".")[0], entry)
    assert set(leaders) == {"python", "mpi", "cpu"}, (leaders, found["trials"], found["skipped"])
    assert (collective, 0) in seen
    for root in range(1, comm.size):
        for leader in leaders.values():
            first = {**found, "decisions": [{**decision, "ranked": [leader]}]}
            with colltune.best(comm, first, collective, bytes=whole * 4, root=root) as best:
                assert best.variant == leader["variant"], best.passed_over
                for turn in (0, 1, 2):
                    run(collective, best, root, turn)
        assert (collective, root) in seen


def refusal(call):
    try:
        call()
    except colltune.Error as error:
        return error.message
    raise AssertionError("nothing was refused")


assert f"allowed are 0 to {comm.size - 1}" in refusal(
    lambda: colltune.best(comm, found, "scatter", bytes=whole * 4, root=comm.size))
assert "rank 1 asks for another call" in refusal(
    lambda: colltune.best(comm, found, "scatter", bytes=whole * 4, root=1 if comm.rank == 1 else 0))
print(f"rank {comm.rank}: all held")
