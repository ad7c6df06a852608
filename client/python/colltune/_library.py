# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""The C interface (colltune/client.h) by ctypes: where its libraries are, its structures and its functions."""

import ctypes
import os
import sys
import threading
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Optional, TypeVar

NO_VARIANT = 0xFFFFFFFF
INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION = 3, 5, 9
VARIABLE = "COLLTUNE_CLIENT_LIBRARY"
# The table part alone has no gRPC; both are of the major version of this module.
TABLE_LIBRARY, CLIENT_LIBRARY = "libcolltune_table.so.0", "libcolltune_client.so.0"
CODE_NAMES = {3: "invalid_argument", 4: "deadline_exceeded", 5: "not_found", 6: "already_exists", 7: "permission_denied",
              8: "resource_exhausted", 9: "failed_precondition", 10: "aborted", 11: "out_of_range", 12: "unimplemented",
              13: "internal", 14: "unavailable", 15: "data_loss"}


class Error(Exception):
    """What failed: `code` (a status code of gRPC), `name` (its name) and `message`."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    @property
    def name(self) -> str:
        return CODE_NAMES.get(self.code, str(self.code))

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


_Own = TypeVar("_Own", bound="Closing")


class Closing:
    """What holds a handle of a library until close(), the end of its `with`, or its own end."""

    _handle: Optional[int] = None

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle is not None and not sys.is_finalizing():
            self.close()


class CError(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("code", c_int), ("message", c_char * 2048)]


class CQuery(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("collective", c_char_p), ("data_type", c_char_p), ("reduce_op", c_char_p),
                ("message_size_bytes", c_uint64), ("nodes", c_int), ("ranks_per_node", c_int), ("in_place", c_int),
                ("registered", c_int), ("architecture", c_char_p), ("environment_digest", c_char_p),
                ("layout_digest", c_char_p), ("interconnect", c_char_p), ("placement", c_char_p), ("family", c_char_p),
                ("numeric_class", c_char_p), ("generation", c_uint64), ("members", c_char_p), ("mesh_shape", c_char_p),
                ("mesh_steps", c_char_p), ("mesh_form", c_char_p), ("generation_digest", c_char_p), ("calling", c_char_p),
                ("input", c_char_p), ("graph_capture", c_int), ("at_least", c_char_p), ("counts", c_char_p)]


class CApply(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("by", c_char_p), ("variables", POINTER(c_char_p)), ("variable_count", c_size_t),
                ("how", c_char_p)]


class CPrediction(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("low_ns", c_int64), ("high_ns", c_int64), ("model", c_char_p)]


class CFetch(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("environment_digest", c_char_p), ("generation", c_uint64),
                ("generation_digest", c_char_p), ("digest", c_char_p)]


class CFound(ctypes.Structure):
    _fields_ = [("variant", c_uint32), ("baseline", c_uint32), ("time_ns", c_int64), ("baseline_time_ns", c_int64),
                ("size_bytes", c_uint64), ("code", c_int32), ("source", c_uint8), ("verdict", c_uint8), ("status", c_uint8),
                ("is_baseline", c_uint8), ("reserved", c_uint64)]


_ERROR, _OUT = POINTER(CError), POINTER(c_void_p)
_ANSWER_TEXTS = ["winner", "source", "match", "members", "generation_digest", "reason", "verdict", "status", "environment",
                 "guess", "calling", "input", "world"]
_OF_TABLES: Dict[str, Any] = {
    "colltune_table_open": (c_int, [c_char_p, c_char_p, _OUT, _ERROR]),
    "colltune_table_close": (None, [c_void_p]),
    "colltune_table_digest": (c_char_p, [c_void_p]),
    "colltune_table_environment": (c_char_p, [c_void_p]),
    "colltune_table_generation": (c_uint64, [c_void_p]),
    "colltune_table_generation_digest": (c_char_p, [c_void_p]),
    "colltune_table_store": (c_char_p, [c_void_p]),
    "colltune_table_decisions": (c_size_t, [c_void_p]),
    "colltune_table_lookup": (c_int, [c_void_p, POINTER(CQuery), _OUT, _ERROR]),
    "colltune_table_resolve": (c_int, [c_void_p, POINTER(CQuery), POINTER(c_uint32), _ERROR]),
    "colltune_table_find_many": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]),
    "colltune_table_variant": (c_char_p, [c_void_p, c_uint32]),
    "colltune_source_name": (c_char_p, [c_uint]),
    "colltune_verdict_name": (c_char_p, [c_uint]),
    "colltune_status_name": (c_char_p, [c_uint]),
    "colltune_answer_free": (None, [c_void_p]),
    "colltune_answer_generation": (c_uint64, [c_void_p]),
    "colltune_answer_count": (c_size_t, [c_void_p]),
    "colltune_answer_variant": (c_char_p, [c_void_p, c_size_t]),
    "colltune_answer_family": (c_char_p, [c_void_p, c_size_t]),
    "colltune_answer_median_ns": (c_int64, [c_void_p, c_size_t]),
    "colltune_answer_speedup_over_baseline": (c_double, [c_void_p, c_size_t]),
    "colltune_answer_is_baseline": (c_int, [c_void_p, c_size_t]),
    "colltune_answer_samples": (c_uint64, [c_void_p, c_size_t]),
    "colltune_answer_composition": (c_char_p, [c_void_p, c_size_t]),
    "colltune_answer_kind": (c_char_p, [c_void_p, c_size_t]),
    "colltune_answer_apply": (c_int, [c_void_p, c_size_t, POINTER(CApply)]),
    "colltune_answer_prediction": (c_int, [c_void_p, POINTER(CPrediction)]),
    "colltune_answer_measured_count": (c_size_t, [c_void_p]),
    "colltune_answer_measured_bytes": (c_uint64, [c_void_p, c_size_t]),
    **{f"colltune_answer_{name}": (c_char_p, [c_void_p]) for name in _ANSWER_TEXTS},
}
_OF_CLIENTS: Dict[str, Any] = {
    "colltune_open": (c_int, [c_char_p, c_uint, _OUT, _ERROR]),
    "colltune_close": (None, [c_void_p]),
    "colltune_lookup_once": (c_int, [c_void_p, POINTER(CQuery), _OUT, _ERROR]),
    "colltune_table_fetch": (c_int, [c_void_p, POINTER(CFetch), _OUT, _ERROR]),
    "colltune_generations": (c_int, [c_void_p, _OUT, _ERROR]),
    "colltune_wait_for_generation": (c_int, [c_void_p, c_uint64, c_char_p, c_uint, _OUT, _ERROR]),
    "colltune_generations_newest": (c_uint64, [c_void_p]),
    "colltune_generations_newest_digest": (c_char_p, [c_void_p]),
    "colltune_generations_count": (c_size_t, [c_void_p]),
    "colltune_generations_at": (c_uint64, [c_void_p, c_size_t]),
    "colltune_generations_free": (None, [c_void_p]),
}


class Library:
    """One shared library: its functions are attributes, without the prefix `colltune_`."""

    def __init__(self, path: str, functions: Dict[str, Any]) -> None:
        self.path = path
        loaded = ctypes.CDLL(path)
        for name, (result, arguments) in functions.items():
            function = getattr(loaded, name, None)
            if function is None:
                raise Error(FAILED_PRECONDITION, f"{path} has no {name}: it is older than this module")
            function.restype, function.argtypes = result, arguments
            setattr(self, name[len("colltune_"):], function)
        # A lookup takes less than giving up the interpreter's lock does.
        find = ctypes.PyDLL(path).colltune_table_find
        find.restype, find.argtypes = c_int, [c_void_p, c_uint32, c_uint64, c_void_p]
        self.table_find = find

    def __getattr__(self, name: str) -> Any:  # set in __init__; here for type checkers
        raise AttributeError(name)


def check(status: int, error: CError) -> None:
    if status != 0:
        raise Error(status, error.message.decode("utf-8", "replace"))


def new_error() -> CError:
    error = CError()
    error.struct_size = ctypes.sizeof(CError)
    return error


def text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("utf-8", "replace")


def encoded(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else os.fsencode(value)


def _candidates(name: str) -> List[str]:
    given = os.environ.get(VARIABLE)
    if given:
        return [os.path.join(given, name)] if os.path.isdir(given) else [given]
    # Installed: LIBDIR/python3/dist-packages/colltune beside LIBDIR/libcolltune_*.so.
    beside = Path(__file__).resolve().parents[3] / name
    return ([str(beside)] if beside.exists() else []) + [name]


_lock = threading.Lock()
_loaded: Dict[str, Library] = {}
# A child that is forked while another thread loads would find the lock taken.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def _load(name: str, functions: Dict[str, Any]) -> Library:
    with _lock:
        if name not in _loaded:
            reasons = []
            for path in _candidates(name):
                try:
                    _loaded[name] = Library(path, functions)
                    break
                except OSError as error:
                    reasons.append(str(error))
            else:
                raise Error(FAILED_PRECONDITION, f"{name} was not found ({'; '.join(reasons)}); set {VARIABLE} to its path, or "
                                                 "to its folder")
        return _loaded[name]


def table_library() -> Library:
    """For table files: needs no gRPC and starts no thread."""
    return _load(TABLE_LIBRARY, _OF_TABLES)


def client_library() -> Library:
    """For daemons."""
    return _load(CLIENT_LIBRARY, {**_OF_TABLES, **_OF_CLIENTS})


__all__ = ["CApply", "CFetch", "CFound", "CQuery", "Closing", "Error", "Library", "byref", "check", "client_library", "encoded", "new_error",
           "table_library", "text"]
