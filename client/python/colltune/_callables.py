# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""A program's own implementations of collectives: register them, sweep them beside colltune's kernels and the MPI library's,
and get the callable to run. Over libcolltune_callables.so (client/callables), which is found where the other libraries are.

A registered function is called as function(send, receive, call): two flat buffers over the caller's memory (numpy arrays of
the data type where numpy and the type are there, else memoryviews of bytes; None where the rank has none), and a Call. It
returns when the result is in `receive`. An exception fails the trial with its text. Where only some ranks raise, the others
wait inside the function until their deadline ends the process."""

import ctypes
import functools
import json
import os
import socket
import traceback
from pathlib import Path

from ._library import FAILED_PRECONDITION, INVALID_ARGUMENT, NOT_FOUND, VARIABLE, Error

try:
    import numpy
except ImportError:
    numpy = None

_NUMPY_TYPES = {"i8": "i1", "u8": "u1", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "f16": "f2", "f32": "f4", "f64": "f8"}
_REDUCING = ("all_reduce", "reduce", "reduce_scatter")
# One rank's share of the message is `count` elements in these, the whole message in the others.
_BY_SHARES = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
_MPI4PY_OPS = {"sum": "SUM", "prod": "PROD", "max": "MAX", "min": "MIN"}


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
    given = os.environ.get(VARIABLE)
    folder = Path(given) if given and os.path.isdir(given) else Path(given).parent if given else Path(__file__).resolve().parents[3]
    path = folder / name
    try:
        library = ctypes.CDLL(str(path) if given or path.exists() else name)
    except OSError as error:
        raise Error(FAILED_PRECONDITION, f"{name} was not found ({error}); set {VARIABLE} to its folder") from error
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


def unregister(collective, name):
    """Forgets a registered function; best() no longer returns it on this rank, and so on none."""
    if _registered.pop((collective, name), None) is None:
        raise Error(NOT_FOUND, f"'{name}' is not registered for {collective}; registered are "
                               f"{', '.join(one for of, one in sorted(_registered) if of == collective) or 'none'}")


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


def _gather(handle, own):
    """What all ranks say, in rank order, as JSON values; collective."""
    return [json.loads(one) for one in json.loads(_ask("colltune_callables_gather", handle, json.dumps(own).encode()))]


def _parameters_of(text):
    """{"a": "1"} of "name{a=1}"; the values as printed."""
    inside = text.partition("{")[2].rstrip("}")
    return dict(word.partition("=")[::2] for word in inside.split(",") if word)


def _find_registered(variant):
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


class Best:
    """What to call, the same on all ranks. `variant`: its name in the decisions; `passed_over`: (variant, reason) of what is
    ranked before it and cannot run here. Call it with two buffers and, in rooted collectives, the root: best(send, receive)."""

    def __init__(self, variant, passed_over, run):
        self.variant, self.passed_over, self._run = variant, passed_over, run

    def __call__(self, send, receive, root=0):
        self._run(send, receive, root)


def _of_the_library(comm, problem):
    """The MPI library's own call, by mpi4py."""
    collective = problem["collective"]
    if comm is None or isinstance(comm, int):
        raise Error(FAILED_PRECONDITION, "the MPI library's own call is the answer, which needs mpi4py's communicator")
    from mpi4py import MPI
    op = getattr(MPI, _MPI4PY_OPS[problem["reduce_op"]]) if collective in _REDUCING else None

    def run(send, receive, root):
        if collective == "all_reduce":
            comm.Allreduce(send, receive, op)
        elif collective == "reduce_scatter":
            comm.Reduce_scatter_block(send, receive, op)
        elif collective == "reduce":
            comm.Reduce(send, receive, op, root)
        elif collective == "all_gather":
            comm.Allgather(send, receive)
        elif collective == "all_to_all":
            comm.Alltoall(send, receive)
        elif collective == "gather":
            comm.Gather(send, receive, root)
        elif collective == "scatter":
            comm.Scatter(send, receive, root)
        else:  # MPI_Bcast has one buffer: the root's is sent, the others' is received
            comm.Bcast(send if comm.rank == root else receive, root)
    return run


