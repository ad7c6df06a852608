# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""best() runs whatever leads the ranking: colltune's kernels, the MPI library's call, its forced algorithms and the program's
functions, on ordinary buffers that differ from call to call; what cannot run is passed over with the reason. Started by mpirun
with Open MPI's dynamic rules."""

import array
import gc
import json
import resource

import numpy
from mpi4py import MPI

import colltune

comm = MPI.COMM_WORLD
BYTES = 4096
total = comm.size * (comm.size + 1) / 2
own = float(comm.rank + 1)


def same_everywhere(value):
    assert len(set(comm.allgather(json.dumps(value, sort_keys=True)))) == 1, value
    return value


def refusal(call, code=3):
    try:
        call()
    except colltune.Error as error:
        assert error.code == code, error
        return error.message
    raise AssertionError("nothing was refused")


def right(send, receive, call):
    assert send.shape == receive.shape == (BYTES // 4,)
    call.communicator.Allreduce(send, receive)


colltune.register("all_reduce", "right", right)
found = colltune.sweep(comm, ["all_reduce"], [BYTES], seconds=4, allow_oversubscribe=True,
                       include=["cpu.all_reduce_one_shot", "cpu.all_reduce_two_shot", "mpi.all_reduce*", "python.*"])
decision = next(one for one in found["decisions"] if one["family"] == "any")
leaders = {}  # one variant of each implementation
for entry in decision["ranked"]:
    leaders.setdefault(entry["variant"].partition("{")[0], entry)
same_everywhere(sorted(leaders))
assert {"mpi.all_reduce", "mpi.all_reduce_tuned", "python.all_reduce_right"} < set(leaders), leaders
assert any(one.startswith("cpu.") for one in leaders), leaders


def led_by(*entries):
    """The sweep's result with these entries before the others."""
    rest = [one for one in decision["ranked"] if one not in entries]
    return {**found, "decisions": [{**decision, "ranked": [*entries, *rest]}]}


def check_calls(best):
    for turn in range(3):
        send, receive = numpy.full(BYTES // 4, own + turn, "f4"), numpy.zeros(BYTES // 4, "f4")
        best(send, receive)
        assert (receive == total + turn * comm.size).all() and (send == own + turn).all(), (best.variant, receive)
    for turn in range(3):  # the same ones again
        send[:], receive[:] = own - turn, 0
        best(send, receive)
        assert (receive == total - turn * comm.size).all(), (best.variant, receive)
    # Other objects with bytes: constant ones to send, of two dimensions, at odd places.
    receive = array.array("f", bytes(BYTES))
    best(numpy.full((4, BYTES // 16), own, "f4").tobytes(), receive)
    assert set(receive) == {total}, best.variant
    memory = bytearray(BYTES + 4)
    best(numpy.full((4, BYTES // 16), own, "f4"), memoryview(memory)[4:])
    assert set(numpy.frombuffer(memory, "f4")[1:]) == {total}, best.variant


def check_refusals(best):
    send, receive = numpy.full(BYTES // 4, own, "f4"), numpy.zeros(BYTES // 4, "f4")
    assert f"not {BYTES - 4}" in refusal(lambda: best(send[1:], receive))
    assert "to receive" in refusal(lambda: best(send, receive[1:]))
    assert "contiguous" in refusal(lambda: best(numpy.zeros(BYTES // 2, "f4")[::2], receive))
    assert "to receive" in refusal(lambda: best(send, bytes(BYTES)))
    assert "to send" in refusal(lambda: best(None, receive))


held = []
for leader in leaders.values():
    best = colltune.best(comm, led_by(leader), "all_reduce", bytes=BYTES)
    assert best.variant == leader["variant"] and not best.passed_over, (best.variant, best.passed_over)
    check_calls(best)
    check_refusals(best)
    if not leader["variant"].startswith("python."):
        buffer = numpy.full(BYTES // 4, own, "f4")
        assert "overlap" in refusal(lambda: best(buffer, buffer))
    check_calls(best)
    held.append(best)

# A rank waits in a kernel for one that waits for its message, of which MPI has sent only the announcement.
best = next(one for one in held if one.variant.startswith("cpu."))
message = numpy.ones(1 << 20, "f4")
if comm.rank == 0:
    request = comm.Isend(message, 1)
    check_calls(best)
    request.Wait()
else:
    if comm.rank == 1:
        comm.Recv(message, 0)
    check_calls(best)

# A buffer that one rank alone got wrong: the others hear of it while they wait in a kernel.
leader = next(one for one in leaders.values() if one["variant"].startswith("cpu."))
best = colltune.best(comm, led_by(leader), "all_reduce", bytes=BYTES)
check_calls(best)
send, receive = numpy.full(BYTES // 4, own, "f4"), numpy.zeros(BYTES // 4, "f4")
if comm.rank == 0:
    assert "to receive" in refusal(lambda: best(send, receive[1:]))
    assert "makes no further calls" in refusal(lambda: best(send, receive), 10)
else:
    assert "rank 0 did not make call" in refusal(lambda: best(send, receive), 10)
assert "an earlier call failed" in refusal(lambda: best(send, receive), 9)
best.close()

# All of them at once, by turns; then the ranks let them go in unlike orders and ways.
for best in held:
    check_calls(best)
if comm.rank % 2:
    held.reverse()
held.pop().close()
held[0].close()
held[0].close()
assert "closed" in refusal(lambda: held[0](None, None), 9)
held.clear()
best = None
gc.collect()

# What this library does not know, and what one rank's check refuses, is passed over.
real = next(one for one in leaders.values() if one["variant"].startswith("cpu."))
unknown = {**real, "variant": "cpu.all_reduce_by_wishes"}
odd = {**real, "variant": real["variant"].partition("{")[0] + "{isa=none}"}
last = comm.size - 1
if comm.rank == last:
    colltune.unregister("all_reduce", "right")
with colltune.best(comm, led_by(unknown, odd, leaders["python.all_reduce_right"], real), "all_reduce", bytes=BYTES) as best:
    assert same_everywhere(best.variant) == real["variant"], best.passed_over
    assert [one for one, _ in same_everywhere(best.passed_over)] == [unknown["variant"], odd["variant"], "python.all_reduce_right"]
    assert "cpu.all_reduce_by_wishes" in best.passed_over[0][1], best.passed_over
    assert best.passed_over[2][1] == f"it is not registered there (rank {last})", best.passed_over
    check_calls(best)

# A rank that lacks the memory for a kernel: all ranks go on to the next entry.
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
if comm.rank == last:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))  # of shared memory too
with colltune.best(comm, led_by(real, leaders["mpi.all_reduce"]), "all_reduce", bytes=BYTES) as best:
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert same_everywhere(best.variant) == "mpi.all_reduce", best.passed_over
    [(variant, why)] = same_everywhere(best.passed_over)
    assert variant == real["variant"] and why.startswith(f"rank {last}: ") and "memory" in why, best.passed_over
    check_calls(best)

# Where nothing that is ranked can run, the MPI library's own call does.
nothing = {**found, "decisions": [{**decision, "ranked": [unknown]}]}
with colltune.best(comm, nothing, "all_reduce", bytes=BYTES) as best:
    assert best.variant == "mpi.all_reduce" and len(best.passed_over) == 1, best.passed_over
    check_calls(best)

assert "whole number" in refusal(lambda: colltune.best(comm, found, "all_reduce", bytes=BYTES - 1))
assert "all_reduce has none" in refusal(lambda: colltune.best(comm, found, "all_reduce", bytes=BYTES, root=1))
assert "message_size" in refusal(lambda: colltune.best(comm, found, "all_reduce", bytes=-4))
assert "communicator" in refusal(lambda: colltune.best("world", found, "all_reduce", bytes=BYTES))
print(f"rank {comm.rank}: all held")
