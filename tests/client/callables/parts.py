# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Halves of the ranks sweep different things, one half after the other, while the other waits; then both run what they found
at the same time. Started by mpirun."""

import time

import numpy
from mpi4py import MPI

import colltune

comm = MPI.COMM_WORLD
half = comm.rank // (comm.size // 2)
part = comm.Split(half)
BYTES = 4096


def wait_for_all():
    """A barrier whose waiting ranks leave the cores to the others."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.005)


def all_reduce(send, receive, call):
    assert call.communicator.size == part.size and call.communicator.rank == part.rank
    call.communicator.Allreduce(send, receive)


def all_gather(send, receive, call):
    assert call.communicator.size == part.size and call.problem["ranks"] == part.size
    call.communicator.Allgather(send, receive)


colltune.register("all_reduce", "mine", all_reduce)
colltune.register("all_gather", "mine", all_gather)
collective = ("all_reduce", "all_gather")[half]
for turn in (0, 1, 0):  # the first half comes again: its later communicators have the handles of freed ones
    if turn == half:
        found = colltune.sweep(part, [collective], [BYTES], seconds=2, allow_oversubscribe=True,
                               include=["python.*", f"mpi.{collective}", ("cpu.all_reduce_one_shot", "cpu.all_gather_flat")[half]])
    wait_for_all()
decision = next(one for one in found["decisions"] if one["family"] == "any")
assert decision["key"]["problem"]["collective"] == collective
assert decision["key"]["topology"]["ranks"] == part.size, decision["key"]
names = {one["variant"].partition("{")[0] for one in decision["ranked"]}
assert {f"python.{collective}_mine", f"mpi.{collective}"} < names, names


def check(best):
    if collective == "all_reduce":
        send, receive = numpy.full(BYTES // 4, part.rank + 1, "f4"), numpy.zeros(BYTES // 4, "f4")
        best(send, receive)
        assert (receive == part.size * (part.size + 1) / 2).all()
    else:
        send, receive = numpy.full(BYTES // 4 // part.size, part.rank, "f4"), numpy.zeros(BYTES // 4, "f4")
        best(send, receive)
        assert (receive.reshape(part.size, -1) == numpy.arange(part.size)[:, None]).all()


for leader in decision["ranked"]:
    first = {**found, "decisions": [{**decision, "ranked": [leader]}]}
    with colltune.best(part, first, collective, bytes=BYTES) as best:
        assert best.variant == leader["variant"], best.passed_over
        for _ in range(5):
            check(best)

# What a part decided is no answer for all.
try:
    colltune.best(comm, found if half == 0 else {"decisions": []}, "all_reduce", bytes=BYTES)
except colltune.Error as error:
    assert error.code == 5 and error.message.startswith("rank 0: "), error
else:
    raise AssertionError("a part's decision answered for all ranks")
part.Free()
print(f"rank {comm.rank}: all held")
