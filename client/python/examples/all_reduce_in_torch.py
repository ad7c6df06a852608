# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Two decompositions of an all_reduce in torch.distributed (a process group of gloo), raced beside the MPI library's own call
and a kernel of colltune; then the fastest that all ranks can run is called. A third decomposition needs memory that one rank
lacks, and so none runs it. colltune starts MPI: the program has no mpi4py.

  mpirun -n 2 python3 all_reduce_in_torch.py [BYTES] [SECONDS]"""

import os
import sys

import torch
import torch.distributed as dist

import colltune

comm = colltune.world()
size = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 16
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10

# gloo connects over an interface; the loopback one is there on every machine, and reaches its ranks alone.
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
host = os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
# Rank 0 serves the store on a port that is free, and tells the others which.
store = dist.TCPStore(host, 0, comm.size, True, wait_for_workers=False) if comm.rank == 0 else None
port = comm.allgather(store.port if store else None)[0]
store = store or dist.TCPStore(host, port, comm.size, False)
dist.init_process_group("gloo", store=store, rank=comm.rank, world_size=comm.size)


def by_shares(send, receive, call):
    """Each rank gets all inputs of its share and sums them, and all gather the sums: 2 (n - 1) S / n bytes."""
    inputs, outputs = torch.from_numpy(send).chunk(comm.size), list(torch.from_numpy(receive).chunk(comm.size))
    own = inputs[comm.rank].clone()
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    got = {rank: torch.empty_like(own) for rank in others}
    under_way = [dist.isend(inputs[rank], rank) for rank in others] + [dist.irecv(got[rank], rank) for rank in others]
    for one in under_way:
        one.wait()
    for rank in others:
        own += got[rank]
    dist.all_gather(outputs, own)


def by_root(send, receive, call):
    """Rank 0 reduces and broadcasts."""
    result = torch.from_numpy(receive)
    result.copy_(torch.from_numpy(send))
    dist.reduce(result, 0)
    dist.broadcast(result, 0)


def at_once(send, receive, call):
    """Each rank gathers all inputs and sums them: n S bytes of memory."""
    inputs = [torch.empty(send.size) for _ in range(comm.size)]
    dist.all_gather(inputs, torch.from_numpy(send))
    torch.stack(inputs).sum(0, out=torch.from_numpy(receive))


def divides(problem, parameters):
    return problem["count"] % problem["ranks"] == 0 or "the message has no equal shares"


# The last rank plays one that has no memory left. Each rank is asked for itself; what one refuses, none runs.
room = 0 if comm.rank == comm.size - 1 else 1 << 30


def has_room(problem, parameters):
    needs = problem["ranks"] * problem["message_size"]
    return needs <= room or f"it needs {needs} bytes, and there are {room}"


colltune.register("all_reduce", "by_shares", by_shares, supported=divides)
colltune.register("all_reduce", "by_root", by_root)
colltune.register("all_reduce", "at_once", at_once, supported=has_room)
found = colltune.sweep(comm, ["all_reduce"], [size], seconds=seconds, allow_oversubscribe=True,
                       include=["python.*", "mpi.all_reduce", "cpu.all_reduce_two_shot"])

with colltune.best(comm, found, "all_reduce", bytes=size) as best:
    send, receive = torch.full((size // 4,), float(comm.rank + 1)), torch.empty(size // 4)
    best(send.numpy(), receive.numpy())
    assert (receive == comm.size * (comm.size + 1) / 2).all()
    if comm.rank == 0:
        for one in next(each for each in found["decisions"] if each["family"] == "any")["ranked"]:
            print(f"{one['variant']:48} {one['median_ns'] / 1000:10.1f} us")
        for one in found["skipped"]:
            if one["variant"].startswith("python."):
                print(f"{one['variant']:48} left out: {one['reason']}")
        print(f"runs: {best.variant}")
dist.destroy_process_group()
