# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""A program's own implementations of collectives: register them, sweep them beside colltune's kernels and the MPI library's,
and get the callable to run. Over libcolltune_callables.so (client/callables), in the folder that COLLTUNE_LIBRARIES names or
where the loader finds it.

A registered function is called as function(send, receive, call): two flat buffers over the caller's memory (numpy arrays of
the data type where numpy and the type are there, else memoryviews of bytes; None where the rank has none), and a Call. It
returns when the result is in `receive`. An exception fails the trial with its text. Where only some ranks raise, the others
wait inside the function until their deadline ends the process."""

import ctypes
import functools
import json
import os
import traceback

try:
    import numpy
except ImportError:
    numpy = None

_NUMPY_TYPES = {"i8": "i1", "u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}
_REDUCING = ("all_reduce", "reduce", "reduce_scatter")


class Error(RuntimeError):
    """What the library refused or what failed; `code` is one of gRPC's canonical codes."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Call:
    """What is asked of a function: the problem (a dict), its parameters (a dict), count (elements), root, and the MPI
    communicator of the ranks: mpi4py's where it is there, else its handle."""

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


@functools.lru_cache(maxsize=None)
def _library():
    name = "libcolltune_callables.so"
    folder = os.environ.get("COLLTUNE_LIBRARIES")
    library = ctypes.CDLL(os.path.join(folder, name) if folder else name)
    library.colltune_callables_free.argtypes = [ctypes.c_void_p]
    library.colltune_callables_free.restype = None
    return library


def _ask(function, *arguments):
    """The text that a function of the library gives; raises Error."""
    text = ctypes.c_void_p()
    code = getattr(_library(), function)(*arguments, ctypes.byref(text))
    answer = ctypes.string_at(text).decode(errors="replace") if text else ""
    _library().colltune_callables_free(text)
    if code != 0:
        raise Error(code, answer)
    return answer


def _put_text(text, address, size):
    data = text.encode(errors="replace")[:size - 1] + b"\0"
    ctypes.memmove(address, data, len(data))


def _handle(comm):
    """The MPI_Fint of an mpi4py communicator, a handle, or None: the world of MPI that this library starts."""
    if comm is None:
        return int(_ask("colltune_callables_start_mpi"))
    return comm if isinstance(comm, int) else comm.py2f()


@functools.lru_cache(maxsize=64)
def _communicator(handle):
    try:
        from mpi4py import MPI
    except ImportError:
        return handle
    return MPI.Comm.f2py(handle)


@functools.lru_cache(maxsize=4096)
def _parsed(text):
    return json.loads(text)


def _buffer(address, size, data_type):
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
            self.function(_buffer(asked.send, asked.send_size, problem["data_type"]),
                          _buffer(asked.receive, asked.receive_size, problem["data_type"]),
                          Call(problem, _parsed(asked.parameters), asked.count, asked.root, _communicator(asked.communicator)))
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


class Result(dict):
    """What a sweep found, the same on all ranks: client/callables/include/colltune/callables.h lists its keys."""


def sweep(comm, collectives, sizes, dtype="f32", op="sum", seconds=10.0, db=None, include=(), exclude=(),
          allow_oversubscribe=False, call_limit=0, settings=None):
    """Measures the registered functions beside colltune's kernels and the MPI library's on the ranks of `comm`, and decides.
    Collective. `settings`: further keys of the configuration (configs/README.md). Raises Error on all ranks."""
    configuration = {"version": 1, "collectives": list(collectives), "types": [dtype], "ops": [op], "sizes": list(sizes),
                     "budget_seconds": seconds, **(settings or {})}
    if include or exclude:
        configuration["implementations"] = {"include": list(include), "exclude": list(exclude)}
    mine = [one for _, one in sorted(_registered.items()) if one.collective in collectives]
    callables = (_CCallable * max(1, len(mine)))(*[
        _CCallable(ctypes.sizeof(_CCallable), one.description, None, one.c_supports, one.c_run) for one in mine])
    request = _CRequest(ctypes.sizeof(_CRequest), _handle(comm), json.dumps(configuration).encode(),
                        os.fsencode(db) if db is not None else None, callables, len(mine), int(call_limit),
                        int(allow_oversubscribe))
    return Result(json.loads(_ask("colltune_callables_sweep", ctypes.byref(request))))
