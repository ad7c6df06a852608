# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""A program's own implementations of collectives: register them, and sweep them beside colltune's kernels and the MPI
library's. What to run then is in _best.py.

A registered function is called as function(send, receive, call): two flat buffers over the caller's memory (numpy arrays of
the data type where numpy and the type are there, else memoryviews of bytes; None where the rank has none), and a Call. It
returns when the result is in `receive`. An exception fails the trial with its text. Where only some ranks raise, the others
wait inside the function until their deadline ends the process."""

import ctypes
import functools
import json
import os
import traceback

from ._library import INVALID_ARGUMENT, NOT_FOUND, Error
from ._program import agree, ask, attempt, communicator_of, handle_of

try:
    import numpy
except ImportError:
    numpy = None

_NUMPY_TYPES = {"i8": "i1", "u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}


class Call:
    """What is asked of a function: the problem (a dict), its parameters (a dict), count (elements), root, and the MPI
    communicator of the ranks: mpi4py's where the program has imported it, else the module's own (Communicator)."""

    def __init__(self, problem, parameters, count, root, communicator):
        self.problem, self.parameters, self.count, self.root, self.communicator = problem, parameters, count, root, communicator


class _CCall(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("problem", ctypes.c_char_p), ("parameters", ctypes.c_char_p),
                ("send", ctypes.c_void_p), ("send_size", ctypes.c_size_t), ("receive", ctypes.c_void_p),
                ("receive_size", ctypes.c_size_t), ("count", ctypes.c_uint64), ("root", ctypes.c_int32),
                ("communicator", ctypes.c_int32)]


_SUPPORTS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_CCall), ctypes.c_void_p, ctypes.c_size_t)


class _CCallable(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("description", ctypes.c_char_p), ("context", ctypes.c_void_p),
                ("supports", _SUPPORTS), ("run", _RUN)]


class _CRequest(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("communicator", ctypes.c_int32), ("configuration", ctypes.c_char_p),
                ("database", ctypes.c_char_p), ("callables", ctypes.POINTER(_CCallable)), ("callable_count", ctypes.c_size_t),
                ("call_limit_seconds", ctypes.c_int32), ("allow_oversubscribe", ctypes.c_int32)]


def _put_text(text, address, size):
    data = text.encode(errors="replace")[:size - 1] + b"\0"
    ctypes.memmove(address, data, len(data))


@functools.lru_cache(maxsize=4096)
def _parsed(text):
    return json.loads(text)


def buffer_at(address, size, data_type):
    """The memory as registered functions see it; None if there is none."""
    if not address or not size:
        return None
    view = (ctypes.c_char * size).from_address(address)
    if numpy is None or data_type not in _NUMPY_TYPES:
        return memoryview(view).cast("B")
    return numpy.frombuffer(view, dtype=_NUMPY_TYPES[data_type])


class _Registered:
    def __init__(self, collective, name, function, parameters, supported, description):
        self.collective, self.name, self.function, self.supported = collective, name, function, supported
        self.parameters = parameters
        self.variant_name = f"python.{collective}_{name}"
        self.description = json.dumps(description, sort_keys=True).encode()
        self.c_supports, self.c_run = _SUPPORTS(self._supports), _RUN(self._run)

    def refusal(self, problem, parameters):
        """Why this rank cannot run it; empty if it can."""
        if self.supported is None:
            return ""
        try:
            answer = self.supported(dict(problem), dict(parameters))
        except Exception as error:  # a check that fails is a refusal with a reason
            return f"its check raised {type(error).__name__}: {error}"
        if isinstance(answer, str):
            return answer
        return "" if answer else "its check refuses"

    def _supports(self, _context, problem, parameters, reason, size):
        why = self.refusal(json.loads(problem), json.loads(parameters))
        if why:
            _put_text(why, reason, size)
        return 9 if why else 0

    def _run(self, _context, call, message, size):
        try:
            asked = call.contents
            problem = _parsed(asked.problem)
            self.function(buffer_at(asked.send, asked.send_size, problem["data_type"]),
                          buffer_at(asked.receive, asked.receive_size, problem["data_type"]),
                          Call(problem, _parsed(asked.parameters), asked.count, asked.root, communicator_of(asked.communicator)))
            return 0
        except BaseException as error:  # none may cross the C interface
            at = traceback.extract_tb(error.__traceback__)[-1]
            _put_text(f"{type(error).__name__}: {error} ({os.path.basename(at.filename)}:{at.lineno})", message, size)
            return 13


_registered = {}


def register(collective, name, function, parameters=None, supported=None, **described):
    """Adds `function` under `name` for `collective`. `parameters`: the values to try of each. `supported(problem, parameters)`
    is asked on each rank for itself: true, or false or a reason. `described`: description, rounding, numeric_class, limits,
    cost, as in kernels/plugin/README.md. The same name and collective again replaces it."""
    description = {"collective": collective, "name": name, **described}
    if parameters:
        description["parameters"] = [{"name": key, "values": list(values)} for key, values in sorted(parameters.items())]
    _registered[collective, name] = _Registered(collective, name, function, parameters or {}, supported, description)


def unregister(collective, name):
    """Forgets a registered function; best() no longer returns it on this rank, and so on none."""
    if _registered.pop((collective, name), None) is None:
        raise Error(NOT_FOUND, f"'{name}' is not registered for {collective}; registered are "
                               f"{', '.join(one for of, one in sorted(_registered) if of == collective) or 'none'}")


class Result(dict):
    """What a sweep found, the same on all ranks: client/callables/include/colltune/callables.h lists its keys."""


def _request(comm_handle, collectives, configuration, db, allow_oversubscribe, call_limit):
    """The request, and what it refers to."""
    mine = [one for _, one in sorted(_registered.items()) if one.collective in collectives]
    callables = (_CCallable * max(1, len(mine)))(*[
        _CCallable(ctypes.sizeof(_CCallable), one.description, None, one.c_supports, one.c_run) for one in mine])
    return _CRequest(ctypes.sizeof(_CRequest), comm_handle, json.dumps(configuration).encode(),
                     os.fsencode(db) if db is not None else None, callables, len(mine), int(call_limit),
                     int(allow_oversubscribe)), mine


def sweep(comm, collectives, sizes, dtype="f32", op="sum", seconds=10.0, db=None, include=(), exclude=(),
          allow_oversubscribe=False, call_limit=0, settings=None):
    """Measures the registered functions beside colltune's kernels and the MPI library's on the ranks of `comm` (mpi4py's,
    this module's, or None for all), and decides. Collective. `settings`: further keys of the configuration
    (configs/README.md). Raises Error on all ranks, also where the arguments of one rank are wrong: it names the rank."""
    handle = handle_of(comm)

    def prepare():
        if isinstance(collectives, str) or isinstance(sizes, (str, int)):
            raise TypeError("collectives and sizes are lists")
        configuration = {"version": 1, "collectives": list(collectives), "types": [dtype], "ops": [op], "sizes": list(sizes),
                         "budget_seconds": seconds, **(settings or {})}
        if include or exclude:
            configuration["implementations"] = {"include": list(include), "exclude": list(exclude)}
        return _request(handle, configuration["collectives"], configuration, db, allow_oversubscribe, call_limit)

    prepared, failure = attempt(prepare)
    # A rank that fails here must tell the others, which would wait for it.
    limits = None if failure else [prepared[0].call_limit_seconds, prepared[0].allow_oversubscribe]
    said = agree(handle, limits, failure)
    for rank, theirs in enumerate(said):
        if theirs != said[0]:
            raise Error(INVALID_ARGUMENT, f"rank {rank} asks for another sweep than rank 0: call_limit and allow_oversubscribe "
                                          f"are {theirs} there, {said[0]} here")
    return Result(json.loads(ask("colltune_callables_sweep", ctypes.byref(prepared[0]))))


def _parameters_of(text):
    """{"a": "1"} of "name{a=1}"; the values as printed."""
    inside = text.partition("{")[2].rstrip("}")
    return dict(word.partition("=")[::2] for word in inside.split(",") if word)


def find_registered(variant):
    """The registered function of this rank that a ranked variant names, with its parameters' values; None: there is none."""
    printed = _parameters_of(variant)
    for one in _registered.values():
        if one.variant_name != variant.partition("{")[0] or printed.keys() != one.parameters.keys():
            continue
        chosen = {key: next((value for value in values if str(value) == printed[key]), None)
                  for key, values in one.parameters.items()}
        if None not in chosen.values():
            return one, chosen
    return None
