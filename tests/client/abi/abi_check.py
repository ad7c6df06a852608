#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the C interface with what tests/client/abi/client.abi says it was: the functions that each library shows, and the
place and size of each field of the public structures.

  abi_check.py [--write] ABI HEADER COMPILER LIBRARY…

Exits with 1 and a line for each difference. What callers were built against is never taken away or moved: a line that is missing or
another one is a break. A line that is new is written to ABI with --write, by whoever adds to the interface."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def functions(library):
    output = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    name = re.match(r"lib(\w+)\.so", Path(library).name)[1]
    return [f"{name} {symbol}" for symbol in output.split()[2::3] if symbol.startswith("colltune_")]


def fields(header):
    """(structure, field) of each `typedef struct NAME { … } NAME;`."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.DOTALL):
        for declaration in filter(None, map(str.strip, body.split(";"))):
            yield name, re.search(r"(\w+)(\[\d+\])?$", declaration)[1]


def layout(header, compiler):
    lines = "".join(f'  printf("{name}.{field} at %zu, %zu bytes\\n", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));\n'
                    for name, field in [*fields(header), *fields(error_header(header))])
    program = f"#include <colltune/client.h>\n#include <stdio.h>\nint main(void) {{\n{lines}  return 0;\n}}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder) / "layout.c", Path(folder) / "layout"
        source.write_text(program)
        subprocess.run([compiler, "-I", header.parents[1], "-I", error_header(header).parents[1], source, "-o", binary], check=True)
        return subprocess.run([binary], check=True, capture_output=True, text=True).stdout.splitlines()


def error_header(header):
    return header.parents[4] / "proto/vocabulary/include/colltune/error.h"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    abi, header, compiler, *libraries = arguments
    header = Path(os.path.abspath(header))
    found = sorted({line for library in libraries for line in functions(library)}) + layout(header, compiler)
    if "--write" in sys.argv:
        Path(abi).write_text("\n".join(found) + "\n")
        return 0
    shown = {re.match(r"lib(\w+)\.so", Path(library).name)[1] for library in libraries}
    kept = [line for line in Path(abi).read_text().splitlines() if " at " in line or line.split()[0] in shown]
    for line in sorted(set(kept) - set(found)):
        print(f"was there, and is not: {line}")
    for line in sorted(set(found) - set(kept)):
        print(f"is not in {abi}: {line} (if nothing was moved, add it with --write)")
    return 0 if found and set(found) == set(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
