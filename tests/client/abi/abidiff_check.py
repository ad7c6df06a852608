#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the C interface with its kept descriptions by libabigail's abidiff, or writes them.

  abidiff_check.py --abidiff PROGRAM --abidw PROGRAM --compare FOLDER LIBRARY…
  abidiff_check.py --abidiff PROGRAM --abidw PROGRAM --write FOLDER LIBRARY…
  abidiff_check.py --abidiff PROGRAM --abidw PROGRAM --plant HEADER COMPILER

A LIBRARY has debug information; that of libcolltune_client.so is described by FOLDER/colltune_client.abixml. Functions may be
added, and fields at the end of structures that begin with their size. All else exits with 1 and abidiff's report. With --plant
the same is shown of changes that are made to a copy of HEADER: those that callers must not see are found, the others are not."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = ["client/library/include/colltune", "proto/vocabulary/include/colltune"]
ROOT = Path(__file__).resolve().parents[3]

# A structure that begins with its size may grow at its end; the library reads no more of it than the caller has.
MAY_GROW = """[suppress_type]
  type_kind = struct
  name_regexp = ^({names})$
  has_data_member_inserted_at = end
"""


def growing(headers):
    """The structures that begin with their size."""
    text = "".join(header.read_text() for header in headers)
    return re.findall(r"typedef struct (\w+) \{\s*size_t struct_size;", text)


class Abigail:
    def __init__(self, abidiff, abidw, folder):
        self.abidiff, self.abidw, self.folder = abidiff, abidw, folder

    def describe(self, library, headers, output):
        folders = [argument for header in headers for argument in ("--headers-dir", header)]
        subprocess.run([self.abidw, *folders, "--drop-private-types", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                        "--no-elf-needed", "--out-file", output, library], check=True)

    def differences(self, kept, found, names):
        """abidiff's report of what callers that were built against `kept` must not see; empty where there is nothing."""
        suppressions = self.folder / "may_grow"
        suppressions.write_text(MAY_GROW.format(names="|".join(names)))
        run = subprocess.run([self.abidiff, "--no-added-syms", "--suppressions", suppressions, kept, found], capture_output=True, text=True)
        if run.returncode & 3:
            sys.exit(f"abidiff failed: {run.stdout}{run.stderr}")
        return run.stdout if run.returncode else ""


def compare(abigail, kept, libraries, write):
    headers = [ROOT / folder for folder in HEADERS]
    names = growing([headers[0] / "client.h"])
    assert "colltune_query" in names
    good = True
    for library in map(Path, libraries):
        name = re.match(r"lib(\w+)\.so", library.name)[1]
        description = Path(kept) / f"{name}.abixml"
        if write:
            abigail.describe(library, headers, description)
            continue
        found = abigail.folder / description.name
        abigail.describe(library, headers, found)
        report = abigail.differences(description, found, names)
        good = good and not report
        print(f"{library.name}: " + (report or "as described"))
    return good


# What is planted: its name, whether callers may see it, and the text of the header that becomes another one.
PLANTED = [
    ("nothing", True, "", ""),
    ("a new function", True, "int colltune_open_table(", "int colltune_planted(void);\nint colltune_open_table("),
    ("a field at the end of a structure that begins with its size", True, "} colltune_query;", "  int planted;\n} colltune_query;"),
    ("a function that is gone", False, "int colltune_lookup_once(", "int colltune_other_name("),
    ("a parameter of another type", False, "unsigned timeout_ms, colltune_client** client", "long timeout_ms, colltune_client** client"),
    ("a field in the middle", False, "  const char* data_type;", "  const char* planted;\n  const char* data_type;"),
    ("a field that is gone", False, "  int in_place;", "  "),
    ("a field of another type", False, "  int nodes;\n  int ranks_per_node;\n  int in_place;",
     "  long nodes;\n  int ranks_per_node;\n  int in_place;"),
    ("a larger structure without its size", False, "} colltune_found;", "  uint64_t planted;\n} colltune_found;"),
]


def build(header_text, folder, compiler):
    """A library that has all functions of the header, with debug information. They do nothing."""
    folder.mkdir()
    (folder / "client.h").write_text(header_text)
    plain = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", header_text, flags=re.DOTALL | re.MULTILINE)
    functions = re.findall(r"^(?!typedef)[a-z][\w *]*?\bcolltune_\w+\([^;{}]*\)(?=;)", plain, re.MULTILINE)
    assert len(functions) > 50, functions
    source, library = folder / "stubs.c", folder / "libcolltune_planted.so"
    source.write_text('#include "client.h"\n' + "".join(f"{function} {{ __builtin_trap(); }}\n" for function in functions))
    subprocess.run([compiler, "-g", "-w", "-shared", "-fPIC", f"-I{folder}", f"-I{ROOT / HEADERS[1]}/..", source, "-o", library],
                   check=True)
    return library


def plant(abigail, header, compiler):
    text = header.read_text()
    described = []
    good = True
    for number, (name, is_allowed, old, new) in enumerate(PLANTED):
        if old not in text:
            sys.exit(f"{header} has no '{old}', where '{name}' is planted")
        folder = abigail.folder / str(number)
        library = build(text.replace(old, new, 1) if old else text, folder, compiler)
        described.append(folder / "planted.abixml")
        abigail.describe(library, [folder], described[-1])
        report = abigail.differences(described[0], described[-1], growing([header]))
        print(f"{name}: {'found' if report else 'passed'}")
        if bool(report) == is_allowed:
            print(report or "  and should be found")
            good = False
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--abidiff", required=True)
    parser.add_argument("--abidw", required=True)
    parser.add_argument("--compare", metavar="FOLDER")
    parser.add_argument("--write", metavar="FOLDER")
    parser.add_argument("--plant", metavar="HEADER", type=Path)
    parser.add_argument("rest", nargs="*")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        abigail = Abigail(given.abidiff, given.abidw, Path(folder))
        if given.plant:
            return 0 if plant(abigail, given.plant, given.rest[0]) else 1
        return 0 if compare(abigail, given.compare or given.write, given.rest, bool(given.write)) else 1


if __name__ == "__main__":
    sys.exit(main())
