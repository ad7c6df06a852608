# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Right, slow, wrong, raising and (on rank 0 alone) lacking callables in one sweep: one outcome on all ranks.

  COLLTUNE_LIBRARIES=build/release/lib mpirun -n 2 python3 tests/client/callables/planted_callables.py"""

import importlib.util
import json
import time
from pathlib import Path

from mpi4py import MPI

path = Path(__file__).resolve().parents[3] / "client/python/colltune/_callables.py"
spec = importlib.util.spec_from_file_location("callables", path)
colltune = importlib.util.module_from_spec(spec)
spec.loader.exec_module(colltune)
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
if comm.rank == 0:
    colltune.register("all_reduce", "lacking", right)
found = colltune.sweep(comm, ["all_reduce"], [4096], seconds=4, include=["python.*", "mpi.all_reduce"], allow_oversubscribe=True)
assert len(set(comm.allgather(json.dumps(found, sort_keys=True)))) == 1
ranked = next([one["variant"] for one in d["ranked"]] for d in found["decisions"] if d["family"] == "any")
assert ranked.index("python.all_reduce_right") < ranked.index("python.all_reduce_slow{chunk=1}"), ranked
outcomes = {one["variant"]: one for one in found["trials"]}
assert outcomes["python.all_reduce_wrong"]["outcome"] == "wrong", outcomes
assert "planted fault" in outcomes["python.all_reduce_raising"]["detail"], outcomes
assert not any("lacking" in name for name in ranked), ranked
assert any("lacking" in one["variant"] and "not registered" in one["reason"] for one in found["skipped"])
