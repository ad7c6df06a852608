#!/usr/bin/env python3
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
"""Two types of one name in one namespace, in files that do not see each other: no compiler says so, and the linker keeps one
of two functions that differ. Prints each such name with its files.

  tests/one_definition_check.py [SOURCE]

Exit code 1 where there is one.
"""

import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
PARTS = ["proto", "db", "kernels", "daemon", "client", "tests"]
OPENS = re.compile(r"(?:inline )?namespace ?([\w:]*) ?\{")
CLOSES = re.compile(r"\}  // namespace")
# At the start of a line: those inside of others are indented.
DEFINES = re.compile(r"(?:template <.*>\s*)?(?:struct|class|enum class|enum|union)\s+"
                     r"(?:(?:\[\[.*\]\]|alignas\(.*\))\s+)*(\w+)(?:\s+final)?\s*(?::[^:].*)?\{")


def definitions(text):
    namespaces = []
    for line in text.splitlines():
        if opened := OPENS.match(line):
            namespaces.append(opened[1])
        elif CLOSES.match(line) and namespaces:
            namespaces.pop()
        elif (found := DEFINES.match(line)) and namespaces and "" not in namespaces:
            yield "::".join([*namespaces, found[1]])


def main():
    files = [path for part in PARTS for kind in ("h", "cpp", "cu") for path in (SOURCE / part).rglob(f"*.{kind}")]
    places = {}
    for path in files:
        for name in definitions(path.read_text()):
            places.setdefault(name, set()).add(str(path.relative_to(SOURCE)))
    if "colltune::TuningKey" not in places:
        sys.exit(f"no definition of colltune::TuningKey was found in {SOURCE}: is it the source folder?")
    for name, where in sorted(places.items()):
        if len(where) > 1:
            print(f"{name} is defined in {', '.join(sorted(where))}", file=sys.stderr)
    return 1 if any(len(where) > 1 for where in places.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