def _problem_of(collective, size, dtype, op, ranks, nodes):
    """What is asked of a function, as in a sweep."""
    if dtype not in _NUMPY_TYPES:
        raise Error(INVALID_ARGUMENT, f"dtype '{dtype}'; allowed are {', '.join(_NUMPY_TYPES)}")
    if collective in _REDUCING and op not in _MPI4PY_OPS:
        raise Error(INVALID_ARGUMENT, f"op '{op}'; allowed are {', '.join(_MPI4PY_OPS)}")
    element = int(_NUMPY_TYPES[dtype][1:])
    return {"collective": collective, "data_type": dtype, "reduce_op": op if collective in _REDUCING else "none",
            "message_size": size, "count": size // element // (ranks if collective in _BY_SHARES else 1), "element_size": element,
            "ranks": ranks, "nodes": nodes, "ranks_per_node": ranks // nodes, "in_place": False}


def _ranking(found, problem, placement, environment):
    """The question, and the ranked variants that `found` (a sweep's result or a database) answers it with."""
    decisions = database = None
    if isinstance(found, dict):
        decisions = json.dumps(found["decisions"]).encode()
        places = {one["key"]["topology"]["placement"] for one in found["decisions"]}
        placement = placement or (places.pop() if len(places) == 1 else None)
    else:
        database = os.fsencode(found)
    query = {key: problem[key] for key in ("collective", "data_type", "reduce_op", "message_size", "nodes", "ranks_per_node")}
    query.update({key: value for key, value in (("placement", placement), ("environment_digest", environment)) if value})
    answer = _ask("colltune_callables_find", decisions, database, json.dumps(query).encode())
    return query, [one["variant"] for one in json.loads(answer)["ranked"]]


def best(comm, found, collective, bytes, dtype="f32", op="sum", placement=None, environment=None):
    """What to run for a call of `bytes` (the larger of a rank's send and receive buffers) on the ranks of `comm`: of the
    ranking, the first entry that every rank can run, where the MPI library's own call is one. Collective; the same on all
    ranks. `found`: what sweep() returned, or a tuning database's path. `environment`: which of a database's, its digest.

    Entries of colltune's kernels and forced algorithms of the MPI library are no functions of a program, and so are passed
    over with that reason; colltune's component for Open MPI runs its kernels in the library's own call.

    Raises Error on all ranks: where nothing is decided for the call, where ranks ask for unlike calls or have unlike decisions
    (it names them), where hosts have unlike numbers of ranks, where the arguments of one rank are wrong."""
    handle = _handle(comm)
    hosts = _gather(handle, socket.gethostname())
    ranks, nodes = len(hosts), len(set(hosts))
    own = f"mpi.{collective}"
    problem, query, ranked, reasons, failure = {}, {}, [], [], None
    try:  # a rank that fails must still tell the others, which wait for it
        if ranks != nodes * hosts.count(hosts[0]):
            raise Error(INVALID_ARGUMENT, f"{ranks} ranks do not lie evenly on {nodes} hosts")
        problem = _problem_of(collective, bytes, dtype, op, ranks, nodes)
        query, ranked = _ranking(found, problem, placement, environment)
        for variant in ranked:
            mine = _find_registered(variant)
            reasons.append(mine[0].refusal(problem, mine[1]) if mine else "" if variant == own else
                           "it is not registered there" if variant.startswith("python.") else
                           "it is no function of a program")
    except Error as error:
        failure = [error.code, error.message]
    except Exception as error:
        failure = [INVALID_ARGUMENT, f"{type(error).__name__}: {error}"]
    said = _gather(handle, [query, ranked, reasons, failure])
    for rank, (asked, theirs, _, failed) in enumerate(said):
        if failed:
            raise Error(failed[0], f"rank {rank}: {failed[1]}")
        if asked != said[0][0]:
            raise Error(INVALID_ARGUMENT, f"rank {rank} asks for another call than rank 0: {asked} and {said[0][0]}")
        if theirs != said[0][1]:
            raise Error(FAILED_PRECONDITION, f"rank {rank} has other decisions than rank 0: {theirs} and {said[0][1]}")
    passed_over = []
    for place, variant in enumerate(ranked):
        why = next((f"{each[2][place]} (rank {rank})" for rank, each in enumerate(said) if each[2][place]), "")
        if why:
            passed_over.append((variant, why))
            continue
        if variant == own:
            return Best(variant, passed_over, _of_the_library(comm, problem))
        one, chosen = _find_registered(variant)
        return Best(variant, passed_over, lambda send, receive, root: one.function(
            send, receive, Call(problem, chosen, problem["count"], root, comm)))
    return Best(own, passed_over, _of_the_library(comm, problem))
