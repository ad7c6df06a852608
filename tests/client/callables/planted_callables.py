# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Right, slow, wrong, raising and (on one rank) lacking callables in one sweep: one outcome on all ranks, and best() returns
the same on all of them. Started by mpirun with the module on PYTHONPATH."""

import json
import sys
import time

import numpy
from mpi4py import MPI

import colltune

comm = MPI.COMM_WORLD


def right(send, receive, call):
    call.communicator.Allreduce([send, MPI.FLOAT], [receive, MPI.FLOAT])


def slow(send, receive, call):
    time.sleep(0.002)
    right(send, receive, call)


def wrong(send, receive, call):
    receive[:] = send


def raising(send, receive, call):
    raise ValueError("planted fault")


colltune.register("all_reduce", "right", right)
colltune.register("all_reduce", "slow", slow, parameters={"chunk": [1, 2]}, supported=lambda _, own: own["chunk"] == 1 or "only 1")
colltune.register("all_reduce", "wrong", wrong)
colltune.register("all_reduce", "raising", raising)
last = comm.size - 1
if comm.rank != last:
    colltune.register("all_reduce", "lacking", right)


def same_everywhere(value):
    assert len(set(comm.allgather(json.dumps(value, sort_keys=True)))) == 1, value
    return value


def check(best):
    send, receive = numpy.full(1024, comm.rank + 1, "f4"), numpy.zeros(1024, "f4")
    best(send, receive)
    assert (receive == comm.size * (comm.size + 1) / 2).all(), receive
    return same_everywhere(best.variant)


database = sys.argv[1]
found = same_everywhere(colltune.sweep(comm, ["all_reduce"], [4096], seconds=4, include=["python.*", "mpi.all_reduce"],
                                       allow_oversubscribe=True, db=database))
ranked = next([one["variant"] for one in d["ranked"]] for d in found["decisions"] if d["family"] == "any")
right_one, slow_one = "python.all_reduce_right", "python.all_reduce_slow{chunk=1}"
assert ranked.index(right_one) < ranked.index(slow_one), ranked
outcomes = {one["variant"]: one for one in found["trials"]}
assert outcomes["python.all_reduce_wrong"]["outcome"] == "wrong", outcomes
assert "planted fault" in outcomes["python.all_reduce_raising"]["detail"], outcomes
assert not any("lacking" in name for name in ranked), ranked
lacking = next(one for one in found["skipped"] if "lacking" in one["variant"])
assert lacking["reason"].endswith(f"not registered there (rank {last})"), lacking

# The program's MPI is as it was, and what it has is on record.
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE, MPI.Query_thread()
assert "OMPI_MPI_THREAD_LEVEL=3" in found["environment"]["variables"], found["environment"]
assert found["environment"]["malloc_settings"].startswith("glibc"), found["environment"]

# The library's own call runs the same algorithm without Python, so it is never the slower one; the ranking begins with it.
best = colltune.best(comm, found, "all_reduce", bytes=4096)
assert check(best) == ranked[0], (best.variant, ranked)

# A ranking that begins with the callables: best() takes the first that all ranks can run, and says what it passed over.
decision = next(d for d in found["decisions"] if d["family"] == "any")
own = next(one for one in decision["ranked"] if one["variant"] == "mpi.all_reduce")
decision["ranked"] = [one for one in decision["ranked"] if one is not own] + [own]
found["decisions"] = [decision]
best = colltune.best(comm, found, "all_reduce", bytes=4096)
assert check(best) == right_one and not best.passed_over, best.passed_over
if comm.rank == last:
    colltune.unregister("all_reduce", "right")
best = colltune.best(comm, found, "all_reduce", bytes=4096)
assert check(best) == slow_one
assert best.passed_over == [(right_one, f"it is not registered there (rank {last})")], best.passed_over
colltune.unregister("all_reduce", "slow")
assert check(colltune.best(comm, found, "all_reduce", bytes=4096)) == "mpi.all_reduce"

# What was stored answers, too: it was measured with ranks that take turns where there are more than cores.
place = decision["key"]["topology"]["placement"]
best = colltune.best(comm, database, "all_reduce", bytes=4096, placement=place)
assert check(best) == "mpi.all_reduce"


def refusal(call, code):
    try:
        call()
    except colltune.Error as error:
        assert error.code == code, error
        return same_everywhere(error.message)
    raise AssertionError("nothing was refused")


assert "all_gather" in refusal(lambda: colltune.best(comm, found, "all_gather", bytes=4096), 5)
# What is wrong on one rank alone is refused on all, and named: nobody waits for it.
mine = "f33" if comm.rank == last else "f32"
assert f"rank {last}: " in refusal(lambda: colltune.best(comm, found, "all_reduce", bytes=4096, dtype=mine), 3)
size = 8192 if comm.rank == last else 4096
assert f"rank {last} asks for another call" in refusal(lambda: colltune.best(comm, found, "all_reduce", bytes=size), 3)
broken = {} if comm.rank == last else found
assert f"rank {last}: KeyError" in refusal(lambda: colltune.best(comm, broken, "all_reduce", bytes=4096), 3)
# So are unlike decisions.
if comm.rank == last:
    decision["ranked"].reverse()
assert f"rank {last} has other decisions" in refusal(lambda: colltune.best(comm, found, "all_reduce", bytes=4096), 9)
# Unlike parameters, too; and what is wrong with one rank's arguments of a sweep.
def sweep(**other):
    return colltune.sweep(comm, **{"collectives": ["all_reduce"], "sizes": [4096], "seconds": 4, "allow_oversubscribe": True,
                                   **(other if comm.rank == last else {})})


assert f"rank {last}: TypeError" in refusal(lambda: sweep(sizes=None), 3)
assert f"rank {last}: TypeError" in refusal(lambda: sweep(settings={"precision": object()}), 3)
assert f"rank {last}: ValueError" in refusal(lambda: sweep(call_limit="soon"), 3)
assert f"rank {last} asks for another sweep" in refusal(lambda: sweep(call_limit=3), 3)
assert f"rank {last} asks for another sweep" in refusal(lambda: sweep(sizes=[8192]), 3)
colltune.register("all_reduce", "unlike", right, parameters={"chunk": [comm.rank]})
assert f"rank {1}" in refusal(lambda: colltune.sweep(comm, ["all_reduce"], [4096], seconds=4, allow_oversubscribe=True), 3)
print(f"rank {comm.rank}: all held")
