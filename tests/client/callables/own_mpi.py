# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""A program without mpi4py: the module starts MPI, gives the ranks a communicator and parts of it, and ends MPI. Started by
mpirun."""

import sys

import numpy

import colltune

world = colltune.world()
BYTES = 64
assert colltune.world() is world and world.allgather(world.rank) == list(range(world.size))


def by_agreement(send, receive, call):
    assert isinstance(call.communicator, colltune.Communicator) and call.communicator.size == call.problem["ranks"]
    receive[:] = numpy.sum(call.communicator.allgather(send.tolist()), axis=0)


def check(best, comm):
    for turn in range(2):
        send, receive = numpy.full(BYTES // 4, comm.rank + turn, "f4"), numpy.zeros(BYTES // 4, "f4")
        best(send, receive)
        assert (receive == comm.size * (comm.size - 1) / 2 + turn * comm.size).all(), best.variant


def check_all(comm, given):
    found = colltune.sweep(given, ["all_reduce"], [BYTES], seconds=3, allow_oversubscribe=True,
                           include=["python.*", "mpi.all_reduce", "cpu.all_reduce_one_shot"])
    decision = next(one for one in found["decisions"] if one["family"] == "any")
    names = {one["variant"].partition(".")[0] for one in decision["ranked"]}
    assert names == {"python", "mpi", "cpu"}, (names, found["trials"])
    for leader in decision["ranked"]:
        first = {**found, "decisions": [{**decision, "ranked": [leader]}]}
        with colltune.best(given, first, "all_reduce", bytes=BYTES) as best:
            assert best.variant == leader["variant"], best.passed_over
            check(best, comm)
    return colltune.best(given, found, "all_reduce", bytes=BYTES)


colltune.register("all_reduce", "by_agreement", by_agreement)
left_open = check_all(world, None)  # None: all ranks
with world.split(world.rank % 2, key=-world.rank) as part:
    assert part.size == (world.size + 1 - world.rank % 2) // 2
    assert part.allgather(world.rank) == sorted(part.allgather(world.rank), reverse=True)
    if part.size > 1:
        check_all(part, part).close()
rest = world.split(-1 if world.rank == 0 else 1)
assert (rest is None) == (world.rank == 0)
if rest is not None:
    rest.close()
try:
    part.allgather(1)
except colltune.Error as error:
    assert error.code == 9, error
else:
    raise AssertionError("a closed communicator gathered")
check(left_open, world)
assert not any(name.startswith("mpi4py") for name in sys.modules)
print(f"rank {world.rank}: all held")
