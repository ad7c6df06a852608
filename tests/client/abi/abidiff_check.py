#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the C interface with its kept descriptions by libabigail's abidiff, or writes them.

  abidiff_check.py --abidiff PROGRAM --abidw PROGRAM --compare FOLDER HEADER COMPILER LIBRARY…
  abidiff_check.py --abidiff PROGRAM --abidw PROGRAM --write FOLDER HEADER COMPILER LIBRARY…
  abidiff_check.py --abidiff PROGRAM --abidw PROGRAM --plant HEADER COMPILER

What libcolltune_client.so has is described by FOLDER/colltune_client.abixml: the functions that it shows, with the types that
HEADER gives them, which the library's own sources include. (They are described of a C object that does nothing, compiled with
debug information: descriptions of the library itself would hold the C++ that is behind its handles, a megabyte that changes with
each compiler.) Functions may be added, and fields at the end of structures that begin with their size. All else exits with 1 and
abidiff's report. With --plant the same is shown of changes that are made to a copy of HEADER: those that callers must not see are
found, the others are not."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ERROR_FOLDER = Path(__file__).resolve().parents[3] / "proto/vocabulary/include"


def growing(header):
    """The structures that begin with their size: the library reads no more of them than the caller has."""
    return re.findall(r"typedef struct (\w+) \{\s*size_t struct_size;", header.read_text())


def is_growth(block, names):
    """Whether a changed type of abidiff's report is one of `names`, and got nothing but fields behind its old end."""
    head, *lines = [line.strip() for line in block.strip().splitlines()]
    struct = re.fullmatch(r"'struct (\w+)' changed:", head)
    size = re.fullmatch(r"type size changed from (\d+) to \d+ \(in bits\)", lines[0])
    inserted = [re.search(r"', at offset (\d+) \(in bits\)$", line) for line in lines[2:]]
    return (struct is not None and struct[1] in names and size is not None
            and re.fullmatch(r"\d+ data member insertions?:", lines[1]) is not None
            and all(one is not None and int(one[1]) >= int(size[1]) for one in inserted))


class Abigail:
    def __init__(self, abidiff, abidw, folder):
        self.abidiff, self.abidw, self.folder = abidiff, abidw, folder

    def describe(self, library, header, output):
        subprocess.run([self.abidw, "--header-file", header, "--header-file", ERROR_FOLDER / "colltune/error.h", "--drop-private-types", "--no-corpus-path",
                        "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--out-file", output, library], check=True)

    def differences(self, kept, found, names):
        """abidiff's report of what callers that were built against `kept` must not see; empty where there is nothing."""
        run = subprocess.run([self.abidiff, "--no-added-syms", "--leaf-changes-only", "--no-show-locs", kept, found],
                             capture_output=True, text=True)
        if run.returncode & 3:
            sys.exit(f"abidiff failed: {run.stdout}{run.stderr}")
        changes = re.search(r"^Leaf changes summary: (\d+) artifact", run.stdout, re.MULTILINE)
        if run.returncode == 0:
            return ""
        # Each change must be one that is let pass: what this does not understand is one too many.
        allowed = [block for block in re.findall(r"^'struct .*?(?=^\S|\Z)", run.stdout, re.DOTALL | re.MULTILINE)
                   if is_growth(block, names)]
        return "" if changes is not None and int(changes[1]) == len(allowed) else run.stdout


def build(header_text, folder, compiler, shown=None):
    """A library that has the functions of the header, or those that are `shown`, with debug information. They do nothing."""
    folder.mkdir()
    (folder / "client.h").write_text(header_text)
    plain = re.sub(r"/\*.*?\*/|^\s*#.*?$", "", header_text, flags=re.DOTALL | re.MULTILINE)
    declared = re.findall(r"^(?!typedef)([a-z][\w *]*?\b(colltune_\w+)\([^;{}]*\));", plain, re.MULTILINE)
    if unknown := set(shown or ()) - {name for _, name in declared}:
        sys.exit(f"the header does not declare {', '.join(sorted(unknown))}")
    functions = [text for text, name in declared if shown is None or name in shown]
    source, library = folder / "described.c", folder / "libdescribed.so"
    source.write_text('#include "client.h"\n' + "".join(f"{text} {{ __builtin_trap(); }}\n" for text in functions))
    subprocess.run([compiler, "-g", "-w", "-shared", "-fPIC", f"-I{folder}", f"-I{ERROR_FOLDER}", source, "-o", library], check=True)
    return library


def shown_by(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return [symbol for symbol in output.split()[2::3] if symbol.startswith("colltune_")]


def compare(abigail, kept, header, compiler, libraries, write):
    names = growing(header)
    good = True
    for library in map(Path, libraries):
        name = re.match(r"lib(\w+)\.so", library.name)[1]
        description = Path(kept) / f"{name}.abixml"
        folder = abigail.folder / name
        described = build(header.read_text(), folder, compiler, shown_by(library))
        found = description if write else abigail.folder / description.name
        abigail.describe(described, folder / "client.h", found)
        if write:
            continue
        report = abigail.differences(description, found, names)
        good = good and not report
        print(f"{library.name}: " + (report or "as described"))
    return good


# What is planted: its name, whether callers may see it, and the text of the header that becomes another one.
PLANTED = [
    ("nothing", True, "", ""),
    ("a new function", True, "int colltune_open_table(", "int colltune_planted(void);\nint colltune_open_table("),
    ("a field at the end of a structure that begins with its size", True, "} colltune_query;", "  int planted;\n} colltune_query;"),
    ("two fields at the end of another one", True, "} colltune_fetch;", "  int planted;\n  int more;\n} colltune_fetch;"),
    ("a function that is gone", False, "int colltune_lookup_once(", "int colltune_other_name("),
    ("a parameter of another type", False, "unsigned timeout_ms, colltune_client** client", "long timeout_ms, colltune_client** client"),
    ("a field in the middle", False, "  const char* data_type;", "  const char* planted;\n  const char* data_type;"),
    ("a field that is gone", False, "  int in_place;", "  "),
    ("a field of another type", False, "  int nodes;\n  int ranks_per_node;\n  int in_place;",
     "  long nodes;\n  int ranks_per_node;\n  int in_place;"),
    ("a larger structure without its size", False, "} colltune_found;", "  uint64_t planted;\n} colltune_found;"),
]


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
        abigail.describe(library, folder / "client.h", described[-1])
        report = abigail.differences(described[0], described[-1], growing(header))
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
        header, compiler, *libraries = given.rest
        return 0 if compare(abigail, given.compare or given.write, Path(header), compiler, libraries, bool(given.write)) else 1


if __name__ == "__main__":
    sys.exit(main())
