# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""What to run for a call, by a sweep's ranking: a function of the program, or one of colltune's kernels or of the MPI
library's calls, run as it was measured."""

import ctypes
import functools
import json
import os
import socket

from ._callables import Call, buffer_at, find_registered, numpy
from ._library import FAILED_PRECONDITION, INVALID_ARGUMENT, Closing, Error
from ._program import agree, ask, attempt, communicator_of, gather, handle_of, holders, library, take_text


class _PyBuffer(ctypes.Structure):
    """Py_buffer of CPython."""
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
                ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.c_void_p]
_release_buffer.restype = None
_READS, _WRITES = 0, 1  # PyBUF_SIMPLE, PyBUF_WRITABLE: contiguous bytes


class _Place:
    """Where an object's bytes lie, as long as the object lives."""

    def __init__(self, flags, what):
        self._view, self._flags, self._what = _PyBuffer(), flags, what
        self._at = ctypes.addressof(self._view)

    def find(self, buffer):
        """(address, bytes)"""
        try:
            _get_buffer(buffer, self._at, self._flags)
        except (BufferError, TypeError, ValueError) as error:
            raise Error(INVALID_ARGUMENT, f"the buffer to {self._what}: {error}") from error
        view = self._view
        found = view.buf, view.len
        _release_buffer(self._at)
        return found


_NOTHING = object()


def _stays(buffer):
    """Whether the object's memory stays where it is as long as somebody holds the object."""
    return buffer is None or (numpy is not None and type(buffer) is numpy.ndarray)


class _Runner(Closing):
    """The library's runner: prepares a variant and makes calls."""

    def __init__(self, comm_handle, call):
        runner = ctypes.c_void_p()
        ask("colltune_callables_open", comm_handle, json.dumps(call).encode(), ctypes.byref(runner))
        self._handle = runner.value
        self._text = ctypes.c_void_p()
        self._text_at = ctypes.addressof(self._text)
        self._run = library().colltune_callables_run
        self.repeat = functools.partial(library().colltune_callables_repeat, runner, ctypes.c_void_p(self._text_at))
        holders.add(self)

    def why_not(self, variant):
        return ask("colltune_callables_why_not", ctypes.c_void_p(self._handle), variant.encode())

    def prepare(self, variant):
        """Why the variant cannot be prepared, on all ranks; empty if it is."""
        try:
            ask("colltune_callables_prepare", ctypes.c_void_p(self._handle), variant.encode())
        except Error as error:
            return error.message
        return ""

    def refuse(self):
        """This rank does not make its next call: the others hear of it."""
        ask("colltune_callables_refuse", ctypes.c_void_p(self._handle))

    def run(self, send, send_size, receive, receive_size):
        self.check(self._run(self._handle, send, send_size, receive, receive_size, self._text_at))

    def check(self, code):
        """Raises the Error of a call that returned `code`, unless it is 0."""
        if code != 0:
            raise Error(code, take_text(self._text))

    def close(self):
        handle, self._handle = self._handle, None
        if handle is not None:
            library().colltune_callables_close(handle)


