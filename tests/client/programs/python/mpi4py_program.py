# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives of mpi4py, each result checked: numpy's arrays, in place, derived types, pickled objects, parts of the world and two
threads. It knows nothing of colltune.

  mpirun -n 2 python3 mpi4py_program.py [TURNS]      rank 0 prints "mpi4py: right"
"""

import sys
import threading

import numpy
from mpi4py import MPI

COUNTS = [1, 24, 600, 5000]
TYPES = [numpy.float32, numpy.float64, numpy.int32, numpy.int64]


def same(got, wanted, what):
    if not numpy.array_equal(got, wanted):
        raise AssertionError(f"{what}: {got} instead of {wanted}")


def own(rank, count, kind, salt):
    """What a rank sends: small whole numbers, whose sums are exact in every type."""
    return (numpy.arange(count) % 7 + rank + salt).astype(kind)


def reductions(comm, count, kind, salt):
    rank, size = comm.Get_rank(), comm.Get_size()
    root = salt % size
    all_sent = [own(of, count, kind, salt) for of in range(size)]
    for op, wanted in ((MPI.SUM, sum(all_sent)), (MPI.MAX, numpy.maximum.reduce(all_sent))):
        wanted = wanted.astype(kind)
        received = numpy.empty(count, kind)
        comm.Allreduce(all_sent[rank], received, op=op)
        same(received, wanted, "Allreduce")
        received = all_sent[rank].copy()
        comm.Allreduce(MPI.IN_PLACE, received, op=op)
        same(received, wanted, "Allreduce in place")
        received = numpy.zeros(count, kind)
        comm.Reduce(all_sent[rank], received if rank == root else None, op=op, root=root)
        same(received, wanted if rank == root else numpy.zeros(count, kind), "Reduce")
    blocks = [own(of, count * size, kind, salt) for of in range(size)]
    wanted = sum(blocks).astype(kind)[rank * count:(rank + 1) * count]
    received = numpy.empty(count, kind)
    comm.Reduce_scatter_block(blocks[rank], received, op=MPI.SUM)
    same(received, wanted, "Reduce_scatter_block")
    received = numpy.empty(count, kind)
    comm.Reduce_scatter(blocks[rank], received, recvcounts=[count] * size, op=MPI.SUM)
    same(received, wanted, "Reduce_scatter")


def moves(comm, count, kind, salt):
    rank, size = comm.Get_rank(), comm.Get_size()
    root = salt % size
    all_sent = numpy.concatenate([own(of, count, kind, salt) for of in range(size)])
    mine = own(rank, count, kind, salt)
    received = mine.copy() if rank == root else numpy.zeros(count, kind)
    comm.Bcast(received, root=root)
    same(received, own(root, count, kind, salt), "Bcast")
    received = numpy.empty(count * size, kind)
    comm.Allgather(mine, received)
    same(received, all_sent, "Allgather")
    received = numpy.zeros(count * size, kind)
    received[rank * count:(rank + 1) * count] = mine
    comm.Allgather(MPI.IN_PLACE, received)
    same(received, all_sent, "Allgather in place")
    received = numpy.zeros(count * size, kind)
    comm.Gather(mine, received if rank == root else None, root=root)
    same(received, all_sent if rank == root else numpy.zeros(count * size, kind), "Gather")
    received = numpy.zeros(count, kind)
    comm.Scatter(all_sent if rank == root else None, received, root=root)
    same(received, mine, "Scatter")
    sent = numpy.concatenate([own(rank * size + to, count, kind, salt) for to in range(size)])
    wanted = numpy.concatenate([own(of * size + rank, count, kind, salt) for of in range(size)])
    received = numpy.empty(count * size, kind)
    comm.Alltoall(sent, received)
    same(received, wanted, "Alltoall")
    comm.Alltoall(MPI.IN_PLACE, sent)
    same(sent, wanted, "Alltoall in place")


def derived_types(comm, count, salt):
    """Every second column of a matrix, which arrives as a row."""
    rank, size = comm.Get_rank(), comm.Get_size()
    matrix = own(rank, 4 * count, numpy.float64, salt).reshape(count, 4)
    column = MPI.DOUBLE.Create_vector(count, 1, 4).Commit()
    rows = numpy.empty((size, count))
    comm.Allgather([matrix, 1, column], [rows, count, MPI.DOUBLE])
    same(rows, numpy.array([own(of, 4 * count, numpy.float64, salt).reshape(count, 4)[:, 0] for of in range(size)]),
         "Allgather of columns")
    comm.Bcast([matrix, 1, column], root=salt % size)
    wanted = own(rank, 4 * count, numpy.float64, salt).reshape(count, 4)
    wanted[:, 0] = own(salt % size, 4 * count, numpy.float64, salt).reshape(count, 4)[:, 0]
    same(matrix, wanted, "Bcast of a column")
    column.Free()


def objects(comm, salt):
    """Pickled: their sizes differ, so mpi4py sends them by irregular calls, and the sizes by regular ones."""
    rank, size = comm.Get_rank(), comm.Get_size()
    root = salt % size

    def of(number):
        return {"rank": number, "list": list(range(number + salt)), "text": "x" * (number * 100)}

    def check(got, wanted, what):
        if got != wanted:
            raise AssertionError(f"{what}: {got} instead of {wanted}")

    everyone = [of(number) for number in range(size)]
    check(comm.bcast(of(rank) if rank == root else None, root=root), of(root), "bcast")
    check(comm.allgather(of(rank)), everyone, "allgather")
    check(comm.gather(of(rank), root=root), everyone if rank == root else None, "gather")
    check(comm.scatter(everyone if rank == root else None, root=root), of(rank), "scatter")
    check(comm.alltoall([of(rank + to) for to in range(size)]), [of(source + rank) for source in range(size)], "alltoall")
    check(comm.allreduce(rank + salt), sum(range(size)) + size * salt, "allreduce")


def all_of_them(comm, turns):
    for salt in range(turns):
        for count in COUNTS:
            kind = TYPES[(salt + COUNTS.index(count)) % len(TYPES)]
            reductions(comm, count, kind, salt)
            moves(comm, count, kind, salt)
        derived_types(comm, 50, salt)
        objects(comm, salt)


def parts_of_the_world(turns):
    world = MPI.COMM_WORLD
    part = world.Split(world.Get_rank() % 2, -world.Get_rank())
    twin = world.Dup()
    first = world.Create_group(world.Get_group().Incl([0])) if world.Get_rank() == 0 else None
    for comm in filter(None, (part, twin, first)):
        all_of_them(comm, turns)
        comm.Free()


def two_threads(turns):
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return
    comms = [MPI.COMM_WORLD.Dup() for _ in range(2)]
    # mpi4py duplicates a communicator at its first reduction of objects, and holds the interpreter's lock meanwhile: two ranks
    # whose threads came there in another order would wait for each other.
    for comm in comms:
        comm.allreduce(0)
        comm.reduce(0)
    failures = []

    def run(comm):
        try:
            all_of_them(comm, turns)
        except BaseException as error:  # the main thread says so
            failures.append(error)

    other = threading.Thread(target=run, args=(comms[1],))
    other.start()
    run(comms[0])
    other.join()
    for failure in failures:
        raise failure
    for comm in comms:
        comm.Free()


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    try:
        all_of_them(MPI.COMM_WORLD, turns)
        parts_of_the_world(turns)
        two_threads(turns)
    except BaseException as error:
        print(f"rank {MPI.COMM_WORLD.Get_rank()}: {error}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)
    if MPI.COMM_WORLD.Get_rank() == 0:
        print("mpi4py: right", flush=True)


main()
