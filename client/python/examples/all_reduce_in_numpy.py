# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Two decompositions of an all_reduce, written with numpy and mpi4py, raced beside the MPI library's own call; then the
fastest that all ranks can run is called.

  mpirun -n 4 python3 all_reduce_in_numpy.py [BYTES] [SECONDS]"""

import sys

import numpy
from mpi4py import MPI

import colltune

comm = MPI.COMM_WORLD
size = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 16
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10


def by_shares(send, receive, call):
    """Each rank sums its share of all inputs, and all gather the sums: 2 (n - 1) S / n bytes."""
    share = numpy.empty(send.size // call.communicator.size, send.dtype)
    call.communicator.Reduce_scatter_block(send, share, MPI.SUM)
    call.communicator.Allgather(share, receive)


def whole(send, receive, call):
    """Each rank gathers all inputs and sums them: one step, (n - 1) S bytes."""
    inputs = numpy.empty((call.communicator.size, send.size), send.dtype)
    call.communicator.Allgather(send, inputs)
    numpy.add.reduce(inputs, axis=0, out=receive)


def divides(problem, parameters):
    """Each rank is asked for itself; what one rank refuses, none runs."""
    return problem["count"] % problem["ranks"] == 0 or "the message has no equal shares"


colltune.register("all_reduce", "by_shares", by_shares, supported=divides)
colltune.register("all_reduce", "whole", whole)
found = colltune.sweep(comm, ["all_reduce"], [size], seconds=seconds, include=["python.*", "mpi.all_reduce"],
                       allow_oversubscribe=True)
best = colltune.best(comm, found, "all_reduce", bytes=size)

send, receive = numpy.full(size // 4, 1, "f4"), numpy.empty(size // 4, "f4")
best(send, receive)
assert (receive == comm.size).all()
if comm.rank == 0:
    for one in next(each for each in found["decisions"] if each["family"] == "any")["ranked"]:
        print(f"{one['variant']:32} {one['median_ns'] / 1000:10.1f} us")
    print(f"runs: {best.variant}")