class Best(Closing):
    """What to call, the same on all ranks: best(send, receive), on all ranks, again and again; the buffers are any contiguous
    ones of the call's sizes, and may be others in every call. A rank that sends or receives nothing may give None there. A
    broadcast has one buffer: best(buffer), or the root's `send` and the others' `receive`.

    `variant`: its name in the decisions; `passed_over`: (variant, reason) of what is ranked before it and cannot run here.
    Raises Error before the call starts where a buffer does not fit. If that is so on all ranks, they may go on with others. If not,
    and one of colltune's kernels runs, the call fails on all ranks of the host, and `best` makes no further one. In the calls of
    the MPI library and in the program's functions the other ranks wait, as in MPI.

    Where the last call's numpy arrays come again, as in most programs, a call costs least: they are held until another call.

    close() frees what the call holds (a communicator and memory); so does the end of a `with`, and of the object. It waits
    for no other rank; the ranks may do it at different times, after their last call."""

    def __init__(self, variant, passed_over, call, run, runner=None):
        self.variant, self.passed_over = variant, passed_over
        self._call, self._run, self._runner = call, run, runner
        self._to_send, self._to_receive = _Place(_READS, "send"), _Place(_WRITES, "receive")
        self._sent = self._received = _NOTHING  # the arrays of the last call, if it can be repeated
        holders.add(self)

    def __call__(self, send=None, receive=None):
        if send is self._sent and receive is self._received:
            if code := self._runner.repeat():
                self._runner.check(code)
            return
        self._sent = self._received = _NOTHING
        self._call_with(send, receive)
        if self._runner is not None and _stays(send) and _stays(receive):
            self._sent, self._received = send, receive

    def _call_with(self, send, receive):
        call, run = self._call, self._run
        if run is None:
            raise Error(FAILED_PRECONDITION, "it is closed")
        if call.has_one_buffer:
            send = receive = (send if send is not None else receive) if call.is_root else (receive if receive is not None else send)
        send_at = receive_at = None
        send_size = receive_size = 0
        try:
            if call.receive_size:
                receive_at, receive_size = self._to_receive.find(receive)
            if call.send_size:
                send_at, send_size = self._to_send.find(send)
            if send_size != call.send_size or receive_size != call.receive_size:
                raise Error(INVALID_ARGUMENT,
                            f"rank {call.rank} of {call.problem['collective']} needs {call.send_size} bytes to send and "
                            f"{call.receive_size} to receive, not {send_size} and {receive_size}")
        except Error:
            if self._runner is not None:
                self._runner.refuse()
            raise
        run(send_at, send_size, receive_at, receive_size)

    def close(self):
        self._run = None
        self._sent = self._received = _NOTHING
        runner, self._runner = self._runner, None
        if runner is not None:
            runner.close()

    def __del__(self):
        """Nothing: the runner ends with this object."""


class _AskedCall:
    """The call on this rank: what functions see of it, and the bytes of this rank's buffers."""

    def __init__(self, problem, buffers, rank, root):
        self.problem, self.rank, self.root = problem, rank, root
        self.is_root = rank == root
        prefix = "" if self.is_root else "other_"
        self.send_size, self.receive_size = buffers[prefix + "send"], buffers[prefix + "receive"]
        self.has_one_buffer = problem["in_place"]


def _runs_function(one, chosen, call, comm):
    """Runs a registered function on what it sees in a sweep."""
    asked = Call(call.problem, chosen, call.problem["count"], call.root, comm)
    function, data_type = one.function, call.problem["data_type"]
    return lambda send, send_size, receive, receive_size: function(
        buffer_at(send, send_size, data_type), buffer_at(receive, receive_size, data_type), asked)


def _ranking(found, asked, placement, environment):
    """The question, and the library's answer from `found`: a sweep's result or a database."""
    decisions = database = None
    if isinstance(found, dict):
        decisions = json.dumps(found["decisions"]).encode()
        places = {one["key"]["topology"]["placement"] for one in found["decisions"]}
        placement = placement or (places.pop() if len(places) == 1 else None)
    else:
        database = os.fsencode(found)
    query = {**asked, **{key: value for key, value in (("placement", placement), ("environment_digest", environment)) if value}}
    return query, json.loads(ask("colltune_callables_find", decisions, database, json.dumps(query).encode()))


def _own_reasons(ranked, problem):
    """Why this rank cannot run each of the program's functions among `ranked`; empty if it can, and for all others."""
    reasons = []
    for variant in ranked:
        mine = find_registered(variant)
        reasons.append("" if not variant.startswith("python.") else mine[0].refusal(problem, mine[1]) if mine else
                       "it is not registered there")
    return reasons


class _Search:
    """Opens a runner when the first variant needs it."""

    def __init__(self, handle, call):
        self._handle, self._call, self.runner, self._failure = handle, call, None, ""

    def why_not(self, variant):
        """Why the variant is not prepared; empty if it is. Collective, and the same on all ranks."""
        if self.runner is None and not self._failure:
            try:
                self.runner = _Runner(self._handle, self._call)
            except Error as error:
                self._failure = error.message
        if self._failure:
            return self._failure
        return self.runner.why_not(variant) or self.runner.prepare(variant)

    def end(self):
        if self.runner is not None:
            self.runner.close()


def best(comm, found, collective, bytes, dtype="f32", op="sum", root=0, placement=None, environment=None):
    """What to run for a call of `bytes` (the larger of a rank's send and receive buffers) on the ranks of `comm`: of the
    ranking, the first entry that every rank can run. Collective; the same on all ranks. `found`: what sweep() returned, or a
    tuning database's path. `environment`: which of a database's, its digest. `op` counts where something is reduced, `root`
    where there is one.

    A registered function runs as in the sweep. All else (colltune's kernels, the MPI library's call and its forced
    algorithms) runs as it was measured, on a communicator of its own, for two separate buffers. Where nothing that is ranked
    can run, the MPI library's own call does.

    Raises Error on all ranks: where nothing is decided for the call, where ranks ask for unlike calls or have unlike decisions
    (it names them), where hosts have unlike numbers of ranks, where the arguments of one rank are wrong."""
    handle = handle_of(comm)
    hosts = gather(handle, socket.gethostname())
    own = json.loads(ask("colltune_callables_describe", handle))
    ranks, nodes = len(hosts), len(set(hosts))

    def look_up():
        if ranks != nodes * hosts.count(hosts[0]):
            raise Error(INVALID_ARGUMENT, f"{ranks} ranks do not lie evenly on {nodes} hosts")
        asked = {"collective": collective, "data_type": dtype, "reduce_op": op, "message_size": bytes, "root": root, "nodes": nodes,
                 "ranks_per_node": ranks // nodes}
        query, answer = _ranking(found, asked, placement, environment)
        ranked = [one["variant"] for one in answer["ranked"]]
        return query, answer, ranked, _own_reasons(ranked, answer["problem"])

    # A rank that fails here must tell the others, which would wait for it.
    mine, failure = attempt(look_up)
    said = agree(handle, None if failure else [mine[0], mine[2], mine[3]], failure)
    for rank, (asked, theirs, _) in enumerate(said):
        if asked != said[0][0]:
            raise Error(INVALID_ARGUMENT, f"rank {rank} asks for another call than rank 0: {asked} and {said[0][0]}")
        if theirs != said[0][1]:
            raise Error(FAILED_PRECONDITION, f"rank {rank} has other decisions than rank 0: {theirs} and {said[0][1]}")
    query, answer, ranked, _ = mine
    call = _AskedCall(answer["problem"], answer["buffers"], own["rank"], query["root"])
    search = _Search(handle, query)
    passed_over = []
    library_call = f"mpi.{collective}"
    for place, variant in enumerate([*ranked, *([] if library_call in ranked else [library_call])]):
        if variant.startswith("python."):
            why = next((f"{each[2][place]} (rank {rank})" for rank, each in enumerate(said) if each[2][place]), "")
            if not why:
                search.end()
                one, chosen = find_registered(variant)
                given = communicator_of(handle) if comm is None or isinstance(comm, int) else comm
                return Best(variant, passed_over, call, _runs_function(one, chosen, call, given))
        else:
            why = search.why_not(variant)
            if not why:
                return Best(variant, passed_over, call, search.runner.run, search.runner)
        passed_over.append((variant, why))
    search.end()
    raise Error(FAILED_PRECONDITION, "nothing that is ranked can run: " + "; ".join(f"{one}: {why}" for one, why in passed_over))
